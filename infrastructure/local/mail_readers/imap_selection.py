"""Keep what a client of IMAP knows of the mailbox that it has selected, and find what is new.

A client counts messages by position. So a message that is deleted keeps its position until the
client is told, and a message with a lower number than the last one is not shown before the mailbox
is selected again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.flags import SEEN
from infrastructure.local.mail_readers.imap_syntax import Ranges
from infrastructure.local.mailbox.numbers import Flagged, Sums
from infrastructure.local.mailbox.rows import Condition


@dataclass
class Changes:
    """What changed: positions that went, one after the other, and those with other flags."""

    expunged: list[int] = field(default_factory=list)
    reflagged: list[int] = field(default_factory=list)
    has_more: bool = False


class Selection:
    """A selected mailbox. Its methods block: `desk.run` has threads."""

    def __init__(
        self, desk: ReadingDesk, name: str, scope: Sequence[Condition], *, is_read_only: bool
    ) -> None:
        self._desk = desk
        self.name = name
        self.scope = list(scope)
        self.is_read_only = is_read_only
        #: What the mailbox's own sums are if nothing is new
        self._sums = Sums()
        self._versions = self._current_versions()
        self._adopt(desk.numbers.flagged(self.scope))

    def __len__(self) -> int:
        return len(self.uids)

    @property
    def first_unseen(self) -> int | None:
        """The position of the first message that is not seen, None if there is none."""
        return next((at for at, bits in enumerate(self.bits, 1) if not bits & SEEN), None)

    def positions(self, ranges: Ranges, *, by_uid: bool) -> list[int]:
        """Return the positions, from 1 on, of a set of messages, in order."""
        spans = self.spans(ranges, by_uid=by_uid)
        return [position for low, high in spans for position in range(low, high + 1)]

    def spans(self, ranges: Ranges, *, by_uid: bool) -> list[tuple[int, int]]:
        """Return a set of messages as first and last positions, in order and without overlaps."""
        last = self.uids[-1] if by_uid and self.uids else len(self.uids)
        spans: list[tuple[int, int]] = []
        for bounds in ranges:
            low, high = sorted(last if each is None else each for each in bounds)
            if by_uid:
                low, high = bisect_left(self.uids, low) + 1, bisect_left(self.uids, high + 1)
            spans.append((max(low, 1), min(high, len(self.uids))))
        merged: list[tuple[int, int]] = []
        for low, high in sorted(spans):
            low = max(low, merged[-1][1] + 1 if merged else 1)
            if low <= high:
                merged.append((low, high))
        return merged

    def exists(self, ranges: Ranges) -> bool:
        """Tell whether all positions of a set are there."""
        bounds = [each for both in ranges for each in both]
        most = max((each for each in bounds if each is not None), default=0)
        return most <= len(self.uids) and (bool(self.uids) or None not in bounds)

    def set_bits(self, position: int, bits: int) -> None:
        """Note the flags that a message has now."""
        unread = (bits & SEEN == 0) - (self.bits[position - 1] & SEEN == 0)
        self._sums = self._sums._replace(
            unread=self._sums.unread + unread,
            unread_uids=self._sums.unread_uids + unread * self.uids[position - 1],
        )
        self.bits[position - 1] = bits

    def refresh(self) -> Changes | None:
        """Take over what is new; None if nothing is."""
        versions = self._current_versions()
        if versions == self._versions:
            return None
        old_versions, self._versions = self._versions, versions
        numbers, length = self._desk.numbers, len(self)
        self._add(numbers.flagged(self.scope, self._last_uid()))
        changes = Changes(has_more=len(self) > length)
        if numbers.sums(self.scope) != self._sums:
            self._reload(changes, numbers.flagged(self.scope))
        if versions[1] != old_versions[1]:
            self._mark(changes)
        return changes

    def _current_versions(self) -> tuple[int, int]:
        return self._desk.numbers.version(), self._desk.marks.version

    def _last_uid(self) -> int:
        return self.uids[-1] if self.uids else 0

    def _adopt(self, messages: Flagged) -> None:
        self.uids: array[int] = array("q")
        self.bits = bytearray()
        self._add(messages)
        for uid in self._desk.marks.uids():
            if position := self.position(uid):
                self.bits[position - 1] |= self._desk.marks.bits(uid)

    def _add(self, messages: Flagged) -> None:
        self.uids.extend(messages.uids)
        self.bits += messages.unread.translate(_SEEN_OF_UNREAD)
        more = _sums_of(messages)
        self._sums = Sums(*map(sum, zip(self._sums, more, strict=True)))

    def position(self, uid: int) -> int:
        """Return the position of a message, 0 if it is not there."""
        index = bisect_left(self.uids, uid)
        return index + 1 if index < len(self.uids) and self.uids[index] == uid else 0

    def _reload(self, changes: Changes, messages: Flagged) -> None:
        """Compare with the whole mailbox, and drop what went."""
        unread_by_uid = dict(zip(messages.uids, messages.unread, strict=True))
        uids, bits = self.uids, self.bits
        self.uids, self.bits = array("q"), bytearray()
        for uid, old in zip(uids, bits, strict=True):
            unread = unread_by_uid.get(uid)
            if unread is None:
                # Positions count what is before them when they are told
                changes.expunged.append(len(self.uids) + 1)
                continue
            new = old & ~SEEN if unread else old | SEEN
            self.uids.append(uid)
            self.bits.append(new)
            if new != old:
                changes.reflagged.append(len(self.uids))
        # What cannot be shown is not new again
        self._sums = _sums_of(messages)

    def _mark(self, changes: Changes) -> None:
        marks = self._desk.marks
        uids = {uid for uid, bits in zip(self.uids, self.bits, strict=True) if bits & ~SEEN}
        for uid in uids.union(marks.uids()):
            position = self.position(uid)
            bits = marks.bits(uid)
            if position and self.bits[position - 1] & ~SEEN != bits:
                self.bits[position - 1] = self.bits[position - 1] & SEEN | bits
                changes.reflagged.append(position)


_SEEN_OF_UNREAD = bytes([SEEN, 0]) + bytes(254)


def _sums_of(messages: Flagged) -> Sums:
    unread_uids = sum(compress(messages.uids, messages.unread))
    return Sums(len(messages.uids), sum(messages.unread), sum(messages.uids), unread_uids)
