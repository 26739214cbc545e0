"""Rewrite rendered plain text chunk by chunk; the links of each literal chunk are found once.

The result is the same as that of :class:`~chalicelib.tracking.plain_text.TextLinks` for the joined
text, for templates whose literal links are marked. A URL may end several chunks after its start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking.link_pieces import TrackedLink, Unclear
from chalicelib.tracking.links import MARK
from chalicelib.tracking.markup_chunks import merged
from chalicelib.tracking.plain_text import URL, URL_REST, TextLinks
from chalicelib.tracking.tokens import MessageTokens

# The option after a URL, or a part of it
_OPTION = re.compile(r"\[\[data-|\[\Z|\A\[")
_CHUNKS = 4000
_CHARACTERS = 1_000_000


class _Divided(NamedTuple):
    """A literal text: the rest of a URL from an earlier text, its pieces, and a URL it begins.

    ``ends_url`` is false if the URL goes on in the next chunk; then the text is nothing but the
    rest of it. ``open_url`` is empty if no URL is open at its end.
    """

    rest: str
    ends_url: bool
    pieces: Sequence[str | TrackedLink]
    open_url: str


class TextChunks:
    """Rewrites the chunks of templates whose literal links are marked."""

    def __init__(self, links: TextLinks) -> None:
        self._links = links
        self._cache: dict[tuple[bool, str], _Divided] = {}
        self._size = 0

    def rewritten(self, chunks: Chunks, issuer: MessageTokens) -> Sequence[str]:
        """Return the texts of the part with tracked links. Raises :class:`Unclear`."""
        texts: list[str] = []
        places: list[int] = []
        links: list[TrackedLink] = []
        url = ""
        for chunk in chunks.texts:
            if chunk in chunks.literals or MARK in chunk:
                divided = self._divided(bool(url), chunk)
            else:
                divided = _value(bool(url), chunk)
            if url:
                url += divided.rest
                if not divided.ends_url:
                    continue
                texts += self._own_link(url, issuer)
            for piece in divided.pieces:
                if isinstance(piece, str):
                    texts.append(piece)
                else:
                    places.append(len(texts))
                    links.append(piece)
                    texts.append("")
            url = divided.open_url
        if url:
            texts += self._own_link(url, issuer)
        tags = issuer.tags([piece.link.signed for piece in links])
        for place, piece, tag in zip(places, links, tags, strict=True):
            texts[place] = f"{issuer.text}{piece.middle}{tag}"
        return texts

    def _own_link(self, url: str, issuer: MessageTokens) -> Sequence[str]:
        tracked = self._links.tracked(url)
        if tracked is None:
            return (url,)
        return tracked.before, issuer.token_of(tracked.link), tracked.rest

    def _divided(self, in_url: bool, text: str) -> _Divided:
        divided = self._cache.get((in_url, text))
        if divided is None:
            if _OPTION.search(text):
                raise Unclear
            divided = self._analysed(in_url, text)
            self._size += len(text)
            if len(self._cache) >= _CHUNKS or self._size > _CHARACTERS:
                self._cache.clear()
                self._size = len(text)
            self._cache[in_url, text] = divided
        return divided

    def _analysed(self, in_url: bool, text: str) -> _Divided:
        rest = ""
        if in_url:
            match = URL_REST.match(text)
            rest = match[0] if match else ""
            if len(rest) == len(text):
                return _Divided(text, False, (), "")
        first, *others = text[len(rest) :].split(MARK)
        pieces: list[str | TrackedLink] = [first]
        open_url = ""
        for number, other in enumerate(others, start=1):
            match = URL.match(other)
            if match is None:
                raise Unclear
            if number == len(others) and match.end() == len(other):
                open_url = other
            else:
                pieces += [*self._link(other[: match.end()]), other[match.end() :]]
        return _Divided(rest, True, list(merged(pieces)), open_url)

    def _link(self, url: str) -> Iterator[str | TrackedLink]:
        tracked = self._links.tracked(url)
        if tracked is None:
            yield url
        else:
            yield tracked.before
            yield TrackedLink(tracked.link)
            yield tracked.rest


def _value(in_url: bool, value: str) -> _Divided:
    if "[" in value:
        raise Unclear
    if not in_url:
        return _Divided("", True, (value,), "")
    match = URL_REST.match(value)
    rest = match[0] if match else ""
    ends = len(rest) < len(value)
    return _Divided(rest, ends, (value[len(rest) :],) if ends else (), "")
