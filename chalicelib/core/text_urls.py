"""Find the URLs in plain text, in linear time.

A URL goes on up to a sign that no URL holds as it is: a blank, an angle bracket, a double quote, a
backtick, punctuation of Chinese and Japanese, a closing bracket that was not opened in it, or the
HTML reference of such a sign (``&gt;``). A URL within a URL (``?next=https://...``) is a part of
it, whatever the scheme of the outer one. The last signs may belong to the text nevertheless:
``text_url_ends``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from chalicelib.core.text_url_ends import CLOSING_CHARACTERS, TextBefore, end_of_url

#: How many brackets of each kind (round, square, curly) are open in a URL
Brackets = tuple[int, int, int]
NO_BRACKETS: Final[Brackets] = (0, 0, 0)

# All ranges are written out, because that makes classes of characters fast. U+0091 is no end: in
# templates it marks links (``tracking.literal_links``).
_ENDS = (
    '\x00-\x20"<>`\x7f-\x90\x92-\xa0\xab\xbb\u1680\u2000-\u200b\u200e\u200f\u201c-\u201f\u2026'
    "\u2028-\u202f\u2039\u203a\u205f-\u2064\u2066-\u206f\u3000-\u3002\u3008-\u3011\u3014-\u301b"
    "\u301d-\u301f\ufeff\uff01\uff02\uff08\uff09\uff0c\uff0e\uff1a-\uff1c\uff1e\uff1f\uff3b\uff3d"
    "\uff5b-\uff5d\uff5f-\uff64\ufffc"
)
#: The characters that a URL may hold, wherever its brackets end it
URL_CHARACTERS = re.compile(f"[^{_ENDS}]*")
_REFERENCE_OF_END = "&(?:lt|gt|quot|nbsp|#0*(?:34|60|62|160)|#[xX]0*(?:22|3[cC]|3[eE]|[aA]0));"
_OTHERS = rf"[^{_ENDS}()\[\]{{}}&{CLOSING_CHARACTERS}]*+"
_SIMPLE = re.compile(rf"{_OTHERS}(?:(?!{_REFERENCE_OF_END})&{_OTHERS})*+")
_OPENING, _CLOSING = "([{", ")]}"

_WEB = ("http", "https")
#: A text that is a URL from end to end, if no URL character stands behind it
WHOLE_URL = re.compile(r"[hH][tT][tT][pP][sS]?://[A-Za-z0-9/.?=&%:#+@$,!_-]*[A-Za-z0-9/=&%#+-]")


class TextUrl(NamedTuple):
    """A URL of the web from ``start`` to ``end``; up to ``limit`` follow signs of the text."""

    start: int
    end: int
    limit: int


def urls(text: str, position: int = 0) -> Iterator[TextUrl]:
    """Yield the http and https URLs of a text from a position on, in order."""
    while (colon := text.find("://", position)) >= 0:
        start = _start_of_scheme(text, position, colon)
        position = colon + 3
        if start == colon:
            continue
        before = TextBefore(text, start)
        limit, _ = url_limit(text, position, before=before)
        if text[start:colon].lower() in _WEB:
            position = end_of_url(text, before, position, limit)
            yield TextUrl(start, position, limit)
        else:
            position = limit


def _start_of_scheme(text: str, first: int, colon: int) -> int:
    """Return the start of ``http`` or ``https`` before a colon, or of the end of another scheme.

    It is the colon if there is no scheme before it. ``git+https`` is another one.
    """
    letters = text[max(first, colon - 5) : colon].lower()
    start = colon - (5 if letters == "https" else 4 if letters[-4:] == "http" else 0)
    before = text[max(first, start - 2) : start].rstrip("+") or " "
    return start - 1 if before[-1].isascii() and before[-1].isalnum() else start


def url_limit(
    text: str,
    position: int,
    brackets: Brackets = NO_BRACKETS,
    *,
    before: TextBefore | None = None,
) -> tuple[int, Brackets]:
    """Return how far a URL goes on from a position within it, and which brackets are open there.

    ``brackets`` are those that are open at the position. An option of ours (``[[data-``) ends it.
    """
    counts = list(brackets)
    while True:
        match = _SIMPLE.match(text, position)
        position = match.end() if match else position
        if _is_end(text, position, counts, before):
            return position, (counts[0], counts[1], counts[2])
        position += 1


def _is_end(text: str, position: int, counts: list[int], before: TextBefore | None) -> bool:
    """Tell whether a URL ends before a character that is not simple; count a bracket."""
    character = text[position : position + 1]
    if not character:
        return True
    if character in _OPENING:
        counts[_OPENING.index(character)] += 1
        return text.startswith("[[data-", position)
    if character in _CLOSING:
        counts[_CLOSING.index(character)] -= 1
        return counts[_CLOSING.index(character)] < 0
    if character in CLOSING_CHARACTERS:
        return before is not None and before.is_closed_at(position)
    return True
