"""Make the tracked links of markup that is rewritten chunk by chunk, with values in their targets.

What all messages share of a link is prepared once, when its element is analysed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from chalicelib.tracking import links
from chalicelib.tracking.model import Link
from chalicelib.tracking.token_forms import end_of_target, pack_start
from chalicelib.tracking.tokens import LinkPart

#: Stands for a value while an element is analysed: a code point that is no character
VALUE = "\ufdd0"

_SHORT_TARGET = 500  # characters: no limit of a tracked URL is near
_URL_SAFE = re.compile(r"[A-Za-z0-9._~%-]*")


class Unclear(Exception):
    """The chunks have to be joined and read as a whole."""


class TrackedLink:
    """A link to track, whose target is the same in all messages."""

    __slots__ = ("link", "middle")

    def __init__(self, link: LinkPart) -> None:
        self.link = link
        self.middle = f".{link.text}."


class OwnLink:
    """A link to track whose target contains values.

    ``start`` is the start of its tracked URL. ``link`` has ``VALUE`` in its target for each of its
    ``count`` values; the first of them is value number ``first`` of the element.
    """

    __slots__ = ("_end", "_link", "_packed_start", "_start", "_texts", "count", "first", "kind")

    def __init__(self, start: str, link: Link, first: int) -> None:
        self._start = start
        self._link = link
        self._texts = link.target.split(VALUE)
        # Where all values are in the end of the target, its start is packed once
        cut = end_of_target(link.target)
        is_short = len(link.target) <= _SHORT_TARGET and not links.may_be_tracked(link.target)
        has_start = is_short and cut <= link.target.index(VALUE)
        self._packed_start = pack_start(link, cut) if has_start else b""
        self._end = link.target[cut:].split(VALUE)
        self.kind = link.kind
        self.first = first
        self.count = len(self._texts) - 1

    def part(self, values: Sequence[str]) -> LinkPart:
        """Return the link part of the link with its values. Raises :class:`Unclear`."""
        if self._packed_start:
            end = _filled(self._end, values)
            if len(end) > _SHORT_TARGET:
                raise Unclear
            return LinkPart.of_packed(
                self.kind, self._packed_start + end.encode("utf-8", "surrogatepass")
            )
        target = _filled(self._texts, values)
        if links.may_be_tracked(target):
            raise Unclear
        link = replace(self._link, target=target)
        part = LinkPart(link)
        if not links.fits(link) or links.is_too_long(self._start, part):
            raise Unclear
        return part


def _is_safe_in_url(value: str) -> bool:
    """Tell whether a value in a target changes neither where it leads nor how it is read."""
    return (value.isalnum() and value.isascii()) or bool(_URL_SAFE.fullmatch(value))


def _filled(texts: Sequence[str], values: Sequence[str]) -> str:
    """Return texts with a value behind each but the last. Raises :class:`Unclear`."""
    pieces = [texts[0]]
    for value, text in zip(values, texts[1:], strict=True):
        if not _is_safe_in_url(value):
            raise Unclear
        pieces += (value, text)
    return "".join(pieces)
