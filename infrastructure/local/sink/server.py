"""Receive mail by SMTP and keep it: the sink stands in for every receiving site.

The sink stores accepted mail in the mailbox, one copy for each envelope recipient, before it
answers 250. What else happens depends on the recipient's local part (see `behaviours`). The sink
sends mail to the `inbound` address only, and HTTP requests to loopback only.

    python -m infrastructure.local.sink --port 2526 --data .local/mail [--inbound 127.0.0.1:2527]
        [--dns 127.0.0.1:2553]
"""

import argparse
import asyncio
import logging
import os
import signal
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import uvloop

from infrastructure.local.mailbox.inboxes import divided
from infrastructure.local.mailbox.login_field import take_login
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.sink.behaviours import (
    DEFERRAL,
    REFUSALS,
    Deferrals,
    behaviour_of,
)
from infrastructure.local.sink.failure_rules import FILE, FailureRule, FailureRules
from infrastructure.local.sink.local_names import asking, no_addresses
from infrastructure.local.sink.mail_client import MailClient
from infrastructure.local.sink.reactions import Reactions
from infrastructure.local.sink.recipient import Recipient
from infrastructure.local.sink.reports import Accepted
from infrastructure.local.sink.smtp_session import CHUNK, SinkEnvelope, SmtpSession
from infrastructure.local.this_machine import LocalAccess

log = logging.getLogger(__name__)

#: Returns the tags that a message is given when it arrives
TagsOf = Callable[[Trace, bytes], Sequence[str]]


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Hosts and ports: `inbound`, to which reports are mailed, and `dns`, the local DNS.

    `names` are further names of this machine. `inbox_by` divides the mailbox (`divided`).
    `tags_of` is there if mail of the catching port comes this way; it then carries login names
    (`login_field`). Durations in seconds, sizes in bytes.
    """

    inbound: tuple[str, int] | None = None
    dns: tuple[str, int] | None = None
    behaviour_delay: float = 0.5
    slow_seconds: float = 5.0
    idle_seconds: float = 300.0
    max_size: int = 50 * 1024 * 1024
    names: tuple[str, ...] = ()
    inbox_by: str = ""
    tags_of: TagsOf | None = None


class Sink:
    """An SMTP server storing to a mailbox. Start and stop it on one event loop."""

    def __init__(
        self,
        mailbox: SinkMailbox,
        options: SinkOptions | None = None,
        failure_rules: FailureRules | None = None,
    ) -> None:
        self._mailbox = mailbox
        self._failure_rules = failure_rules
        self._options = options or SinkOptions()
        self._deferrals = Deferrals()
        lookup = asking(self._options.dns) if self._options.dns else no_addresses
        recipient = Recipient(self._options.inbound, MailClient(lookup, self._options.names))
        self._reactions = Reactions(recipient, self._options.behaviour_delay)
        self._sessions: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen; return the port that was bound, which port 0 leaves to the system."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=CHUNK)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Stop listening, end open sessions with 421, and drop reactions that wait."""
        self._server.close()
        for session in self._sessions:
            session.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)
        await self._reactions.stop()
        await self._server.wait_closed()

    def refuse_recipient(self, recipient: str) -> str | None:
        """The reply that refuses a `bounce-…` recipient; None for any other."""
        return REFUSALS.get(behaviour_of(recipient))

    def failure(self, step: str, addresses: Sequence[str]) -> FailureRule | None:
        """The rule that makes this step of SMTP fail; None where none applies."""
        return self._failure_rules.apply(step, addresses) if self._failure_rules else None

    async def receive(self, envelope: SinkEnvelope) -> str:
        """Defer, wait, store and react, as the recipients' names say; return the reply to DATA."""
        login = ""
        if self._options.tags_of is not None:
            login, envelope.message = take_login(envelope.message)
        if self._is_deferred(envelope):
            return DEFERRAL
        if any(behaviour_of(recipient) == "slow" for recipient in envelope.recipients):
            await asyncio.sleep(self._options.slow_seconds)
        try:
            message_ids = self._store(envelope, login)
        except (OSError, sqlite3.Error):
            log.exception("storing failed")
            return "451 4.3.0 Mailbox cannot be written"
        self._react(envelope)
        return f"250 2.0.0 Ok: stored as {message_ids[0]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)
        session = SmtpSession(
            reader,
            writer,
            self,
            max_size=self._options.max_size,
            idle_seconds=self._options.idle_seconds,
        )
        # Only `stop` cancels, and asyncio's streams report a cancelled handler as an error.
        with suppress(asyncio.CancelledError):
            await session.run()

    def _is_deferred(self, envelope: SinkEnvelope) -> bool:
        # A list and not a generator: the attempt of every recipient must be counted.
        answers = [self._deferrals.defers(to, envelope.message) for to in envelope.recipients]
        return any(answers)

    def _store(self, envelope: SinkEnvelope, login: str) -> list[str]:
        inboxes = divided(self._options.inbox_by, login, envelope.recipients)
        return [
            self._mailbox.store(
                self._with_tags(
                    Trace(envelope.sender, (recipient,), inbox, login), envelope.message
                ),
                envelope.message,
            )
            for inbox, recipients in inboxes.items()
            for recipient in recipients
        ]

    def _with_tags(self, trace: Trace, message: bytes) -> Trace:
        if self._options.tags_of is None:
            return trace
        return replace(trace, tags=tuple(self._options.tags_of(trace, message)))

    def _react(self, envelope: SinkEnvelope) -> None:
        now = datetime.now(UTC)
        for recipient in envelope.recipients:
            self._reactions.react(Accepted(envelope.sender, recipient, envelope.message, now))


