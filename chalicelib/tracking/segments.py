"""Markup cut into pieces: text that stays as it is, links to track, and the bounds of the body.

Most of a transmission's markup is the same for all recipients. So it is cut at its links into
segments, and what a segment consists of is remembered.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from chalicelib.tracking import links, markup
from chalicelib.tracking.entities import decode
from chalicelib.tracking.links import MARK
from chalicelib.tracking.markup import BLANKS, Tag, Unfinished
from chalicelib.tracking.tokens import LinkPart

# Where is only a matter of speed: a segment that does not end between two tags goes with the rest.
_CUT = re.compile(rf"(<!--.*?(?:-->|\Z)|<[aA](?:[rR][eE][aA])?[{BLANKS}/][^>]*(?:>|\Z))", re.DOTALL)
_MOST_REMEMBERED = 4000
_LARGEST_REMEMBERED = 1_000_000  # characters


class Bound(Enum):
    """A place in markup."""

    BODY_START = "behind the start tag of body"
    BODY_END = "before the end tag of body"
    UNFINISHED = "before what has no end and would swallow all that is put behind it"


class TrackedTag:
    """The start tag of a link to track.

    Its URL is ``before``, the token's message part, ``link.text`` between dots, and the tag; what
    follows is ``after``. ``untracked`` is the tag without our attributes and else as written.
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
    """Takes markup of one kind apart. ``marked``: only marked links are tracked."""

    def __init__(self, base_url: str, *, amp: bool, marked: bool) -> None:
        self._base_url = html.escape(base_url)
        self._amp = amp
        self._marked = marked
        self._known: dict[str, list[Piece]] = {}
        self._size = 0

    def pieces(self, text: str) -> Iterator[list[Piece]]:
        """Yield the pieces of markup, in order."""
        segments = _CUT.split(text)
        known = self._known
        for number, segment in enumerate(segments):
            found = known.get(segment)
            if found is None:
                try:
                    found = self._taken_apart(segment)
                except Unfinished:
                    yield self._rest("".join(segments[number:]))
                    return
                self._remember(segment, found)
            yield found

    def _remember(self, segment: str, found: list[Piece]) -> None:
        self._size += len(segment)
        if len(self._known) >= _MOST_REMEMBERED or self._size > _LARGEST_REMEMBERED:
            self._known.clear()
            self._size = len(segment)
        self._known[segment] = found

    def _taken_apart(self, text: str) -> list[Piece]:
        if "data-" not in text.lower() and (cut := markup.around_href(text)):
            return [self._piece(*cut, {})]  # the same as below, in less time
        return list(self._cut(text, list(markup.tags(text))))

    def _rest(self, text: str) -> list[Piece]:
        """Take apart what has no proper end; its last tag is none."""
        found: list[Tag] = []
        end = None
        try:
            for tag in markup.tags(text):
                found.append(tag)
        except Unfinished as last:
            end = last.start
        return list(self._cut(text, found, end))

    def _cut(self, text: str, tags: Iterable[Tag], end: int | None = None) -> Iterator[Piece]:
        """Yield the pieces of a text; ``end`` is where something begins that has none."""
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
                yield self._piece(*_without_options(text[tag.start : tag.end]))
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
        """Return a link's tag, or its text where it is not tracked."""
        before, after = self._unmarked(before), self._unmarked(after)
        untracked = before + self._unmarked(href) + after
        written = href.strip(BLANKS)
        if self._marked and not written.startswith(MARK):
            return untracked
        given = decode(self._unmarked(written))
        found = links.link(given, links.read_options(options), amp=self._amp)
        url = links.tracked(self._base_url, found)
        if url is None:
            return untracked
        return TrackedTag(before + url.start, url.link, after, untracked)


def _without_options(tag: str) -> tuple[str, str, str, dict[str, str]]:
    """Return a tag cut around the value of its ``href``, without the options, and the options.

    Of several attributes of one name the first counts. Without an ``href`` the whole tag comes
    first.
    """
    options: dict[str, str] = {}
    kept, values, position = [""], [""], 0
    for attribute in markup.attributes(tag):
        option = links.option_of(attribute.name)
        if option:
            options.setdefault(option, decode(attribute.value or ""))
            kept[-1] += tag[position : attribute.start]
            position = attribute.end
            if tag[position] not in f"{BLANKS}/>":  # the next attribute follows without a blank
                kept[-1] += " "
        elif attribute.name == "href" and attribute.value is not None and len(kept) == 1:
            kept[-1] += tag[position : attribute.value_start]
            position = attribute.value_start + len(attribute.value)
            kept.append("")
            values.append(attribute.value)
    kept[-1] += tag[position:]
    return kept[0], values[-1], "".join(kept[1:]), options
