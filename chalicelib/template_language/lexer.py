"""Split a tag into tokens, reading each character once, up to the end or the first fault."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from .errors import Fault, Report, Span, near, stop_at
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
    """A token: kind (number, name, keyword, string, symbol, end), value, source text, line.

    ``start`` is its place in the source.
    """

    kind: str
    value: str | int | float
    text: str
    line: int
    start: int

    @property
    def span(self) -> Span:
        """Where the token is in the source."""
        return Span(self.start, self.start + len(self.text))


@dataclass(slots=True)
class Tag:
    """The content of a pair of braces: tokens (the last one is `end`), form, span and line.

    A ``broken`` tag has only the tokens before its fault, which is reported.
    """

    tokens: list[Token]
    raw: bool
    line: int
    span: Span
    broken: bool = False

    @property
    def statement(self) -> str | None:
        """The keyword of a statement; None for an expression."""
        first = self.tokens[0]
        return first.text if first.kind == "keyword" and first.text in STATEMENTS else None


def read_tag(source: str, start: int, line: int, report: Report = stop_at) -> Tag:
    """Read the tag whose braces open at ``start``; report its fault with its line."""
    raw = source.startswith("{{{", start)
    closing = "}}}" if raw else "}}"
    tokens = list[Token]()
    try:
        end = _read_tokens(source, start, closing, line, tokens)
    except Fault as fault:
        report(fault)
        return _broken_tag(source, start, closing, line, tokens)
    return Tag(tokens, raw, line, Span(start, end))


def _read_tokens(source: str, start: int, closing: str, line: int, tokens: list[Token]) -> int:
    """Append the tokens of a tag; return where it ends. Raises Fault with its line."""
    opened, position = line, start + len(closing)
    braces = Span(start, position)
    while len(tokens) < TOKENS_PER_TAG:
        match = _TOKEN.match(source, position)
        assert match is not None  # it matches the empty string too
        kind, text = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        line += source.count("\n", position, match.end())
        if kind is None:
            raise _unreadable(source, match.end(), closing, opened, line, braces)
        at = match.start(kind)
        if kind == "close" and text.startswith(closing):
            tokens.append(Token("end", closing, closing, line, at))
            return at + len(closing)
        if kind == "close":
            raise _unreadable(source, at, closing, opened, line, braces)
        tokens.append(_token(kind, text, line, at))
        position = match.end()
    raise _missing_end(source, position, closing, opened, braces) or Fault(
        "the expression is too long", opened, braces
    )


def _broken_tag(source: str, start: int, closing: str, line: int, tokens: list[Token]) -> Tag:
    """Return a tag with the tokens before its fault; it ends where the next one may begin."""
    position = tokens[-1].span.end if tokens else start + len(closing)
    end = source.find(closing, position)
    opening = source.find("{{", position)
    if end >= 0 and not 0 <= opening < end:
        end += len(closing)
    else:
        end = opening if opening >= 0 else len(source)
    last_line = line + source.count("\n", start, end)
    all_tokens = [*tokens, Token("end", closing, closing, last_line, end)]
    return Tag(all_tokens, closing == "}}}", line, Span(start, end), broken=True)


def _token(kind: str, text: str, line: int, start: int) -> Token:
    if kind == "name":
        return Token("keyword" if text in KEYWORDS else "name", text, text, line, start)
    if kind == "number":
        return Token(kind, _number(text, line, start), text, line, start)
    if kind == "string":
        return Token(kind, _ESCAPE.sub(_unescape, text[1:-1]), text, line, start)
    return Token(kind, text, text, line, start)


def _number(text: str, line: int, start: int) -> int | float:
    if len(text) > _LONGEST_NUMBER:
        raise Fault(near(text), line, Span(start, start + len(text)))
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Fault(near(text), line, Span(start, start + len(text)))
    return int(text) if text.isdigit() else number


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[1], match[1])


def _unreadable(
    source: str, position: int, closing: str, opened: int, line: int, braces: Span
) -> Fault:
    """Return the fault for a tag that cannot be read beyond ``position``."""
    return _missing_end(source, position, closing, opened, braces) or Fault(
        near(source[position : position + 1]), line, Span(position, position + 1)
    )


def _missing_end(
    source: str, position: int, closing: str, opened: int, braces: Span
) -> Fault | None:
    """Return a fault if the braces do not close before the next ones open."""
    end = source.find(closing, position)
    opening = source.find("{{", position)
    if end >= 0 and not 0 <= opening < end:
        return None
    return Fault(f"substitution statement missing ending '{closing}'", opened, braces)
