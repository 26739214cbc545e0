"""Rewrite rendered markup whose literal chunks are those of an earlier message.

The messages of a transmission mostly differ in their values only. A *shape* holds what the
literals of such messages become, and where in the output their values and links are. So a message
costs a comparison of its literals, a check of its values, and its tokens, which are made together.

A message without a shape, or with a value that could change how its markup is read, is rewritten
chunk by chunk (:mod:`markup_chunks`), with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, itemgetter
from typing import NamedTuple

from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking.link_pieces import (
    SHORT_TARGET,
    OwnLink,
    TrackedLink,
    Unclear,
    is_safe_in_url,
)
from chalicelib.tracking.markup_chunks import MarkupChunks, Piece, State
from chalicelib.tracking.segments import Bound
from chalicelib.tracking.tokens import LinkPart, MessageTokens, encoded_links, kind_before

_MOST_LAYOUTS = 500  # numbers of chunks with the same literals
_MOST_ATTEMPTS = 8  # for each of them: the branches of a template may have the same length
_MOST_CHUNKS = 50_000

_Select = Callable[[Sequence[str]], Sequence[str]]


class Assembled(NamedTuple):
    """The texts of a new part, and the places of the start and the end of its body.

    At each of these is an empty text. Without a body tag, the start is ``None``, and the end is the
    last text.
    """

    texts: list[str]
    begin: int | None
    end: int


class _Layout:
    """The shapes with the same literals and number of chunks."""

    __slots__ = ("attempts", "shapes")

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.attempts = 0


class MarkupShapes:
    """The shapes of this process. Threads may share it: at worst a shape is learned twice."""

    def __init__(self, markup: MarkupChunks) -> None:
        self._markup = markup
        self._layouts: dict[tuple[int, frozenset[str]], _Layout] = {}
        self._count = 0

    def assembled(self, chunks: Chunks, issuer: MessageTokens) -> Assembled:
        """Return the part with tracked links. Raises :class:`Unclear`."""
        return self._by_shape(chunks, issuer) or _chunk_by_chunk(self._markup, chunks, issuer)

    def _by_shape(self, chunks: Chunks, issuer: MessageTokens) -> Assembled | None:
        """Return the part if its shape is known; learn its shape otherwise."""
        key = len(chunks.texts), chunks.literals
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._clear()
            layout = self._layouts[key] = _Layout()
        for shape in layout.shapes:
            if shape.is_of(chunks.texts):
                return shape.assembled(chunks.texts, issuer)
        if layout.attempts < _MOST_ATTEMPTS:
            layout.attempts += 1
            self._learn(chunks, layout)
        return None

    def _learn(self, chunks: Chunks, layout: _Layout) -> None:
        try:
            shape = _shape_of(self._markup, chunks)
        except Unclear:
            return
        self._count += len(chunks.texts)
        if self._count > _MOST_CHUNKS:
            self._clear()
            self._count = len(chunks.texts)
        layout.shapes.append(shape)

    def _clear(self) -> None:
        self._layouts.clear()
        self._count = 0


class Shape:
    """What the literals of a part become, and where its values and links are."""

    def __init__(self, texts: Sequence[str], outline: _Outline) -> None:
        self._literals_of = _selection(outline.literals)
        self._literals = self._literals_of(texts)
        self._checks = [
            (state.accepts, _selection(positions))
            for state, positions in outline.positions_by_pattern.values()
        ]
        self._texts = outline.texts
        self._values = outline.values
        self._bounds = outline.begin, len(self._texts) - 1 if outline.end is None else outline.end
        self._link_texts = [link.text for _, link in outline.links]
        self._signed = [link.signed for _, link in outline.links]
        self._link_places = [place for place, _ in outline.links]
        self._link_places += [link.place for link in outline.own_links]
        self._own_values_of = _selection([link.position for link in outline.own_links])
        self._own_links = [(link.before, link.after) for link in outline.own_links]
        self._kinds = [kind_before(link.kind) for link in outline.own_links]
        self._longest_value = SHORT_TARGET - max(
            (len(link.before) + len(link.after) for link in outline.own_links), default=0
        )

    def is_of(self, texts: Sequence[str]) -> bool:
        """Tell whether texts, as many as the shape's, have its literals."""
        return self._literals_of(texts) == self._literals

    def assembled(self, texts: Sequence[str], issuer: MessageTokens) -> Assembled | None:
        """Return the part; ``None`` if a value could change how the markup is read."""
        own_values = self._own_values_of(texts)
        if not self._accepts(texts, own_values):
            return None
        output = self._texts.copy()
        for place, position in self._values:
            output[place] = texts[position]
        own = encoded_links(
            before + value.encode() + after
            for (before, after), value in zip(self._own_links, own_values, strict=True)
        )
        links = [*self._link_texts, *map(bytes.decode, own)]
        tags = issuer.tags([*self._signed, *map(add, self._kinds, own)])
        message = issuer.text
        for place, link, tag in zip(self._link_places, links, tags, strict=True):
            output[place] = f"{message}.{link}.{tag}"
        return Assembled(output, *self._bounds)

    def _accepts(self, texts: Sequence[str], own_values: Sequence[str]) -> bool:
        """Check each different value once: a message has the same few in many places."""
        for accepts, values_of in self._checks:
            if not all(map(accepts, set(values_of(texts)))):
                return False
        return all(
            len(value) <= self._longest_value and is_safe_in_url(value) for value in set(own_values)
        )


