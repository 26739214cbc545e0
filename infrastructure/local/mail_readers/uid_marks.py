"""Keep a set of messages in a bit for each: a search has up to some hundred such sets."""

from __future__ import annotations

from collections.abc import Iterable


class UidMarks:
    """The numbers of some messages."""

    def __init__(self, uids: Iterable[int]) -> None:
        ordered = sorted(uids)
        self._first = ordered[0] if ordered else 0
        self._marks = bytearray((ordered[-1] - self._first >> 3) + 1 if ordered else 0)
        for uid in ordered:
            place = uid - self._first
            self._marks[place >> 3] |= 1 << (place & 7)

    def __contains__(self, uid: int) -> bool:
        place = uid - self._first
        return 0 <= place >> 3 < len(self._marks) and bool(
            self._marks[place >> 3] >> (place & 7) & 1
        )
