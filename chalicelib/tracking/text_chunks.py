"""Rewrite rendered plain text chunk by chunk; the links of each literal chunk are found once.

The result is the same as that of :class:`~chalicelib.tracking.plain_text.TextLinks` for the joined
text, for templates whose literal links are marked. A URL may end several chunks after its start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chalicelib.core.text_url_ends import DEPENDS_ON_TEXT_BEFORE
from chalicelib.core.text_urls import URL_CHARACTERS, WHOLE_URL, urls
from chalicelib.mail_format import armor
from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking.link_pieces import TrackedLink, Unclear
from chalicelib.tracking.links import MARK
from chalicelib.tracking.literal_links import without_marks
from chalicelib.tracking.markup_chunks import merged
from chalicelib.tracking.plain_text import TextLinks
from chalicelib.tracking.tokens import MessageTokens

# The option after a URL or a part of it, and the beginning of an armored block
_BEYOND_CHUNKS = re.compile(rf"\[\[data-|\[\Z|\A\[|{armor.BEGIN}")
_CHUNKS = 4000
_CHARACTERS = 1_000_000


class _Divided(NamedTuple):
    """A literal text: the rest of a URL from an earlier text, its pieces, and a URL it begins.

    ``ends_url`` is false if the URL goes on in the next chunk; then the text is nothing but the
    rest of it. ``open_url`` is empty if no URL is open at its end. ``leans``: its first link may
    be a part of a URL that begins before the text, if no blank or the like ends that text.
    """

    rest: str
    ends_url: bool
    pieces: Sequence[str | TrackedLink]
    open_url: str
    leans: bool = False


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
        url = before = ""
        for chunk in chunks.texts:
            if chunk in chunks.literals or MARK in chunk:
                divided = self._divided(bool(url), chunk)
                if divided.leans and before and _end_of_characters(before[-1]):
                    raise Unclear
            else:
                divided = _value(bool(url), chunk)
            before = chunk or before
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

    def _own_link(self, text: str, issuer: MessageTokens) -> Sequence[str]:
        """Return a text that begins with a link, whose target contains values, with the link."""
        end = len(text)
        if not WHOLE_URL.fullmatch(text):
            start, end, limit = next(urls(text))
            if DEPENDS_ON_TEXT_BEFORE.search(text, start, limit + 1) or "://" in text[end:]:
                raise Unclear
        tracked = self._links.tracked(text[:end])
        if tracked is None:
            return (text,)
        return tracked.start, issuer.token_of(tracked.link), text[end:]

    def _divided(self, in_url: bool, text: str) -> _Divided:
        divided = self._cache.get((in_url, text))
        if divided is None:
            divided = self._analysed(in_url, text) or _UNCLEAR
            self._size += len(text)
            if len(self._cache) >= _CHUNKS or self._size > _CHARACTERS:
                self._cache.clear()
                self._size = len(text)
            self._cache[in_url, text] = divided
        if divided is _UNCLEAR:
            raise Unclear
        return divided

    def _analysed(self, in_url: bool, text: str) -> _Divided | None:
        if _BEYOND_CHUNKS.search(text):
            return None
        plain, positions = without_marks(text)
        if len(plain) in positions:  # a mark at the end, which is none of ours
            return None
        first_end = _end_of_characters(plain)
        position = first_end if in_url else 0
        rest, leans = plain[:position], False
        pieces: list[str | TrackedLink] = []
        if in_url and position == len(plain):
            return _Divided(rest, False, (), "")
        for start, end, limit in urls(plain, position):
            if DEPENDS_ON_TEXT_BEFORE.search(plain, start, limit + 1):
                return None
            if start not in positions:
                continue
            leans = leans or (start < first_end and not in_url)
            pieces.append(plain[position:start])
            if limit == len(plain):
                return _Divided(rest, True, list(merged(pieces)), plain[start:], leans)
            pieces += self._link(plain[start:end])
            position = end
        return _Divided(rest, True, list(merged([*pieces, plain[position:]])), "", leans)

    def _link(self, url: str) -> Iterator[str | TrackedLink]:
        tracked = self._links.tracked(url)
        if tracked is None:
            yield url
        else:
            yield tracked.start
            yield TrackedLink(tracked.link)


_UNCLEAR = _Divided("", True, (), "")


def _value(in_url: bool, value: str) -> _Divided:
    if "[" in value or armor.BEGIN in value:
        raise Unclear
    if not in_url:
        return _Divided("", True, (value,), "")
    end = _end_of_characters(value)
    return _Divided(value[:end], end < len(value), (value[end:],), "")


def _end_of_characters(text: str) -> int:
    """Return where the characters end that may continue a URL."""
    match = URL_CHARACTERS.match(text)
    return match.end() if match else 0
