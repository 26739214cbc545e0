"""Encode a text body that comes in pieces, most of which are the same in many messages.

In quoted-printable, the encoding of a piece depends only on the column it starts in, and after its
first line end not even on that. So the encoded forms of pieces are cached, together with what DKIM
makes of them. The result is the same, byte for byte, as ``encode_text`` for the joined text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from chalicelib.mail_format.transfer_encoding import (
    encode_text,
    normalise_newlines,
    quoted_printable,
)

_LINE = 75  # characters, and "=" where the line goes on
_SHORT = 1000  # characters of a text whose lines are remembered
_CACHE_ENTRIES = 8000
_CACHE_CHARACTERS = 4_000_000

# A blank or a dot is encoded if a line end follows it, which may be in the next piece
_DEPENDS_ON_NEXT = " \t."
# b2a_qp takes NUL for an end as well
_LINE_ENDS = "\r\n\0"
_BLANKS = re.compile(r"[ \t]+")


class EncodedPieces(NamedTuple):
    """An encoded text body: its Content-Transfer-Encoding and its bytes.

    ``relaxed`` is the body with one blank for each run of blanks and tabs, as DKIM signs it (RFC
    6376 3.4.4), where it is known. There are no blanks at its line ends.
    """

    encoding: str
    body: bytes
    relaxed: bytes | None = None


class _Form(NamedTuple):
    """A piece as it is encoded from some column on, and the column after it.

    ``relaxed`` has the texts with one blank for each run of blanks; ``first`` is the first
    character of the piece.
    """

    texts: tuple[str, ...]
    relaxed: tuple[str, ...]
    column: int
    first: str
    depends_on_next: bool


class _Unclear(Exception):
    """The pieces have to be joined and encoded as a whole."""


class _Forms:
    """The encoded forms of a piece, by the column that it starts in.

    ``ends`` has the forms of the piece at the end of a body.
    """

    __slots__ = ("_head", "_tail", "ends", "forms", "text")

    def __init__(self, text: str) -> None:
        if text.endswith("\r"):
            raise _Unclear
        cut = text.find("\n") + 1 or len(text)
        self.text = text
        self.forms: dict[int, _Form] = {}
        self.ends: dict[int, _Form] = {}
        self._head = text[:cut]
        self._tail = _encoded(text[cut:], 0) if cut < len(text) else None

    def add(self, column: int) -> _Form:
        """Return the form from a column on, and remember it."""
        text, end_column = _encoded(self._head, column)
        texts: tuple[str, ...] = (text,)
        if self._tail:
            end_column = self._tail[1]
            texts = text, self._tail[0]
        form = self.forms[column] = self._form(texts, end_column)
        return form

    def add_end(self, column: int) -> _Form:
        """Return the form at the end of a body, and remember it."""
        text, end_column = _encoded(self.text, column, is_end=True)
        form = self.ends[column] = self._form((text,), end_column)
        return form

    def _form(self, texts: tuple[str, ...], column: int) -> _Form:
        relaxed = tuple(_BLANKS.sub(" ", text) for text in texts)
        if relaxed == texts:
            relaxed = texts  # one copy of a text in memory, not two
        first, last = self.text[0], self.text[-1]
        return _Form(texts, relaxed, column, first, last in _DEPENDS_ON_NEXT)


class _Cache:
    """The pieces that this process encoded; it forgets all of them when it is full.

    Threads may share it: at worst a piece is encoded twice.
    """

    def __init__(self) -> None:
        self.pieces: dict[str, _Forms] = {}
        self._size = 0

    def form(self, text: str, column: int, *, is_end: bool) -> _Form:
        """Return an encoded form of a piece, and remember it."""
        self._size += len(text)
        if len(self.pieces) >= _CACHE_ENTRIES or self._size > _CACHE_CHARACTERS:
            self.pieces.clear()
            self._size = len(text)
        forms = self.pieces.get(text)
        if forms is None:
            forms = self.pieces[text] = _Forms(text)
        return forms.add_end(column) if is_end else forms.add(column)


_cache = _Cache()


def encode_pieces(pieces: Sequence[str]) -> EncodedPieces:
    """Return ``encode_text`` of the joined pieces, most often with its relaxed form."""
    text = "".join(pieces)
    if len(pieces) > 1 and not text.isascii():
        try:
            return EncodedPieces("quoted-printable", *_quoted_printable(pieces))
        except _Unclear:
            pass
    return EncodedPieces(*encode_text(text))


def _quoted_printable(pieces: Sequence[str]) -> tuple[bytes, bytes | None]:
    """Encode pieces, and relax them. Raises :class:`_Unclear`.

    The relaxed form is ``None`` where a run of blanks may go from one piece into the next.
    """
    pieces = list(filter(None, pieces))
    last = pieces.pop()
    output: list[str] = []
    relaxed_output: list[str] = []
    is_relaxed = True
    cached_pieces = _cache.pieces
    column = 0
    depends_on_next = False
    for text in pieces:
        forms = cached_pieces.get(text)
        form = forms.forms.get(column) if forms else None
        if form is None:
            if "=" not in text and text.isascii() and text.isprintable() and "  " not in text:
                # Each character stands for itself
                if depends_on_next and text[0] == " ":
                    is_relaxed = False
                size = len(text)
                if column + size <= _LINE:
                    column += size
                elif size <= _SHORT:
                    lines_of, column = _breaks(column, size)
                    text = "=\r\n".join(lines_of(text))
                else:
                    lines = [text[part] for part in _parts(column, size)]
                    text = "=\r\n".join(lines)
                    column = len(lines[-1])
                output.append(text)
                relaxed_output.append(text)
                depends_on_next = text[-1] in _DEPENDS_ON_NEXT
                continue
            form = _cache.form(text, column, is_end=False)
        texts, relaxed, column, first, is_open = form
        if depends_on_next:
            is_relaxed = not _continues_blanks(first) and is_relaxed
        output += texts
        relaxed_output += relaxed
        depends_on_next = is_open
    forms = cached_pieces.get(last)
    form = forms.ends.get(column) if forms else None
    form = form or _cache.form(last, column, is_end=True)
    if depends_on_next:
        is_relaxed = not _continues_blanks(form.first) and is_relaxed
    output += form.texts
    relaxed_output += form.relaxed
    relaxed_body = "".join(relaxed_output).encode("ascii") if is_relaxed else None
    return "".join(output).encode("ascii"), relaxed_body


def _continues_blanks(first: str) -> bool:
    """Tell whether a piece with this first character may go on with the blanks before it.

    Raises :class:`_Unclear` for a line end, before which blanks are encoded.
    """
    if first in _LINE_ENDS:
        raise _Unclear
    return first in " \t"


def _parts(column: int, size: int) -> Iterator[slice]:
    """Yield the lines of a text that starts in a column and goes on beyond its line."""
    cut = _LINE - column
    yield slice(0, cut)
    for at in range(cut, size, _LINE):
        yield slice(at, at + _LINE)


@lru_cache(maxsize=4096)
def _breaks(column: int, size: int) -> tuple[Callable[[str], Sequence[str]], int]:
    """Return what cuts a text into its lines, and the column after it.

    The values of many messages, such as the tokens of links, have the same few lengths.
    """
    *_, last = parts = list(_parts(column, size))
    return itemgetter(*parts), size - last.start


def _encoded(text: str, column: int, *, is_end: bool = False) -> tuple[str, int]:
    """Encode a text that starts in a column; another text follows it unless it is the end.

    Returns the encoded text, and the column after it.
    """
    data = normalise_newlines(text.encode("utf-8", "replace"))
    follower = b"" if is_end else b"x"
    encoded = quoted_printable(b"x" * column + data + follower).decode("ascii")
    encoded = encoded.removesuffix("x") if follower else encoded
    end_column = len(encoded) - encoded.rfind("\n") - 1
    return encoded[column:], end_column
