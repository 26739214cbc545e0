"""Read the structure of CSS (css-syntax-3): where blocks, rules and declarations begin and end.

Comments, strings, escapes and unquoted URLs are stepped over; brackets enclose what is in them, and
those that the text does not close are closed by its end. The time is linear for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_COMMENT: Final = r"/\*.*?(?:\*/|\Z)"
_STRING: Final = r""""(?:[^"\\\r\n\f]|\\.)*+"?|'(?:[^'\\\r\n\f]|\\.)*+'?"""
_URL: Final = r"""[uU][rR][lL]\([ \t\r\n\f]*+(?!["'])(?:[^)\\]|\\.)*+\)?"""
_TOKEN: Final = re.compile(rf"{_COMMENT}|{_STRING}|\\.?|{_URL}|[{{}}()\[\];,]", re.DOTALL)
_COMPLETE: Final = re.compile(
    r"""/\*.*?\*/|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\\.|url\((?:[^)\\]|\\.)*+\)""",
    re.DOTALL | re.IGNORECASE,
)
_COMMENT_OR_STRING: Final = re.compile(rf"({_COMMENT})|{_STRING}|\\.", re.DOTALL)
_CLOSES: Final = {"{": "}", "(": ")", "[": "]"}
#: Blanks and comments, and the marks of HTML comments that style sheets for old readers are in
GAP: Final = re.compile(r"(?:[ \t\r\n\f]++|/\*.*?(?:\*/|\Z)|<!--|-->)*+", re.DOTALL)


def outer_marks(text: str) -> Iterator[tuple[str, int]]:
    """Yield the ``{``, ``}``, ``;`` and ``,`` that no bracket encloses, each with its place."""
    closers: list[str] = []
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if len(mark) > 1:
            continue
        if closers and mark == closers[-1]:
            closers.pop()
            if mark == "}" and not closers:
                yield mark, match.start()
        elif mark in _CLOSES:
            if mark == "{" and not closers:
                yield mark, match.start()
            closers.append(_CLOSES[mark])
        elif mark in ";," and not closers:
            yield mark, match.start()


def divided(text: str, separator: str) -> list[str] | None:
    """Divide text at a separator that no bracket encloses; ``None`` if there are blocks in it."""
    pieces, start = [], 0
    for mark, place in outer_marks(text):
        if mark in "{}":
            return None
        if mark == separator:
            pieces.append(text[start:place])
            start = place + 1
    return [*pieces, text[start:]]


def is_complete(text: str) -> bool:
    """Tell whether text leaves nothing open that would enclose the text after it."""
    closers: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSES:
            closers.append(_CLOSES[token])
        elif token in ("}", ")", "]"):
            if not closers or closers.pop() != token:
                return False
        elif token not in (";", ",") and _COMPLETE.fullmatch(token) is None:
            return False
    return not closers


def without_comments(text: str) -> str:
    """Return text with a blank in place of each comment."""
    if "/*" not in text:
        return text
    return _COMMENT_OR_STRING.sub(lambda match: " " if match[1] else match[0], text)
