"""Tell which of the last signs of a URL in plain text belong to the text around it.

These are punctuation of all languages, what closes a quotation or a cell of a table that begins
directly before the URL, and the marks of Markdown that were opened before it (``**url**``). Without
an opening mark, a ``*`` or ``_`` is a part of the URL.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_PUNCTUATION = frozenset(".,;:!?'\"\\|([{`～")
_MARKS = frozenset("*_~")
_REFERENCE = re.compile(r"&#?[A-Za-z0-9]{1,31};\Z")
_LONGEST_REFERENCE = 34
# What closes what begins with one of these signs directly before a URL
_CELL = re.compile(r"\|")
_QUOTE = re.compile(r"['’‘](?![A-Za-z0-9])")
_CLOSING = {"'": _QUOTE, "‘": _QUOTE, "’": _QUOTE, "‚": _QUOTE, "|": _CELL, "<": _CELL, "[": _CELL}

#: The characters at which a URL may end or not, by what stands before it
CLOSING_CHARACTERS: Final = "'’‘|*~"
DEPENDS_ON_TEXT_BEFORE = re.compile(rf"[{CLOSING_CHARACTERS}]|_(?![A-Za-z0-9])")

_CONTEXT = 500  # characters before a URL in which a mark may be opened
_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
_RUNS = {mark: re.compile(re.escape(mark) + "+") for mark in _MARKS}
_NEVER_BEFORE_OPENING = frozenset("/=?&#.@%+$\\")


class TextBefore:
    """The text before a URL, for what it opens and the URL or its end closes."""

    __slots__ = ("_closing", "_counts", "_start", "_text")

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self._closing = _CLOSING.get(text[start - 1]) if start else None
        self._counts: dict[str, int] = {}

    def is_closed_at(self, position: int) -> bool:
        """Tell whether the URL ends at one of ``CLOSING_CHARACTERS`` in it."""
        mark = self._text[position]
        if mark in _MARKS:  # one alone may be a part of the URL, until its end is known
            return self._text.startswith(2 * mark, position) and self._open_marks(mark) > 1
        return self._closing is not None and self._closing.match(self._text, position) is not None

    def marks_closed_by(self, mark: str, count: int) -> int:
        """Return how many marks at the end of the URL, of ``count``, close open ones."""
        closing = min(count, self._open_marks(mark))
        self._counts[mark] -= closing
        return closing

    def _open_marks(self, mark: str) -> int:
        if mark not in self._counts:
            context = self._text[max(0, self._start - _CONTEXT) : self._start]
            self._counts[mark] = _open_marks(_BLANK_LINE.split(context)[-1], mark)
        return self._counts[mark]


def end_of_url(text: str, before: TextBefore, first: int, limit: int) -> int:
    """Return the end of a URL without the signs of the text.

    ``first`` is the position behind its protocol, ``limit`` the end with these signs.
    """
    end = limit
    while end > first:
        last = text[end - 1]
        if last in _MARKS:
            count = before.marks_closed_by(last, _length_of_run(text, first, end))
        elif last == ";":
            count = _length_of_reference(text, first, end)
        else:
            count = int(last in _PUNCTUATION or _is_other_punctuation(last))
        if not count:
            break
        end -= count
    return end


def _is_other_punctuation(character: str) -> bool:
    return character > "\x7f" and unicodedata.category(character)[0] == "P"


def _length_of_run(text: str, first: int, end: int) -> int:
    """Return how often the last character before ``end`` stands there."""
    begin = end - 1
    while begin > first and text[begin - 1] == text[end - 1]:
        begin -= 1
    return end - begin


def _length_of_reference(text: str, first: int, end: int) -> int:
    """Return the length of the HTML reference before ``end``, or of the semicolon."""
    match = _REFERENCE.search(text, max(first, end - _LONGEST_REFERENCE), end)
    return end - match.start() if match else 1


def _open_marks(text: str, mark: str) -> int:
    """Return how many of a mark are open at the end of a text (CommonMark 6.2, simplified)."""
    count = 0
    for run in _RUNS[mark].finditer(text):
        before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        if count:
            is_within_word = mark == "_" and after.isalnum()
            count = 0 if before.strip() and not is_within_word else count
        elif after.strip() or run.end() == len(text):
            may_open = not before.isalnum() and before not in _NEVER_BEFORE_OPENING
            count = len(run[0]) if may_open else 0
    return count
