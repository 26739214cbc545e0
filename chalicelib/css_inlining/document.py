"""Read html for inlining: its start tags, and its style sheets; write style attributes into it.

Nothing else of the html changes: no entity, no conditional comment, no DOCTYPE.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from chalicelib.tracking.markup import BLANKS, Tag, attributes, start_tags

_CONDITION: Final = re.compile(r"<!(?:--)?\[if[^<>\]]*+\]>|<!\[endif\]", re.IGNORECASE)
_END_TAG: Final = re.compile(r"</style[^>]*>?", re.IGNORECASE)
#: Elements that show nothing
_INVISIBLE: Final = frozenset(
    ("head", "title", "base", "link", "meta", "style", "script", "noscript", "template", "param")
)
_SHORT: Final = 500


@dataclass(frozen=True, slots=True, eq=False)
class StyleElement:
    """A style element: where it begins and ends, and where its content does."""

    start: int
    content_start: int
    content_end: int
    end: int
    attributes: Mapping[str, str]

    @property
    def is_kept(self) -> bool:
        """Tell whether its content stays, though it is inlined as well."""
        return self.attributes.get("data-css-inline") == "keep"

    @property
    def applies_to_screens(self) -> bool:
        """Tell whether its rules are css, apply to all screens and are to be inlined."""
        values = self.attributes
        media = [each.strip().lower() for each in values.get("media", "").split(",")]
        is_css = values.get("type", "").strip().lower() in ("", "text/css")
        for_screens = any(each in ("", "all", "screen") for each in media)
        is_excluded = values.get("data-css-inline") == "ignore" or "data-embed" in values
        return is_css and for_screens and not is_excluded


class Document:
    """The start tags and style elements of html."""

    def __init__(self, html: str) -> None:
        self.html = html
        tags = list(start_tags(html))
        self.tags = [tag for tag in tags if tag.name not in _INVISIBLE]
        self.style_elements = [self._style_element(tag) for tag in tags if tag.name == "style"]

    def inlinable(self) -> list[StyleElement]:
        """Return the style elements whose rules are for all programs that show the html.

        Those within a conditional are for some only.
        """
        places = [(each.start(), each[0].lower()) for each in _CONDITION.finditer(self.html)]

        def is_conditional(element: StyleElement) -> bool:
            number = bisect_right(places, (element.start, ""))
            return number > 0 and not places[number - 1][1].endswith("endif]")

        elements = [each for each in self.style_elements if each.applies_to_screens]
        return [each for each in elements if not is_conditional(each)]

    def numbered(self, name: str) -> str:
        """Return the html with the number of each start tag as an attribute ``name``.

        Style attributes are absent.
        """
        html, position = self.html, 0
        pieces: list[str] = []
        for number, (_, start, end) in enumerate(self.tags):
            parts = _parts(html[start:end])
            pieces += (html[position:start], parts.bare, f' {name}="{number}"', parts.bare_end)
            position = end
        return "".join([*pieces, html[position:]])

    def style_of(self, number: int) -> str:
        """Return the value of a tag's style attribute as written, empty without one."""
        _, start, end = self.tags[number]
        return _parts(self.html[start:end]).style

    def rewritten(self, styles: Mapping[int, str], sheets: Mapping[StyleElement, str]) -> str:
        """Return the html with new values of style attributes, and contents of style elements.

        A style element without content is left out.
        """
        html, position = self.html, 0
        changes = [
            (self.tags[number].start, self._with_style(number, styles[number])) for number in styles
        ]
        changes += [(each.start, self._with_content(each, sheets[each])) for each in sheets]
        pieces: list[str] = []
        for start, (text, end) in sorted(changes):
            pieces += (html[position:start], text)
            position = end
        return "".join([*pieces, html[position:]])

    def _with_style(self, number: int, style: str) -> tuple[str, int]:
        """Return a start tag with a style attribute, and its end in the html."""
        _, start, end = self.tags[number]
        parts = _parts(self.html[start:end])
        return f'{parts.before} style="{style}"{parts.end}', end

    def _with_content(self, element: StyleElement, content: str) -> tuple[str, int]:
        """Return a style element with other content, and its end in the html."""
        opening = self.html[element.start : element.content_start]
        ending = self.html[element.content_end : element.end]
        return f"{opening}{content}{ending}" if content else "", element.end

    def _style_element(self, tag: Tag) -> StyleElement:
        match = _END_TAG.search(self.html, tag.end)
        end = (match.start(), match.end()) if match else (len(self.html), len(self.html))
        values = dict(_first_values(self.html[tag.start : tag.end]))
        return StyleElement(tag.start, tag.end, *end, values)


def _first_values(tag: str) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a tag, the first one of a name last: it counts."""
    for attribute in reversed(list(attributes(tag))):
        yield attribute.name, attribute.value or ""


class _Parts(NamedTuple):
    """A start tag: ``before`` its style attribute, the ``style`` as written, and its ``end``.

    ``bare`` and ``bare_end`` are the tag without that attribute, before and after a further one.
    """

    before: str
    style: str
    end: str
    bare: str
    bare_end: str


def _parts(tag: str) -> _Parts:
    """Divide a start tag. Most tags of a message are short, and there again in the next one."""
    return _short_parts(tag) if len(tag) <= _SHORT else _parts_of(tag)


def _parts_of(tag: str) -> _Parts:
    style = None
    if "style" in tag.lower():
        style = next((each for each in attributes(tag) if each.name == "style"), None)
    if style is None:
        bare, end = _divided(tag)
        return _Parts(bare, "", end, bare, end)
    before, end = tag[: style.start], tag[style.end :]
    if end[:1] not in (">", "/", *BLANKS):
        end = f" {end}"
    return _Parts(before, style.value or "", end, *_divided(before + end))


_short_parts = lru_cache(maxsize=5000)(_parts_of)


def _divided(tag: str) -> tuple[str, str]:
    """Divide a start tag before its end, and before a slash that belongs to no value."""
    end = len(tag) - 1
    if tag[end - 1] == "/" and ("=" not in tag or tag[end - 2] in f"\"'{BLANKS}"):
        end -= 1
    place = len(tag[:end].rstrip(BLANKS))
    return tag[:place], tag[place:]
