"""Rewrite rendered markup chunk by chunk; the analysis of each literal chunk is done once.

A template writes the same literal texts into every message, with values between them. Where the
tags of a literal text are depends only on what it follows: text, or an element that earlier chunks
began. That is a *state*, and the pieces of a literal in a state are cached. A value is only
searched for characters that could begin or end an element. A value with such a character is
analysed like a literal.

The result is the same, byte for byte, as that of :class:`~chalicelib.tracking.segments.Segments`
for the joined text. Where this module cannot tell, it says so (:class:`Unclear`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from chalicelib.mail_format.entities import decode
from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking import links, markup
from chalicelib.tracking.link_pieces import VALUE, OwnLink, TrackedLink, Unclear
from chalicelib.tracking.links import MARK, LinkOptions
from chalicelib.tracking.markup import BLANKS, Tag, Unfinished
from chalicelib.tracking.segments import Bound, without_options
from chalicelib.tracking.tokens import MessageTokens

_TRANSITIONS = 4000
_CHARACTERS = 1_000_000
_MOST_VALUES = 20  # in one element
_LONGEST_ELEMENT = 20_000  # characters

# A reference that a value may complete, a host that is a value, and blanks that may end the URL
_DEPENDS_ON_VALUES = re.compile(rf"&[#A-Za-z0-9]*{VALUE}|://{VALUE}|[\x00-\x20]")


#: A text, the number of a value, a link, or a bound of the body
Piece = str | int | TrackedLink | OwnLink | Bound
_P = TypeVar("_P")


class Assembled(NamedTuple):
    """The texts of a new part, and the places of the start and the end of its body.

    At each of these is an empty text. Without a body tag, the start is ``None``, and the end is the
    last text.
    """

    texts: list[str]
    begin: int | None
    end: int


class State:
    """What a chunk follows: text, or an ``element`` that is not finished yet.

    States with the same ``pattern`` (``markup.accepted_values``) accept the same values.
    """

    __slots__ = ("_behind_value", "element", "pattern", "transitions", "values")

    def __init__(self, element: str = "") -> None:
        self.element = element
        self.values = element.count(VALUE)
        self.transitions: dict[str, Transition] = {}
        self._behind_value: State | None = None
        self.pattern = markup.accepted_values(element) if element else None

    def accepts(self, value: str) -> bool:
        """Tell whether a value stays within the element (or the text) and changes nothing else."""
        if MARK in value or VALUE in value:
            return False
        if not self.element:
            return "<" not in value
        return bool(self.pattern and self.pattern.fullmatch(value))

    def behind_value(self) -> State:
        """Return the state after a value."""
        if self._behind_value is None:
            self._behind_value = State(self.element + VALUE)
        return self._behind_value


@dataclass(frozen=True, slots=True)
class Transition:
    """The pieces that a literal text completes, the values in them, and the state after it.

    ``None`` is the state of text, from which all transitions start: a reference back to it would
    keep states that were cleared until Python looks for cycles, which it seldom does.
    """

    pieces: Sequence[Piece]
    values: int
    state: State | None


_UNCLEAR = Transition((), 0, None)


class MarkupChunks:
    """Divides the chunks of templates whose literal links are marked."""

    def __init__(self, base_url: str, *, amp: bool) -> None:
        self._base_url = html.escape(base_url)
        self._amp = amp
        self._clear()

    def _clear(self) -> None:
        self._text = State()
        self._count = self._size = 0

    def assembled(self, chunks: Chunks, issuer: MessageTokens) -> Assembled:
        """Return the part with tracked links. Raises :class:`Unclear`."""
        texts: list[str] = []
        begin = end = None
        message, tag = issuer.text, issuer.tag
        for pieces, values in self._divided(chunks):
            for piece in pieces:
                if isinstance(piece, str):
                    texts.append(piece)
                elif isinstance(piece, TrackedLink):
                    texts.append(f"{message}{piece.middle}{tag(piece.link)}")
                elif isinstance(piece, int):
                    texts.append(values[piece])
                elif isinstance(piece, OwnLink):
                    link = piece.part(values[piece.first : piece.first + piece.count])
                    texts.append(f"{message}.{link.text}.{tag(link)}")
                else:
                    if piece is Bound.BODY_END:
                        end = len(texts)
                    elif begin is None:
                        begin = len(texts)
                    texts.append("")
        texts.append("")
        return Assembled(texts, begin, len(texts) - 1 if end is None else end)

    def _divided(self, chunks: Chunks) -> Iterator[tuple[Sequence[Piece], Sequence[str]]]:
        """Yield pieces and the values that they refer to, in order. Raises :class:`Unclear`."""
        state, literals = self._text, chunks.literals
        values: list[str] = []
        for chunk in chunks.texts:
            transition = state.transitions.get(chunk)
            if transition is _UNCLEAR:
                raise Unclear
            if transition is None:
                if not state.element:
                    if state.accepts(chunk):
                        yield (chunk,), ()
                        continue
                elif chunk not in literals and state.accepts(chunk):
                    values.append(chunk)
                    state = state.behind_value()
                    continue
                transition = self._remembered(state, chunk)
            yield transition.pieces, values
            if transition.values:
                values = values[transition.values :]
            state = transition.state or self._text
        if state.element:
            raise Unclear

    def _remembered(self, state: State, text: str) -> Transition:
        self._size += len(state.element) + len(text)
        self._count += 1
        if self._count > _TRANSITIONS or self._size > _CHARACTERS:
            self._clear()  # the states in use live on until their message is finished
        state.transitions[text] = _UNCLEAR
        transition = state.transitions[text] = self._analysed(state, text)
        return transition

    def _analysed(self, state: State, text: str) -> Transition:
        is_long = state.values > _MOST_VALUES or len(state.element) > _LONGEST_ELEMENT
        if is_long or VALUE in text:
            raise Unclear
        joined = state.element + text
        tags, end = _finished_tags(joined)
        pieces: list[Piece] = list(merged(self._pieces(joined[:end], tags)))
        following = State(joined[end:]) if end < len(joined) else None
        values = state.values - (following.values if following else 0)
        return Transition(pieces, values, following)

    def _pieces(self, text: str, tags: Iterable[Tag]) -> Iterator[Piece]:
        counter = _ValueCounter()
        position = 0
        for tag in tags:
            start = tag.end if tag.name == "body" else tag.start
            yield from counter.pieces(text[position:start])
            position = start
            if tag.name == "body":
                yield Bound.BODY_START
            elif tag.name == "/body":
                yield Bound.BODY_END
            else:
                yield from self._link(text[tag.start : tag.end], counter)
                position = tag.end
        yield from counter.pieces(text[position:])

    def _link(self, tag: str, counter: _ValueCounter) -> Iterator[Piece]:
        """Yield the pieces of the start tag of a link."""
        before, href, after, options = without_options(tag)
        if VALUE in "".join(options.values()):
            raise Unclear
        url = href.strip(BLANKS)
        if not url.startswith(MARK):
            yield from counter.pieces(before + href + after)
            return
        if before.count(VALUE) + href.count(VALUE) + after.count(VALUE) != tag.count(VALUE):
            raise Unclear
        yield from counter.pieces(before)
        yield from self._target(url.replace(MARK, ""), href, links.read_options(options), counter)
        yield from counter.pieces(after)

    def _target(
        self, url: str, href: str, options: LinkOptions, counter: _ValueCounter
    ) -> Iterator[Piece]:
        if not options.tracked:
            yield from counter.pieces(href)
            return
        has_values = VALUE in url
        if has_values and (_DEPENDS_ON_VALUES.search(url) or href.replace(MARK, "") != url):
            raise Unclear
        link = links.link(decode(url), options, amp=self._amp)
        tracked = links.tracked(self._base_url, link)
        if has_values:
            if tracked is None or link is None or link.target.count(VALUE) != url.count(VALUE):
                raise Unclear
            yield tracked.start
            yield OwnLink(tracked.start, link, counter.count)
            counter.count += url.count(VALUE)
        elif tracked is None:
            yield href.replace(MARK, "")
        else:
            yield tracked.start
            yield TrackedLink(tracked.link)


class _ValueCounter:
    """Numbers the values of an element, in order."""

    def __init__(self) -> None:
        self.count = 0

    def pieces(self, text: str) -> Iterator[Piece]:
        """Yield a text without marks, and the numbers of the values in it."""
        first, *others = text.replace(MARK, "").split(VALUE)
        yield first
        for other in others:
            yield self.count
            self.count += 1
            yield other


def _finished_tags(text: str) -> tuple[list[Tag], int]:
    """Return the tags of markup, and the start of its last element if that is unfinished."""
    tags: list[Tag] = []
    try:
        for tag in markup.tags(text):
            tags.append(tag)
    except Unfinished as last:
        return tags, last.start
    return tags, len(text) - text.endswith("<")


def merged(pieces: Iterable[_P | str]) -> Iterator[_P | str]:
    """Join neighbouring texts, and drop empty ones."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if text := "".join(texts):
            yield text
        texts.clear()
        yield piece
    if text := "".join(texts):
        yield text
