"""Find the links in a template, so that values printed inside them are percent-encoded.

A link begins with a literal `http://` or `https://`. In markup it ends at a blank, a quote or an
angle bracket, or at the end of a style's `url(...)`; in plain text where `core.text_urls` says. A
protocol that comes from a value does not begin a link.

A state is `None` outside links, and the open brackets inside one: only text counts them.
"""

from __future__ import annotations

import re

from chalicelib.core.text_urls import NO_BRACKETS, Brackets, url_limit

_BEGIN = re.compile(r"https?://", re.IGNORECASE | re.ASCII)
_END_IN_MARKUP = re.compile(r"[\s\"'<>`]|\);")


def state_after(text: str, state: Brackets | None, *, markup: bool) -> Brackets | None:
    """Return the state at the end of a text from the state at its start."""
    position = 0
    while True:
        if state is None:
            begin = _BEGIN.search(text, position)
            if begin is None:
                return None
            state, position = NO_BRACKETS, begin.end()
        if markup:
            end = _END_IN_MARKUP.search(text, position)
            if end is None:
                return state
            position = end.end()
        else:
            position, state = url_limit(text, position, state)
            if position == len(text):
                return state
        state = None


def either(one: Brackets | None, other: Brackets | None) -> Brackets | None:
    """Return the state after two branches: inside a link if one of them ended inside."""
    if one is None or other is None:
        return other if one is None else one
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2])
