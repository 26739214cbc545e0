"""Hold what all sessions of mail readers share: the mailbox, its numbers, logins and flags."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from ssl import SSLContext
from typing import ParamSpec, TypeVar

from infrastructure.local import certificates
from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mail_readers.connection import ClientGone
from infrastructure.local.mail_readers.flags import FlagMarks
from infrastructure.local.mail_readers.logins import Logins
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.numbers import MailboxNumbers
from infrastructure.local.mailbox.trace import shown

P = ParamSpec("P")
T = TypeVar("T")

# Messages that are larger than this take turns: that many at once over all sessions, so that
# clients which do not read them cannot fill the memory
_LARGE_OCTETS = 1024 * 1024
_LARGE_AT_ONCE = 4
# Who has a turn reads at least so fast, after some seconds: others wait for it
_FEWEST_OCTETS_A_SECOND = 256 * 1024
_SECONDS_OF_A_TURN = 30.0


@dataclass
class ReadingDesk:
    """What a session works with. Calls of the mailbox wait for the disk: `run` has threads."""

    mailbox: SinkMailbox
    numbers: MailboxNumbers
    logins: Logins
    marks: FlagMarks
    data_dir: Path
    pool: ThreadPoolExecutor
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_LARGE_AT_ONCE))

    @classmethod
    def open(
        cls,
        mailbox: SinkMailbox,
        data_dir: Path,
        choices: ReaderChoices,
        pool: ThreadPoolExecutor,
    ) -> ReadingDesk:
        """Open the mailbox of a data directory for mail readers."""
        return cls(
            mailbox,
            MailboxNumbers(data_dir / "mail"),
            Logins(mailbox, choices),
            FlagMarks(),
            data_dir,
            pool,
        )

    @cached_property
    def tls(self) -> SSLContext:
        """The context of the local certificate."""
        return certificates.server_context(self.data_dir)

    async def run(self, call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return what a blocking call returns."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, partial(call, *arguments, **options))

    @asynccontextmanager
    async def room(self, octets: int) -> AsyncIterator[None]:
        """Wait until a message of so many octets may be in memory, and keep its room.

        Raises ClientGone for a client that reads it too slowly.
        """
        if octets <= _LARGE_OCTETS:
            yield
            return
        async with self._turns:
            try:
                async with asyncio.timeout(_SECONDS_OF_A_TURN + octets / _FEWEST_OCTETS_A_SECOND):
                    yield
            except TimeoutError:
                raise ClientGone from None

    def content(self, message_id: str) -> bytes | None:
        """The message as mail readers get it, None if it is gone."""
        source = self.mailbox.read(message_id)
        return None if source is None else shown(source)

    def close(self) -> None:
        """Close what was opened here."""
        self.numbers.close()
