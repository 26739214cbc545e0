"""Keep the flags of messages: whether one was seen in the mailbox, the others until the end.

The mailbox has `\\Seen` only. The other flags of RFC 3501 2.3.2 are shared by all clients, and are
forgotten when the service stops.
"""

from __future__ import annotations

from collections.abc import Iterable

SEEN, ANSWERED, FLAGGED, DELETED, DRAFT = 1, 2, 4, 8, 16

BITS = {
    "\\ANSWERED": ANSWERED,
    "\\FLAGGED": FLAGGED,
    "\\DELETED": DELETED,
    "\\SEEN": SEEN,
    "\\DRAFT": DRAFT,
}
NAMES = "\\Answered \\Flagged \\Deleted \\Seen \\Draft"


class FlagMarks:
    """The flags besides `\\Seen`, by the number of a message."""

    def __init__(self) -> None:
        self._bits: dict[int, int] = {}
        #: Changes with every change
        self.version = 0

    def bits(self, uid: int) -> int:
        """The flags of a message."""
        return self._bits.get(uid, 0)

    def set_bits(self, uid: int, bits: int) -> None:
        """Let a message have these flags."""
        bits &= ~SEEN
        if bits != self._bits.get(uid, 0):
            self.version += 1
            if bits:
                self._bits[uid] = bits
            else:
                del self._bits[uid]

    def forget(self, uids: Iterable[int]) -> None:
        """Forget messages that are deleted."""
        for uid in uids:
            self._bits.pop(uid, None)

    def uids(self) -> list[int]:
        """The messages that have a flag."""
        return list(self._bits)


def text(bits: int) -> str:
    """Return the list of flags as IMAP writes it."""
    names = (name for name in NAMES.split() if BITS[name.upper()] & bits)
    return f"({' '.join(names)})"
