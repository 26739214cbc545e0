"""Forward what arrives in the mailbox and matches ``FORWARD_MATCHING``, by ``RELEASE_HOST``.

Only what arrives while this is switched on is forwarded, and only to recipients that
``RELEASE_RECIPIENTS`` allows. A message goes out as it came, under its own envelope sender, with
one field more, so that one that comes back is not forwarded again. While the server takes nothing,
it is asked again after longer and longer pauses; a message is given up after some hours, or when
the server refuses it for good, with a line in the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Final

from chalicelib.core import clock
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.messages.details import Detailer
from infrastructure.local.messages.parts import StoredMessage
from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.releasing.forwarding_state import ForwardingState, Pending, StateFile
from infrastructure.local.releasing.matching import Matching
from infrastructure.local.releasing.relay_host import HostFailed, RelayHost

MARK: Final = "X-Postfinch-Forwarded"
#: Between two looks at the mailbox, in seconds
INTERVAL: Final = 0.5
#: A message that could not be sent for so long is given up
LONGEST: Final = 4 * 3600.0
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 600.0
#: Messages of one look
_WINDOW: Final = 500

log = logging.getLogger(__name__)


class Forwarder:
    """Forwards messages of a mailbox in the background."""

    def __init__(
        self, mailbox: SinkMailbox, detailer: Detailer, choices: ReleaseChoices, folder: Path
    ) -> None:
        """``folder`` has the state; ``choices`` have a host and what matches."""
        assert choices.host is not None
        self._mailbox = mailbox
        self._detailer = detailer
        self._choices = choices
        self._host: RelayHost = choices.host
        self._matching = Matching.read(choices.forward_matching)
        self._file = StateFile(folder)
        self._task: asyncio.Task[None] | None = None
        self._version: tuple[int, int] | None = None
        self._pause = _FIRST_PAUSE
        self._resume_at = 0.0
        self._state = self._begin()

    async def start(self) -> None:
        """Begin to forward."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End after the message that is being sent."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def step(self) -> None:
        """Look for messages that arrived, and send what is to be sent."""
        self._collect()
        while self._state.pending and clock.now() >= self._resume_at:
            if not self._send(self._state.pending[0]):
                break

    async def _run(self) -> None:
        while True:
            try:
                # Shielded, so that the end of the service waits for the message that is being sent
                step = asyncio.create_task(asyncio.to_thread(self.step))
                try:
                    await asyncio.shield(step)
                except asyncio.CancelledError:
                    await step
                    raise
            except Exception:
                log.exception("forwarding failed, and goes on")
            await asyncio.sleep(INTERVAL)

    def _begin(self) -> ForwardingState:
        """Return the state of the rule's last run, or one that begins with the next message."""
        index, rule = self._mailbox.index, _rule(self._choices)
        state = self._file.read()
        if state is None or state.rule != rule:
            state = ForwardingState(rule, index.validity(), index.newest())
        elif state.validity != index.validity():  # the uids begin anew
            state.validity, state.position = index.validity(), index.newest()
        self._file.write(state)
        return state

    def _collect(self) -> None:
        """Add the next messages that match to what is to be sent."""
        index, state = self._mailbox.index, self._state
        version = index.version()
        if version == self._version or len(state.pending) >= _WINDOW:
            return
        while arrivals := index.rows_after(state.position, _WINDOW):
            if self._matching.needs_details:
                self._detailer.details([row.id for row in arrivals])
            end = arrivals[-1].uid
            rows = index.search(
                self._matching.conditions, _WINDOW, before=end + 1, since=state.position + 1
            )
            now = clock.now()
            state.pending += [Pending(row.id, now) for row in reversed(rows)]
            state.position = end
            self._file.write(state)
            if len(state.pending) >= _WINDOW:
                return
        self._version = version

    def _send(self, pending: Pending) -> bool:
        """Send the first message; tell whether the next one may be tried at once."""
        try:
            self._forward(pending.id)
        except HostFailed as error:
            if not error.is_final and clock.now() - pending.since < LONGEST:
                self._rest(str(error))
                return False
            log.error("message %s is not forwarded: %s", pending.id, error)
        self._pause = _FIRST_PAUSE
        self._state.pending.remove(pending)
        self._file.write(self._state)
        return True

    def _rest(self, reason: str) -> None:
        log.warning("forwarding goes on in %.0f s: %s", self._pause, reason)
        self._resume_at = clock.now() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _forward(self, message_id: str) -> None:
        """Send one message; raises :class:`HostFailed`."""
        source = self._mailbox.read(message_id)
        if source is None:
            return  # deleted meanwhile
        message = StoredMessage(source)
        if message.header(MARK):
            log.warning("message %s came back, and is not forwarded again", message_id)
            return
        recipients = self._recipients(message)
        if not recipients:
            return
        content = f"{MARK}: yes\r\n".encode() + message.content
        refusals = self._host.send(message.sender, recipients, content)
        for address, reply in refusals.items():
            log.error("message %s is not forwarded to %s: %s", message_id, address, reply)
        log.info("message %s was forwarded by %s", message_id, self._host.shown)

    def _recipients(self, message: StoredMessage) -> list[str]:
        if self._choices.forward_to:
            return list(self._choices.forward_to)
        recipients = self._matching.recipients_of(message.trace.recipients)
        others = self._choices.recipients.beyond(recipients)
        if others:
            log.warning("RELEASE_RECIPIENTS does not allow to forward to %s", ", ".join(others))
        return [each for each in recipients if each not in others]


def _rule(choices: ReleaseChoices) -> str:
    """Return what is forwarded, and to whom: another rule begins with the next message."""
    return " ".join((choices.forward_matching, "->", *(choices.forward_to or ("recipients",))))
