"""Keep the mailbox in order while nobody waits for it.

- deletes what is too much for an inbox, or too old (``MAILBOX_MAX_MESSAGES``, ``MAILBOX_MAX_AGE``):
  at the start, after mail came, and each minute
- works out the details of new messages, and the vocabularies that searches use

Work is done in short steps. After each it rests at least as long as the step took, longer while
requests are served or much mail is coming. Without new mail there is one look at the index each
half second, which takes microseconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from infrastructure.local.gateway.activity import Activity
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.messages.details import Detailer

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
TRIM_SECONDS = 60.0
# While a request was served so recently, the next one is expected
QUIET_SECONDS = 0.05
# Messages in one step; parsing one takes about half a millisecond
STEP_MESSAGES = 20
# Messages a second that are much
MUCH_MAIL = 50
_AFTER_FAILURE_SECONDS = 30.0
_END = object()


class MailboxUpkeep:
    """The work as a companion of the gateway. ``max_age`` is in seconds; 0 is for no limit."""

    def __init__(
        self,
        mailbox: SinkMailbox,
        detailer: Detailer,
        activity: Activity,
        *,
        max_messages: int = 0,
        max_age: float = 0.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._mailbox = mailbox
        self._detailer = detailer
        self._activity = activity
        self._max_messages = max_messages
        self._max_age = max_age
        self._now = now
        self._newest, self._looked_at = 0, time.monotonic()
        self._trimmed_to, self._trimmed_at = -1, 0.0
        self._steps: Iterator[None] | None = mailbox.index.drop_orphans()
        self._version: tuple[int, int] | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, at first with a rest, because the service starts."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End after the step that is being done."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        rest = POLL_SECONDS
        while True:
            await asyncio.sleep(rest)
            try:
                rest = POLL_SECONDS if await self.look() else 0.0
            except Exception:
                log.exception("the upkeep of the mailbox waits for a while")
                self._steps, self._version = None, None
                rest = _AFTER_FAILURE_SECONDS

    async def look(self) -> bool:
        """Do what there is to do for a short while; tell whether it can wait for the next poll."""
        newest = await asyncio.to_thread(self._mailbox.index.newest)
        await self._trim(newest)
        if self._is_much(newest):
            return True
        if self._steps is None:
            version = await asyncio.to_thread(self._mailbox.index.version)
            if version == self._version:
                return True
            self._version, self._steps = version, self._work()
        until = time.monotonic() + POLL_SECONDS
        while time.monotonic() < until:
            began = time.monotonic()
            if await asyncio.to_thread(next, self._steps, _END) is _END:
                self._steps = None
                return False
            await asyncio.sleep(time.monotonic() - began)
            if self._activity.quiet_seconds() < QUIET_SECONDS:
                await asyncio.sleep(2 * QUIET_SECONDS)
        return False

    def _work(self) -> Iterator[None]:
        """Work out what is missing, step by step."""
        while self._detailer.add_some(STEP_MESSAGES):
            yield
        while (number := self._mailbox.index.unbuilt_block()) is not None:
            yield from self._mailbox.index.build_block(number)

    async def _trim(self, newest: int) -> None:
        """Delete what is beyond the limits, if mail came or a minute has passed."""
        is_due = time.monotonic() - self._trimmed_at >= TRIM_SECONDS
        has_limits = self._max_messages or self._max_age
        if not has_limits or (newest == self._trimmed_to and not is_due):
            return
        oldest = self._now() - self._max_age if self._max_age else 0.0
        while await asyncio.to_thread(self._mailbox.trim, self._max_messages, oldest):
            await asyncio.sleep(0)
        self._trimmed_to, self._trimmed_at = newest, time.monotonic()

    def _is_much(self, newest: int) -> bool:
        """Tell whether so much mail is coming that the machine has better to do."""
        came, seconds = newest - self._newest, time.monotonic() - self._looked_at
        self._newest, self._looked_at = newest, time.monotonic()
        return came > MUCH_MAIL * max(seconds, 0.2)
