"""Divide markup into pieces: unchanged text, links to track, and the bounds of the body.

Most markup of a transmission is the same for all recipients. So markup is divided at its links into
segments, and the pieces of each segment are cached.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from chalicelib.mail_format.entities import decode
from chalicelib.tracking import links, markup
from chalicelib.tracking.links import MARK
from chalicelib.tracking.markup import BLANKS, Tag, Unfinished
from chalicelib.tracking.tokens import LinkPart

# The places of the cuts only matter for speed: a segment that ends within a tag is joined with the
# rest.
_CUT = re.compile(rf"(<!--.*?(?:-->|\Z)|<[aA](?:[rR][eE][aA])?[{BLANKS}/][^>]*(?:>|\Z))", re.DOTALL)
_CACHE_ENTRIES = 4000
_CACHE_CHARACTERS = 1_000_000  # characters


class Bound(Enum):
    """A place in markup."""

    BODY_START = "after the start tag of body"
    BODY_END = "before the end tag of body"
    UNFINISHED = "before an element without an end, which would swallow all text after it"


class TrackedTag:
    """The start tag of a link to track.

    Its text is ``before``, the token's message part, ``link.text`` between dots, the token's tag,
    and ``after``. ``untracked`` is the tag as written, without our attributes.
    """

    __slots__ = ("after", "before", "link", "middle", "untracked")

    def __init__(self, before: str, link: LinkPart, after: str, untracked: str) -> None:
        self.before = before
        self.link = link
        self.middle = f".{link.text}."
        self.after = after
        self.untracked = untracked


Piece = str | TrackedTag | Bound


class Segments:
    """Divides markup of one kind. ``marked``: only marked links are tracked."""

    def __init__(self, base_url: str, *, amp: bool, marked: bool) -> None:
        self._base_url = html.escape(base_url)
        self._amp = amp
        self._marked = marked
        self._cache: dict[str, list[Piece]] = {}
        self._size = 0

    def pieces(self, text: str) -> Iterator[list[Piece]]:
        """Yield the pieces of markup, in order."""
        segments = _CUT.split(text)
        cache = self._cache
        for number, segment in enumerate(segments):
            pieces = cache.get(segment)
            if pieces is None:
                try:
                    pieces = self._divided(segment)
                except Unfinished:
                    yield self._rest("".join(segments[number:]))
                    return
                self._remember(segment, pieces)
            yield pieces

    def _remember(self, segment: str, pieces: list[Piece]) -> None:
        self._size += len(segment)
        if len(self._cache) >= _CACHE_ENTRIES or self._size > _CACHE_CHARACTERS:
            self._cache.clear()
            self._size = len(segment)
        self._cache[segment] = pieces

    def _divided(self, text: str) -> list[Piece]:
        if "data-" not in text.lower() and (cut := markup.around_href(text)):
            return [self._piece(*cut, {})]  # the same result as below, faster
        return list(self._cut(text, list(markup.tags(text))))

    def _rest(self, text: str) -> list[Piece]:
        """Divide markup that ends within an element; its last tag does not count."""
        tags: list[Tag] = []
        end = None
        try:
            for tag in markup.tags(text):
                tags.append(tag)
        except Unfinished as last:
            end = last.start
        return list(self._cut(text, tags, end))

    def _cut(self, text: str, tags: Iterable[Tag], end: int | None = None) -> Iterator[Piece]:
        """Yield the pieces of a text; ``end`` is the start of an element that has no end."""
        position = 0
        for tag in tags:
            start = tag.end if tag.name == "body" else tag.start
            if start > position:
                yield self._unmarked(text[position:start])
            position = start
            if tag.name == "body":
                yield Bound.BODY_START
            elif tag.name == "/body":
                yield Bound.BODY_END
            else:
                yield self._piece(*without_options(text[tag.start : tag.end]))
                position = tag.end
        if end is not None:
            yield self._unmarked(text[position:end])
            yield Bound.UNFINISHED
            position = end
        if position < len(text):
            yield self._unmarked(text[position:])

    def _unmarked(self, text: str) -> str:
        return text.replace(MARK, "") if self._marked else text

    def _piece(self, before: str, href: str, after: str, options: Mapping[str, str]) -> Piece:
        """Return a link's tag, or its text if it is not tracked."""
        before, after = self._unmarked(before), self._unmarked(after)
        untracked = before + self._unmarked(href) + after
        href_text = href.strip(BLANKS)
        if self._marked and not href_text.startswith(MARK):
            return untracked
        target = decode(self._unmarked(href_text))
        link = links.link(target, links.read_options(options), amp=self._amp)
        url = links.tracked(self._base_url, link)
        if url is None:
            return untracked
        return TrackedTag(before + url.start, url.link, after, untracked)


def without_options(tag: str) -> tuple[str, str, str, dict[str, str]]:
    """Return a tag cut around the value of its ``href``, without the options, and the options.

    If an attribute is repeated, the first one counts. Without an ``href`` the first text is the
    whole tag.
    """
    options: dict[str, str] = {}
    texts, values, position = [""], [""], 0
    for attribute in markup.attributes(tag):
        option = links.option_of(attribute.name)
        if option:
            options.setdefault(option, decode(attribute.value or ""))
            texts[-1] += tag[position : attribute.start]
            position = attribute.end
            if tag[position] not in f"{BLANKS}/>":  # the next attribute follows without a blank
                texts[-1] += " "
        elif attribute.name == "href" and attribute.value is not None and len(texts) == 1:
            texts[-1] += tag[position : attribute.value_start]
            position = attribute.value_start + len(attribute.value)
            texts.append("")
            values.append(attribute.value)
    texts[-1] += tag[position:]
    return texts[0], values[-1], "".join(texts[1:]), options
