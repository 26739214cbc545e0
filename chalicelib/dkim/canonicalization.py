"""Bring headers and bodies into the relaxed form that DKIM signs (RFC 6376 3.4.2 and 3.4.4).

A message is bytes with CRLF line ends only, as it goes over SMTP. The work is done on all headers
and on large pieces of the body with single passes at C speed, and is linear on any input.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256

_PIECE = 1 << 16
# From 2048 bytes on, hashlib hands the interpreter to another thread, to hash for a few
# microseconds, and may then wait for it for milliseconds
_HASHED_AT_ONCE = 2047
_RUN = re.compile(rb"  +")
_TAB_TO_BLANK = bytes.maketrans(b"\t", b" ")
_BLANKS = b" \t\r\n"


def split_message(message: bytes) -> tuple[int, int]:
    """Return where the header section ends, before its last CRLF, and where the body starts."""
    if message.startswith(b"\r\n"):
        return 0, 2
    blank = message.find(b"\r\n\r\n")
    return (len(message), len(message)) if blank < 0 else (blank, blank + 4)


def relaxed_fields(head: bytes, names: Collection[bytes]) -> dict[bytes, list[bytes]]:
    """Return the fields with these lower-case names, each relaxed, by name in message order."""
    head = head.translate(_TAB_TO_BLANK).replace(b"\r\n ", b" ")
    fields: dict[bytes, list[bytes]] = {}
    for line in _RUN.sub(b" ", head).split(b"\r\n"):
        name, _, value = line.partition(b":")
        name = name.rstrip(b" ").lower()
        if name in names:
            fields.setdefault(name, []).append(b"%s:%s\r\n" % (name, value.strip(b" ")))
    return fields


def body_hash(relaxed: Iterable[bytes]) -> bytes:
    """Return the SHA-256 of a relaxed body in pieces."""
    digest = sha256()
    for piece in relaxed:
        view = memoryview(piece)
        for at in range(0, len(view), _HASHED_AT_ONCE):
            digest.update(view[at : at + _HASHED_AT_ONCE])
    return digest.digest()


def relaxed_body(message: bytes, start: int) -> Iterator[bytes]:
    """Yield the relaxed body in pieces that end at line ends.

    Blanks at line ends and blank lines at the end are dropped; other runs of blanks become one
    blank. Working in pieces avoids a copy of a large message at every step.
    """
    end = _end_of_text(message, start)
    at = start
    while at < end:
        cut = message.find(b"\r\n", at + _PIECE, end)
        stop = end if cut < 0 else cut + 2
        yield relaxed_lines(message[at:stop])
        at = stop
    if end > start:
        yield b"\r\n"


def relaxed_lines(lines: bytes) -> bytes:
    """Return lines with one blank for each run of blanks, and none at line ends.

    CPython looks for a few bytes two to three times as fast from the right as from the left.
    """
    if b"\t" in lines:
        lines = lines.translate(_TAB_TO_BLANK)
    first, *others = lines.rsplit(b"  ")
    if others:
        *between, last = others
        # What is left of a run of blanks is at the end of the text before it, or a text of its own
        texts = filter(None, [text.rstrip(b" ") for text in between])
        lines = b" ".join([first.rstrip(b" "), *texts, last])
    return lines if lines.rfind(b" \r\n") < 0 else lines.replace(b" \r\n", b"\r\n")


def _end_of_text(message: bytes, start: int) -> int:
    """Return where the body ends without its last line ends and blanks, searching backwards."""
    end = len(message)
    while end > start:
        window = message[max(start, end - 4096) : end]
        text_length = len(window.rstrip(_BLANKS))
        end -= len(window) - text_length
        if text_length:
            break
    return end
