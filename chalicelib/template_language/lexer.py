"""Split a tag into tokens, reading each character once and stopping at the first fault."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from .errors import Fault, near
from .words import KEYWORDS, STATEMENTS

TOKENS_PER_TAG = 1_000
_LONGEST_NUMBER = 40

# Possessive quantifiers: a failed match does not backtrack.
_TOKEN = re.compile(
    r"""
    [ \t\r\n]*+ (?:
        (?P<number> 0[xX][0-9a-fA-F]++ | (?: [0-9]++ (?:\.[0-9]*+)? | \.[0-9]++ ) (?:[eE][+-]?[0-9]++)? )
      | (?P<name> [A-Za-z_][A-Za-z0-9_]*+ )
      | (?P<string> "[^"\\\n]*+(?:\\.[^"\\\n]*+)*+" | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*+' )
      | (?P<symbol> [=!<>]= | [-+*/<>\#()\[\].,] )
      | (?P<close> \}\}\}? )
    )?
    """,  # noqa: E501
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


class Token(NamedTuple):
    """A token: kind (number, name, keyword, string, symbol, end), value, source text, line."""

    kind: str
    value: str | int | float
    text: str
    line: int


@dataclass(slots=True)
class Tag:
    """The content of a pair of braces: tokens (the last one is `end`), form, span and line."""

    tokens: list[Token]
    raw: bool
    line: int
    end: int

    @property
    def statement(self) -> str | None:
        """The keyword of a statement; None for an expression."""
        first = self.tokens[0]
        return first.text if first.kind == "keyword" and first.text in STATEMENTS else None


def read_tag(source: str, start: int, line: int) -> Tag:
    """Read the tag whose braces open at ``start``. Raises Fault with its line."""
    raw = source.startswith("{{{", start)
    closing = "}}}" if raw else "}}"
    position = start + len(closing)
    opened, tokens = line, list[Token]()
    while len(tokens) < TOKENS_PER_TAG:
        match = _TOKEN.match(source, position)
        assert match is not None  # it matches the empty string too
        kind, text = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        line += source.count("\n", position, match.end())
        if kind is None:
            raise _unreadable(source, match.end(), closing, opened, line)
        if kind == "close" and text.startswith(closing):
            tokens.append(Token("end", closing, closing, line))
            return Tag(tokens, raw, opened, match.start("close") + len(closing))
        if kind == "close":
            raise _unreadable(source, match.start("close"), closing, opened, line)
        tokens.append(_token(kind, text, line))
        position = match.end()
    raise _missing_end(source, position, closing, opened) or Fault(
        "the expression is too long", opened
    )


def _token(kind: str, text: str, line: int) -> Token:
    if kind == "name":
        return Token("keyword" if text in KEYWORDS else "name", text, text, line)
    if kind == "number":
        return Token(kind, _number(text, line), text, line)
    if kind == "string":
        return Token(kind, _ESCAPE.sub(_unescape, text[1:-1]), text, line)
    return Token(kind, text, text, line)


def _number(text: str, line: int) -> int | float:
    if len(text) > _LONGEST_NUMBER:
        raise Fault(near(text), line)
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Fault(near(text), line)
    return int(text) if text.isdecimal() else number


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[1], match[1])


def _unreadable(source: str, position: int, closing: str, opened: int, line: int) -> Fault:
    """Return the fault for a tag that cannot be read beyond ``position``."""
    return _missing_end(source, position, closing, opened) or Fault(
        near(source[position : position + 1]), line
    )


def _missing_end(source: str, position: int, closing: str, opened: int) -> Fault | None:
    """Return a fault if the braces do not close before the next ones open."""
    end = source.find(closing, position)
    opening = source.find("{{", position)
    if end >= 0 and not 0 <= opening < end:
        return None
    return Fault(f"substitution statement missing ending '{closing}'", opened)
