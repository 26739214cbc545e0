"""Repeat an optimistic update until no other writer comes between its read and its write.

A record carries a *revision* (a counter or a random token). An update reads the record, derives the
new record, and writes that on the condition that the revision is still the one that was read. When
the condition fails, another writer was faster: the update starts again from the new record.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from chalicelib.core.dynamo.items import AnyItem
from chalicelib.core.errors import Unavailable
from chalicelib.core.retry import Backoff

Result = TypeVar("Result")
Record = TypeVar("Record")

MOST_ATTEMPTS: Final = 20

#: Each pause is between zero and twice the delay: at most 4 ms first, at most 200 ms later
_BACKOFF: Final = Backoff(0.002, cap_seconds=0.1, jitter=1.0)


class WriteConflict(Exception):
    """A conditional write found the table in another state than its condition says."""


class ConditionFailed(WriteConflict):
    """The condition of a single write failed; ``item`` is the stored item, ``None`` without one."""

    def __init__(self, item: AnyItem) -> None:
        super().__init__("condition failed")
        self.item = item


class TransactionFailed(WriteConflict):
    """A transaction was cancelled; ``failed`` holds the positions whose condition failed."""

    def __init__(self, failed: list[int]) -> None:
        super().__init__(f"conditions failed at {failed}")
        self.failed = failed


def update_record(
    read: Callable[[], Record | None],
    edit: Callable[[Record], Record],
    write: Callable[[Record, Record], object],
) -> Record | None:
    """Change a record optimistically and return it; return ``None`` if ``read`` finds none.

    ``read`` returns the present record and ``edit`` the new one. Both may be called again, and
    their exceptions pass through. ``write`` gets the record before and after; it raises
    :class:`WriteConflict` if the record in the table is no longer the one before. Where ``edit``
    changes nothing, nothing is written. Raises 503 when other writers come first every time.
    """

    def attempt() -> Record | None:
        before = read()
        if before is None:
            return None
        after = edit(before)
        if after != before:
            write(before, after)
        return after

    return retry_conflicts(attempt)


def retry_conflicts(attempt: Callable[[], Result], on: type[Exception] = WriteConflict) -> Result:
    """Return what ``attempt`` returns, calling it again each time it raises ``on``.

    Each call of ``attempt`` must read the present state again. The pauses between calls grow and
    are random, so that rivals do not meet again. Any other exception passes through. Raises 503
    after ``MOST_ATTEMPTS`` calls.
    """
    for pause in _pauses():
        try:
            return attempt()
        except on:
            time.sleep(pause)
    raise Unavailable


def draw_revision() -> str:
    """Draw the revision that a record gets with a change, where revisions are not counted."""
    return secrets.token_hex(8)


def if_unchanged(attribute: str, revision: float | str | bytes | None) -> dict[str, Any]:
    """Return, as keywords of a write, the condition that a record's revision is the one read.

    ``attribute`` is the attribute that holds the revision. ``None`` stands for a record that has
    none, which includes a record that does not exist yet.
    """
    if revision is None:
        return {"condition": f"attribute_not_exists(#{attribute})"}
    return {"condition": f"#{attribute} = :unchanged", "values": {"unchanged": revision}}


def _pauses() -> Iterator[float]:
    """Yield a random pause (seconds) after each attempt but the last: at most 3 s in all."""
    yield from _BACKOFF.pauses(MOST_ATTEMPTS - 1)
    yield 0
