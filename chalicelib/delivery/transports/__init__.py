"""Define the interface of transports: each attempts one message and returns the outcome.

The commit window
-----------------
A host may have accepted a message as soon as its final dot is on the wire, and nobody can ask the
host later. So a transport does not send the dot itself. It wraps this last step in a function and
passes it to the caller's `Commit`, which decides when it runs and records the outcome before
anything else happens::

    def commit(finish: Callable[[], Outcome]) -> Outcome:
        with commit_lock:
            outcome = finish()      # sends the dot, reads the reply
            journal.record(outcome)
            return outcome

`finish` sends the last piece of the message (at most 32 KB) together with the dot. `commit` calls
it once. If the network fails, it does not raise but returns a `Retry`. A transport calls `commit`
at most once per message. It does not call it if the message failed before its dot; then only the
return value of `deliver` says what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from chalicelib.delivery.outcome import Outcome

Commit = Callable[[Callable[[], Outcome]], Outcome]
"""Runs the step after which the host may have accepted the message; returns its outcome."""


def commit_at_once(finish: Callable[[], Outcome]) -> Outcome:
    """Run the last step at once, for callers without a journal."""
    return finish()


def ignore_answer(_: Outcome) -> None:
    """Do nothing, for callers that do not pace mail."""


def join_hosts(hosts: Iterable[str]) -> str:
    """Return the mail hosts of a domain as ``OutboundMessage.hosts`` names them."""
    return " ".join(sorted(hosts))


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """One message to one recipient.

    `sender` is the envelope sender, empty for a notification; `data` the message as RFC 5322 bytes,
    neither dot-stuffed nor ended by a dot. `source_address` is the local IPv4 or IPv6 address to
    send from (None: the system's choice), `ehlo_name` the name to greet with (empty: the
    transport's own). Messages to the same `hosts` can share connections (empty: those to the same
    domain), whose number is limited by `path` (empty: by domain). `messages_per_connection` is how
    many messages the host takes by one connection (None: the transport's own limit). `on_answer` is
    called with the outcome if it came from one of the `hosts`: the DNS may name others by now. A
    report of how TLS fails (`is_tls_report`) is sent however it fails (RFC 8460 3).
    """

    sender: str
    recipient: str
    data: bytes
    source_address: str | None = None
    ehlo_name: str = ""
    hosts: str = ""
    path: str = ""
    messages_per_connection: int | None = None
    on_answer: Callable[[Outcome], None] = field(default=ignore_answer, compare=False)
    is_tls_report: bool = False


class Transport(Protocol):
    """One way to send mail. Any number of threads may deliver at once."""

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Attempt the message once; failures of the network are outcomes, not exceptions."""
        ...

    def close(self) -> None:
        """Close every idle connection; connections in use are closed after their message."""
        ...