class _OwnLink(NamedTuple):
    """A link with one value in its target.

    Its place in the output, the position of its value, its kind, and what is around the value where
    the link is packed.
    """

    place: int
    position: int
    kind: str
    before: bytes
    after: bytes


class _Outline:
    """The pieces of a part, as they are collected for its shape; places are those in ``texts``."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.literals: list[int] = []
        self.positions_by_pattern: dict[object, tuple[State, list[int]]] = {}
        self.values: list[tuple[int, int]] = []
        self.links: list[tuple[int, LinkPart]] = []
        self.own_links: list[_OwnLink] = []
        self.begin: int | None = None
        self.end: int | None = None
        self._ends_in_literal = False

    def add_value(self, position: int, state: State) -> None:
        """Add a value, which follows ``state``."""
        self.positions_by_pattern.setdefault(state.pattern, (state, []))[1].append(position)
        if not state.element:
            self.values.append((self._add_place(), position))

    def add_piece(self, piece: Piece, positions: Sequence[int]) -> None:
        """Add a piece; ``positions`` are those of the values of its element.

        Raises :class:`Unclear` for a link that no shape can have.
        """
        if isinstance(piece, str):
            if self._ends_in_literal:
                self.texts[-1] += piece
            else:
                self.texts.append(piece)
            self._ends_in_literal = True
            return
        place = self._add_place()
        if isinstance(piece, int):
            self.values.append((place, positions[piece]))
        elif isinstance(piece, TrackedLink):
            self.links.append((place, piece.link))
        elif isinstance(piece, OwnLink):
            around = piece.packed_around
            if around is None:
                raise Unclear
            self.own_links.append(_OwnLink(place, positions[piece.first], piece.kind, *around))
        elif piece is Bound.BODY_END:
            self.end = place
        elif self.begin is None:
            self.begin = place

    def close(self) -> None:
        """Add the empty text that ends a part."""
        self._add_place()

    def _add_place(self) -> int:
        self.texts.append("")
        self._ends_in_literal = False
        return len(self.texts) - 1


def _shape_of(markup: MarkupChunks, chunks: Chunks) -> Shape:
    """Return the shape of a part. Raises :class:`Unclear` if it can have none."""
    outline = _Outline()
    state = markup.start
    positions: list[int] = []  # of the values in the element that is not finished
    for position, chunk in enumerate(chunks.texts):
        if chunk in chunks.literals:
            outline.literals.append(position)
            transition = markup.transition(state, chunk)
            for piece in transition.pieces:
                outline.add_piece(piece, positions)
            if transition.values:
                positions = positions[transition.values :]
            state = transition.state
        elif not state.accepts(chunk):
            raise Unclear
        else:
            outline.add_value(position, state)
            if state.element:
                positions = [*positions, position]
                state = state.behind_value()
    if state.element:
        raise Unclear
    outline.close()
    return Shape(chunks.texts, outline)


def _chunk_by_chunk(markup: MarkupChunks, chunks: Chunks, issuer: MessageTokens) -> Assembled:
    """Return a part of which no shape is known."""
    texts: list[str] = []
    begin = end = None
    message, tag = issuer.text, issuer.tag
    for pieces, values in markup.pieces(chunks):
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


def _selection(positions: Sequence[int]) -> _Select:
    """Return what selects the texts at some positions."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda texts: tuple(texts[position] for position in positions)
