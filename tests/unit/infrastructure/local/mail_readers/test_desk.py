"""Large messages take turns, and nobody keeps a turn by reading slowly."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infrastructure.local.mail_readers import desk
from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mail_readers.connection import ClientGone
from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mailbox.mailbox import SinkMailbox

LARGE = 2 * 1024 * 1024


def test_who_reads_a_large_message_too_slowly_leaves_the_turn_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "_SECONDS_OF_A_TURN", 0.01)
    monkeypatch.setattr(desk, "_FEWEST_OCTETS_A_SECOND", LARGE * 100)

    async def drip(opened: ReadingDesk) -> None:
        with pytest.raises(ClientGone):
            async with opened.room(LARGE):
                await asyncio.Event().wait()

    async def serve() -> None:
        with ThreadPoolExecutor(1) as pool:
            mailbox = SinkMailbox(tmp_path / "mail")
            opened = ReadingDesk.open(mailbox, tmp_path, ReaderChoices(), pool)
            await asyncio.wait_for(asyncio.gather(*(drip(opened) for _ in range(9))), 30)
            mailbox.close()

    asyncio.run(serve())
    assert desk._LARGE_AT_ONCE < 9
