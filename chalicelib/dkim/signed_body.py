"""Bring the body of any message into the forms that DKIM signs, in pieces (RFC 6376 3.4.3, 3.4.4).

Strangers wrote the body: it may be large, be one long line, or hold nothing but blanks. Neither
memory nor time depends on that. What this service signs has a quicker way (`canonicalization`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from chalicelib.core.spool import Octets, pieces_of
from chalicelib.dkim.canonicalization import relaxed_lines

_CRLF: Final = b"\r\n"
_ENDS_AT_ONCE: Final = 1 << 15


class BodyHash(NamedTuple):
    """The SHA-256 of a body, and the octets of its canonical form that the hash is not about.

    They are negative if the body has fewer octets than were to be hashed.
    """

    digest: bytes
    unsigned: int


def hash_body(octets: Octets, start: int, *, is_relaxed: bool, length: int | None) -> BodyHash:
    """Hash the body that begins at ``start``, or the first ``length`` octets of its form."""
    digest, size = sha256(), 0
    for piece in canonical_body(pieces_of(octets, start), is_relaxed=is_relaxed):
        digest.update(piece if length is None else piece[: max(0, length - size)])
        size += len(piece)
    return BodyHash(digest.digest(), 0 if length is None else size - length)


def canonical_body(pieces: Iterable[bytes], *, is_relaxed: bool) -> Iterator[bytes]:
    """Yield the canonical form of a body that comes in pieces, cut anywhere.

    Line ends wait until something follows them: those at the end of a body do not count.
    """
    count, open_end, is_empty = 0, b"", True
    for piece in pieces:
        lines = open_end + piece
        lines, open_end = _without_open_end(relaxed_lines(lines) if is_relaxed else lines)
        text, further = _without_line_ends(lines)
        if text:
            yield from _line_ends(count)
            yield text
            count, is_empty = further, False
        else:
            count += further
    rest = open_end.rstrip(b" ") if is_relaxed else open_end
    if rest:
        yield from _line_ends(count)
        yield rest
    if rest or not is_empty or not is_relaxed:
        yield _CRLF


def _without_open_end(lines: bytes) -> tuple[bytes, bytes]:
    """Return lines, and what of their end the next piece decides about: blanks and CR."""
    end = len(lines)
    if lines.endswith(b"\r"):
        end -= 1
    if lines.endswith(b" ", 0, end):
        end -= 1
    return lines[:end], lines[end:]


def _without_line_ends(lines: bytes) -> tuple[bytes, int]:
    """Return lines without the CRLF at their end, and how many CRLF these were."""
    if not lines.endswith(b"\n"):
        return lines, 0
    ends = lines[len(lines.rstrip(_CRLF)) :]
    count = len(ends) // 2
    if ends != _CRLF * count:
        # Each CRLF is whole only from the last place on where two CR or two LF follow each other
        ends = ends[max(ends.rfind(b"\r\r"), ends.rfind(b"\n\n")) + 1 :].removeprefix(b"\n")
        count = len(ends) // 2
    return lines[: len(lines) - 2 * count], count


def _line_ends(count: int) -> Iterator[bytes]:
    while count > 0:
        yield _CRLF * min(count, _ENDS_AT_ONCE)
        count -= _ENDS_AT_ONCE