async def serve(host: str, port: int, data: Path, options: SinkOptions | None = None) -> None:
    """Run a sink storing under `data` until SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    mailbox = SinkMailbox(data)
    failure_rules = FailureRules(data / FILE)
    sink = Sink(mailbox, options, failure_rules)
    print(f"sink listening on {host}:{await sink.start(host, port)}", flush=True)
    await stopped.wait()
    await sink.stop()
    failure_rules.close()
    mailbox.close()


def _tags_of(environ: Mapping[str, str]) -> TagsOf | None:
    """Return what gives tags to mail of the catching port, None if it does not come this way."""
    if environ.get("CATCH") != "send":
        return None
    # Imported here: nothing else of a sink needs it
    from infrastructure.local.mailbox.tags import TagChoices, tags_at_arrival

    return partial(tags_at_arrival, choices=TagChoices.read(environ))


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    defaults = SinkOptions()
    parser = argparse.ArgumentParser(description="Receive mail by SMTP and keep it in a Maildir.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True, help="0 binds any free port")
    parser.add_argument("--data", type=Path, required=True, help="root of the Maildir")
    parser.add_argument(
        "--inbound", type=_address, help="host:port that bounces and complaints are mailed to"
    )
    parser.add_argument(
        "--dns", type=_address, help="host:port of the local DNS, for the links in messages"
    )
    parser.add_argument(
        "--behaviour-delay",
        type=float,
        default=defaults.behaviour_delay,
        help="seconds until a recipient reacts",
    )
    parser.add_argument(
        "--slow-seconds",
        type=float,
        default=defaults.slow_seconds,
        help="seconds that slow@ recipients wait",
    )
    settings = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="sink: %(message)s")
    options = SinkOptions(
        settings.inbound,
        settings.dns,
        settings.behaviour_delay,
        settings.slow_seconds,
        names=LocalAccess.read(os.environ).names,
        inbox_by=os.environ.get("CATCH_INBOX", ""),
        tags_of=_tags_of(os.environ),
    )
    uvloop.run(serve(settings.host, settings.port, settings.data, options))
