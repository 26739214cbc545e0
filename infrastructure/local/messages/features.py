"""Find the features of HTML and CSS that a message uses, as caniemail.com names them.

Each comes with an example, so that what mail clients do not support can be changed at its source.
The rules are simple: what only a browser could decide, such as whether a style sheet applies, is
taken as used. Work grows with the length of the HTML and no faster, since anybody may send it.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from infrastructure.local.messages.css import Declaration, Style, read_style
from infrastructure.local.messages.feature_names import (
    AT_RULES,
    ATTRIBUTES,
    BUTTONS,
    CONDITIONS,
    ELEMENTS,
    FUNCTIONS,
    IMAGES,
    INPUTS,
    KEYWORDS,
    PAIRS,
    PROPERTIES,
    PSEUDO,
    SELECTORS,
    SHORTHANDS,
    UNITS,
)
from infrastructure.local.messages.links import is_pixel
from infrastructure.local.messages.markup_reader import MarkupReader

# More than any client shows
_MOST_CHARACTERS = 1_000_000
_LONGEST_EXAMPLE = 80

Attributes = dict[str, str]

# Each name is tried where it begins only, so that long ones are read once
_FUNCTION = re.compile(r"(?<![a-z-])[a-z-]+(?=\()")
_UNIT = re.compile(r"\d(%|[a-z]+)")
_COLOR = re.compile(r"#[0-9a-f]+")
_PSEUDO_NAME = re.compile(r":([a-z-]+)")
_WORD = re.compile(r"!?(?<![a-z-])[a-z-]+")
_IN_PARENTHESES = re.compile(r"\[[^\[\]]*\]|\([^()]*\)")


class Feature(NamedTuple):
    """A feature, how often it is used, and its first use."""

    feature: str
    uses: int
    example: str


def features_of(html: str | None) -> list[Feature]:
    """Return the features that HTML uses, in the order of their first use."""
    return _Finder(html or "").features()


class _Finder(MarkupReader):
    """Collect the features of a document."""

    def __init__(self, html: str) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, str] = {}
        self._style: list[str] | None = None
        self.read(html[:_MOST_CHARACTERS])
        self._end_style()

    def features(self) -> list[Feature]:
        """Return them as they were found."""
        return [Feature(name, self._counts[name], self._examples[name]) for name in self._counts]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect an element, its attributes and its style."""
        attributes = {name: value or "" for name, value in attrs}
        if tag == "img" and is_pixel(attributes.get("src", "")):
            return  # it is the service's, and is not there to be seen
        example = f"<{tag}>"
        if tag in ELEMENTS:
            self._add(ELEMENTS[tag], example)
        for name, value in attributes.items():
            if name in ATTRIBUTES:
                self._add(ATTRIBUTES[name], f'<{tag} {name}="{value}">')
        self._special(tag, attributes)
        if tag in ("img", "source", "video", "link", "input"):
            self._image(attributes.get("src", ""))
        if "background" in attributes:
            self._image(attributes["background"])
        if style := attributes.get("style"):
            self._add_style(read_style(style, bare=True))
        if tag == "style":
            self._style = []

    def handle_endtag(self, tag: str) -> None:
        """Read a style sheet that ends."""
        if tag == "style":
            self._end_style()

    def handle_data(self, data: str) -> None:
        """Collect the text of a style sheet."""
        if self._style is not None:
            self._style.append(data)

    def handle_comment(self, data: str) -> None:
        """Collect a comment, those for Outlook among them."""
        self._add("html-comments", f"<!--{data.strip()}-->")

    def handle_decl(self, decl: str) -> None:
        """Collect the doctype of HTML5."""
        if decl.lower() == "doctype html":
            self._add("html-doctype", f"<!{decl}>")

    def _special(self, tag: str, attributes: Attributes) -> None:
        kind, target = attributes.get("type", "").lower(), attributes.get("href", "").strip()
        if tag == "input" and (kind or "text") in INPUTS:
            self._add(f"html-input-{kind or 'text'}", f'<input type="{kind}">')
        elif tag == "button" and kind in BUTTONS:
            self._add(f"html-button-{kind}", f'<button type="{kind}">')
        elif tag == "a" and target.startswith("#"):
            self._add("html-anchor-links", f'<a href="{target}">')
        elif tag == "a" and target.lower().startswith("mailto:"):
            self._add("html-mailto-links", f'<a href="{target}">')
        elif tag == "meta" and attributes.get("name", "").lower() == "color-scheme":
            self._add("html-meta-color-scheme", '<meta name="color-scheme">')

    def _image(self, url: str) -> None:
        url = url.strip()[:_LONGEST_EXAMPLE] if url.strip()[:5].lower() == "data:" else url.strip()
        if url[:5].lower() == "data:":
            self._add("image-base64", url)
            name = url[5:].partition(";")[0].partition("/")[2].partition("+")[0]
        else:
            name = _path(url).rpartition("/")[2].rpartition(".")[2]
        if name.lower() in IMAGES:
            self._add(IMAGES[name.lower()], url)

    def _end_style(self) -> None:
        if self._style is not None:
            self._add_style(read_style("".join(self._style)))
            self._style = None

    def _add_style(self, style: Style) -> None:
        if style.comments:
            self._add("css-comments", "/* … */", style.comments)
        if style.nested:
            self._add("css-nesting", style.nested[0], len(style.nested))
        for rule in style.at_rules:
            self._at_rule(rule)
        for selector in style.selectors:
            self._selector(selector)
        for declaration in style.declarations:
            self._declaration(declaration)
        for url in style.urls:
            self._image(url)

    def _at_rule(self, rule: str) -> None:
        name, _, condition = rule.partition(" ")
        name = name.partition("(")[0].removeprefix("@").removeprefix("-webkit-")
        if name in AT_RULES:
            self._add(AT_RULES[name], rule)
        if name == "media":
            for text, slug in CONDITIONS.items():
                if text in condition or text in rule:
                    self._add(slug, rule)

    def _selector(self, selector: str) -> None:
        for name in dict.fromkeys(_PSEUDO_NAME.findall(selector)):
            if name in PSEUDO:
                self._add(PSEUDO[name], selector)
        # What is in brackets has signs of its own
        plain = _IN_PARENTHESES.sub(lambda match: "[]" if match[0][0] == "[" else "", selector)
        for pattern, slug in SELECTORS:
            if pattern.search(plain):
                self._add(slug, selector)

    def _declaration(self, declaration: Declaration) -> None:
        name, value = declaration
        example = f"{name}: {value}"
        if name.startswith("--"):
            self._add("css-variables", example)
        elif slug := _property(name):
            self._add(slug, example)
        words = dict.fromkeys(_WORD.findall(value))
        pairs = (PAIRS.get((name, word)) for word in words)
        keywords = (KEYWORDS.get(word) for word in words)
        functions = (FUNCTIONS.get(each) for each in _FUNCTION.findall(value))
        for slug in dict.fromkeys((*pairs, *keywords, *functions, *_units(value))):
            if slug:
                self._add(slug, example)

    def _add(self, feature: str, example: str, count: int = 1) -> None:
        self._counts[feature] = self._counts.get(feature, 0) + count
        self._examples.setdefault(feature, example[:_LONGEST_EXAMPLE])


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _property(name: str) -> str | None:
    """Return the feature of a property, or of the shorthand that it is a part of."""
    if name in PROPERTIES:
        return PROPERTIES[name]
    shorthand = next((each for each in SHORTHANDS if name.startswith(f"{each}-")), None)
    return PROPERTIES[shorthand] if shorthand else None


def _units(value: str) -> list[str]:
    units = dict.fromkeys(_UNIT.findall(_COLOR.sub("", value)))
    return [
        "css-unit-percent" if unit == "%" else f"css-unit-{unit}"
        for unit in units
        if unit == "%" or unit in UNITS
    ]
