"""Find the armored blocks of a text: OpenPGP's signed and encrypted texts (RFC 9580 6.2, 7).

A block begins and ends with lines such as ``-----BEGIN PGP SIGNED MESSAGE-----``. Any change within
a signed text breaks its signature. PEM and others use the same lines (RFC 7468).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

#: A text without it has no block
BEGIN: Final = "-----BEGIN "

_LINE = re.compile(
    r"(?:(?<=[\r\n])|\A)-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ,/]*)-----[ \t]*(?=[\r\n]|\Z)"
)
_SIGNED, _SIGNATURE = "PGP SIGNED MESSAGE", "PGP SIGNATURE"


class ArmoredBlock(NamedTuple):
    """A block from ``start`` to ``end``, with its first and its last line."""

    start: int
    end: int
    is_signed_text: bool


def blocks(text: str) -> list[ArmoredBlock]:
    """Return the blocks of a text, in order; a block without an end is none."""
    if BEGIN not in text:
        return []
    ends: dict[str, int] = {}
    complete: list[ArmoredBlock] = []
    for line in reversed(list(_LINE.finditer(text))):
        label = line[2]
        if line[1] == "END":
            ends[label] = line.end()
            continue
        end = ends.get(_SIGNATURE if label == _SIGNED else label)
        if end is not None:
            complete.append(ArmoredBlock(line.start(), end, label == _SIGNED))
    return _outermost(complete)


def _outermost(complete: list[ArmoredBlock]) -> list[ArmoredBlock]:
    """Return the blocks that are in no other, in order; they come the last one first."""
    outermost: list[ArmoredBlock] = []
    for block in reversed(complete):
        if not outermost or block.start >= outermost[-1].end:
            outermost.append(block)
    return outermost
