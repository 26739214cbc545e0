"""Count on how many elements of HTML each feature is that the HTML check tests.

The features are those that Mailpit tests, by caniemail's names, and they are counted in its way, so
that a score is comparable: style sheets are inlined first, and a property counts once for each
element that has it in its style. Only the property itself counts, not its longhands.

Unlike Mailpit, no remote style sheet is loaded: it would tell a stranger who looks at the message.
Its elements are those of the start tags, with the ``tbody`` that browsers add to a table.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final
from urllib.parse import urlsplit

from infrastructure.local.messages.css import Declaration, read_style
from infrastructure.local.messages.feature_names import (
    AT_RULES,
    IMAGES,
    INPUTS,
    PSEUDO,
)
from infrastructure.local.messages.markup_reader import MarkupReader

#: More than any client shows
MOST_CHARACTERS: Final = 1_000_000
SCRIPT: Final = "html-script"

_ELEMENT_NAMES = """
audio base dialog form hr link meter object picture progress select style svg textarea video
"""
_ELEMENTS = {name: f"html-{name}" for name in _ELEMENT_NAMES.split()}
_ELEMENTS |= {"embed": "html-object", "map": "html-image-maps"}
_SEMANTIC = """
article aside details figcaption figure footer header main mark nav section summary time
"""
_ELEMENTS |= dict.fromkeys(_SEMANTIC.split(), "html-semantics")

_PROPERTY_NAMES = """
accent-color align-items aspect-ratio background background-blend-mode background-clip
background-color background-image background-origin background-position background-repeat
background-size border border-image border-radius box-shadow box-sizing caption-side clip-path
column-count direction display filter flex-direction flex-wrap float font font-kerning font-weight
gap grid-template height hyphens inline-size justify-content letter-spacing line-height
list-style list-style-image list-style-position margin margin-inline max-block-size max-height
max-width min-height min-inline-size min-width mix-blend-mode object-fit object-position opacity
outline outline-offset overflow overflow-wrap padding position tab-size table-layout text-align
text-align-last text-decoration text-decoration-color text-decoration-thickness text-emphasis
text-emphasis-position text-indent text-overflow text-shadow text-transform text-underline-offset
transform visibility white-space width word-break writing-mode z-index
"""
_PROPERTIES = {name: f"css-{name}" for name in _PROPERTY_NAMES.split()}
# These two are no names of caniemail, though properties
_PROPERTIES |= {"margin-inline": "css-margin-inline-block", "scroll-snap": "css-scroll-snap"}
_PROPERTIES |= {
    "block-size": "css-block-inline-size",
    "border-inline": "css-border-inline-block-individual",
    "columns": "css-column-layout-properties",
}
_PROPERTIES |= {
    f"{box}-{axis}-{end}": f"css-{box}-{axis}-start-end"
    for box in ("margin", "padding")
    for axis in ("inline", "block")
    for end in ("start", "end")
}
_FUNCTIONS = {
    "calc": "css-unit-calc",
    "conic-gradient": "css-conic-gradient",
    "radial-gradient": "css-radial-gradient",
    "rgb": "css-rgb",
    "rgba": "css-rgba",
}
_DISPLAYS = {"flex": "css-display-flex", "grid": "css-display-grid", "none": "css-display-none"}
_UNITS = ("ch", "rem", "vh", "vmax", "vmin", "vw")
#: Attributes that stand for a property; each counts once for the whole message
_ATTRIBUTES = {
    "background": "css-background",
    "bgcolor": "css-background-color",
    "border": "css-border",
    "height": "css-height",
    "padding": "css-padding",
    "width": "css-width",
}
_IMAGES = {name: slug for name, slug in IMAGES.items() if slug not in ("image-jpg", "image-png")}
_IMAGES |= {"ppm": "image-ppm"}
_INPUTS = {kind: f"html-input-{kind}" for kind in INPUTS if kind != "reset"}
_NO_CODE = ("application/ld+json", "application/json")

TESTED: Final = frozenset(
    (
        *_ELEMENTS.values(),
        *_PROPERTIES.values(),
        *_FUNCTIONS.values(),
        *_DISPLAYS.values(),
        *_ATTRIBUTES.values(),
        *_IMAGES.values(),
        *_INPUTS.values(),
        *AT_RULES.values(),
        *PSEUDO.values(),
        *(f"css-unit-{unit}" for unit in (*_UNITS, "initial")),
        "css-important",
        "css-modern-color",
        "css-variables",
        "html-anchor-links",
        "html-body",
        "html-button-reset",
        "html-button-submit",
        "html-image-maps",
        "html-required",
        "html-srcset",
        "image-base64",
        SCRIPT,
    )
)

# Each is tried where it begins only, so that long texts are read once
_FUNCTION = re.compile(r"(?<![a-z-])[a-z-]+(?=\()")
_UNIT = re.compile(r"(?<![\w#])[0-9.]*[0-9](ch|rem|vh|vmax|vmin|vw)\b")
_PSEUDO_NAME = re.compile(r":([a-z-]+)")
_SECTIONS = ("tbody", "thead", "tfoot")


class HtmlUses(MarkupReader):
    """The counts of features in HTML, and the number of its elements."""

    def __init__(self, html: str, inlined: str) -> None:
        """``inlined`` is the same HTML with its style sheets in the elements."""
        self.counts: Counter[str] = Counter()
        self.nodes = 0
        self._has_body = "</body>" in html.lower()
        self._in_body = False
        self._style: list[str] | None = None
        self._tables: list[bool] = []
        self.read(html[:MOST_CHARACTERS])
        self._end_style()
        if self._has_body:
            self.counts["html-body"] = 1
            self.nodes += 1
        _ElementStyles(self.counts).read(inlined[:MOST_CHARACTERS])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element, and what is special in it."""
        attributes = {name: value or "" for name, value in attrs}
        self._count_node(tag)
        if tag in _ELEMENTS:
            self.counts[_ELEMENTS[tag]] += 1
        self._attributes(tag, attributes)
        if tag == "img" and "src" in attributes:
            self._image(attributes["src"])
        if tag == "style":
            self._style = []

    def handle_endtag(self, tag: str) -> None:
        """Read a style sheet that ends."""
        if tag == "style":
            self._end_style()
        elif tag == "table" and self._tables:
            self._tables.pop()
        elif tag in _SECTIONS and self._tables:
            self._tables[-1] = False

    def handle_data(self, data: str) -> None:
        """Collect the text of a style sheet."""
        if self._style is not None:
            self._style.append(data)

    def _count_node(self, tag: str) -> None:
        """Count an element; without a body in the HTML, those of the head do not count."""
        if tag in ("html", "head", "meta", "body"):
            return
        if tag not in ("base", "link", "style", "title", "script"):
            self._in_body = True
        if self._has_body or self._in_body or tag == "script":
            self.nodes += 1
        if tag == "table":
            self._tables.append(False)
        elif tag in _SECTIONS and self._tables:
            self._tables[-1] = True
        elif tag == "tr" and self._tables and not self._tables[-1]:
            self._tables[-1] = True
            self.nodes += 1

    def _attributes(self, tag: str, attributes: dict[str, str]) -> None:
        kind = attributes.get("type", "").strip().lower()
        slugs = [f"html-{name}" for name in ("required", "srcset") if name in attributes]
        if tag == "script" and kind not in _NO_CODE:
            slugs.append(SCRIPT)
        elif tag == "a" and attributes.get("href", "").strip().startswith("#"):
            slugs.append("html-anchor-links")
        elif tag == "img" and "usemap" in attributes:
            slugs.append("html-image-maps")
        elif tag == "input" and (kind or "text") in _INPUTS:
            slugs.append(_INPUTS[kind or "text"])
        elif tag == "button" and kind in ("reset", "submit"):
            slugs.append(f"html-button-{kind}")
        self.counts.update(slugs)
        for name in attributes.keys() & _ATTRIBUTES.keys():
            self.counts[_ATTRIBUTES[name]] = 1

    def _image(self, url: str) -> None:
        url = url.strip()
        if url[:11].lower() == "data:image/":
            self.counts["image-base64"] += 1
            return
        try:
            name = urlsplit(url).path.rpartition(".")[2].lower()
        except ValueError:
            return
        if name in _IMAGES:
            self.counts[_IMAGES[name]] += 1

    def _end_style(self) -> None:
        if self._style is None:
            return
        style = read_style("".join(self._style))
        self._style = None
        for rule in style.at_rules:
            name = rule.partition(" ")[0].partition("(")[0].removeprefix("@")
            if slug := AT_RULES.get(name.removeprefix("-webkit-")):
                self.counts[slug] += 1
        for selector in style.selectors:
            names = _PSEUDO_NAME.findall(selector)
            self.counts.update(PSEUDO[name] for name in names if name in PSEUDO)


class _ElementStyles(MarkupReader):
    """Count the features of style attributes, each once for an element."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count what is in the style of an element."""
        style = next((value for name, value in attrs if name == "style"), None)
        if not style:
            return
        slugs: set[str] = set()
        for declaration in read_style(style, bare=True).declarations:
            slugs.update(_features(declaration))
            # Units count each time, as there
            self._counts.update(f"css-unit-{unit}" for unit in _UNIT.findall(declaration.value))
        self._counts.update(slugs)


def _features(declaration: Declaration) -> set[str]:
    name, value = declaration
    features = {_FUNCTIONS[each] for each in _FUNCTION.findall(value) if each in _FUNCTIONS}
    if name in _PROPERTIES:
        features.add(_PROPERTIES[name])
    if name == "display" and value.split("!")[0].strip() in _DISPLAYS:
        features.add(_DISPLAYS[value.split("!")[0].strip()])
    if name.startswith("--"):
        features.add("css-variables")
    if value.startswith("initial"):
        features.add("css-unit-initial")
    if "!important" in value.replace(" ", ""):
        features.add("css-important")
    return features
