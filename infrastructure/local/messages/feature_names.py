"""Name the features of caniemail.com that elements, attributes and CSS are.

A feature's name is the last part of its address, ``caniemail.com/features/<name>/``.
"""

from __future__ import annotations

import re

_ELEMENT_NAMES = """
abbr acronym address audio base bdi blockquote body code del dfn dialog div form hr img link
marquee meter object p picture pre progress rp rt ruby select small span strike strong style svg
table textarea video wbr
"""
_ATTRIBUTE_NAMES = """
align aria-describedby aria-hidden aria-label aria-labelledby aria-live background cellpadding
cellspacing dir height hidden lang popover required role target valign width
"""
_IMAGE_NAMES = """
apng avif bmp gif hdr ico jpg mp4 png svg tiff webp
"""
_PROPERTY_NAMES = """
accent-color align-items animation aspect-ratio backdrop-filter background background-blend-mode
background-clip background-color background-image background-origin background-position
background-repeat background-size border border-collapse border-image border-radius border-spacing
box-shadow box-sizing caption-side clear clip-path color-scheme column-count cursor direction
display empty-cells filter float font font-kerning font-size font-size-adjust font-stretch
font-weight grid-template height hyphenate-character hyphenate-limit-chars hyphens inline-size
inset justify-content letter-spacing line-height list-style list-style-image list-style-position
list-style-type margin mask-image max-block-size max-height max-inline-size max-width
min-block-size min-height min-inline-size min-width mix-blend-mode object-fit object-position
opacity orphans outline outline-offset overflow overflow-wrap padding position resize shape-margin
shape-outside tab-size table-layout text-align text-align-last text-decoration
text-decoration-color text-decoration-line text-decoration-skip-ink text-decoration-style
text-decoration-thickness text-emphasis text-emphasis-position text-indent text-justify
text-orientation text-overflow text-shadow text-transform text-underline-offset
text-underline-position text-wrap transform transition user-select vertical-align visibility
white-space white-space-collapse widows width word-break word-spacing word-wrap writing-mode
z-index
"""
_SHORTHAND_NAMES = """
animation border border-image column grid-template inset margin outline overflow padding
scroll-snap transition
"""
_UNIT_NAMES = """
ch cm em ex in mm pc pt px rem vh vmax vmin vw
"""
_CLASS_NAMES = """
active checked default first-child first-of-type focus focus-visible focus-within has hover lang
last-child last-of-type link not nth-child nth-last-child nth-last-of-type only-child only-of-type
target visited
"""

ELEMENTS = {name: f"html-{name}" for name in _ELEMENT_NAMES.split()}
ELEMENTS |= dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "html-h1-h6")
ELEMENTS |= dict.fromkeys(("ul", "ol", "dl"), "html-lists")
ELEMENTS |= {"map": "html-image-maps"}
_SEMANTIC = (
    "article aside details figcaption figure footer header main mark nav section summary time"
)
ELEMENTS |= dict.fromkeys(_SEMANTIC.split(), "html-semantics")

ATTRIBUTES = {name: f"html-{name}" for name in _ATTRIBUTE_NAMES.split()}
ATTRIBUTES |= {
    "inert": "css-inert-attribute",
    "loading": "html-loading-attribute",
    "sizes": "html-srcset",
    "srcset": "html-srcset",
}

INPUTS = ("checkbox", "hidden", "radio", "reset", "submit", "text")
BUTTONS = ("reset", "submit")
IMAGES = {name: f"image-{name}" for name in _IMAGE_NAMES.split()}
IMAGES |= {"heic": "image-heif", "heif": "image-heif", "jpeg": "image-jpg", "tif": "image-tiff"}

PROPERTIES = {name: f"css-{name}" for name in _PROPERTY_NAMES.split()}
PROPERTIES |= {"block-size": "css-block-inline-size"}
PROPERTIES |= dict.fromkeys(("gap", "row-gap"), "css-gap")
PROPERTIES |= dict.fromkeys(("left", "right", "top", "bottom"), "css-left-right-top-bottom")
PROPERTIES |= dict.fromkeys(("border-inline", "border-block"), "css-border-inline-block")
PROPERTIES |= {
    f"{box}-{axis}": f"css-{box}-inline-block"
    for box in ("margin", "padding")
    for axis in ("inline", "block")
}
PROPERTIES |= {
    f"{box}-{axis}-{end}": f"css-{box}-{axis}-start-end"
    for box in ("margin", "padding")
    for axis in ("inline", "block")
    for end in ("start", "end")
}
PROPERTIES |= {
    f"border-{axis}-{end}": "css-border-inline-block-individual"
    for axis in ("inline", "block")
    for end in ("start", "end")
}
PROPERTIES |= {
    f"border-{axis}-{part}": "css-border-inline-block-longhand"
    for axis in ("inline", "block")
    for part in ("color", "style", "width")
}
PROPERTIES |= {
    f"border-{row}-{column}-radius": slug
    for rows, columns, slug in (
        (("top", "bottom"), ("left", "right"), "css-border-radius"),
        (("start", "end"), ("start", "end"), "css-border-radius-logical"),
    )
    for row in rows
    for column in columns
}
#: Features whose longhands, such as ``margin-left``, have none of their own
SHORTHANDS = _SHORTHAND_NAMES.split()
PROPERTIES |= {"columns": "css-column-layout-properties", "column": "css-column-layout-properties"}
PROPERTIES |= {"scroll-snap": "css-scroll-snap", "column-gap": "css-gap"}

#: Features of one value of a property
PAIRS = {
    ("display", "flex"): "css-display-flex",
    ("display", "inline-flex"): "css-display-flex",
    ("display", "grid"): "css-display-grid",
    ("display", "inline-grid"): "css-display-grid",
    ("display", "none"): "css-display-none",
    ("flex-direction", "column"): "css-flex-direction",
    ("flex-wrap", "wrap"): "css-flex-wrap",
}
FUNCTIONS = {
    "calc": "css-unit-calc",
    "clamp": "css-function-clamp",
    "conic-gradient": "css-conic-gradient",
    "light-dark": "css-function-light-dark",
    "linear-gradient": "css-linear-gradient",
    "max": "css-function-max",
    "min": "css-function-min",
    "radial-gradient": "css-radial-gradient",
    "rgb": "css-rgb",
    "rgba": "css-rgba",
    "var": "css-variables",
}
FUNCTIONS |= dict.fromkeys(("lch", "oklch", "lab", "oklab"), "css-modern-color")
UNITS = _UNIT_NAMES.split()
KEYWORDS = {"!important": "css-important", "initial": "css-unit-initial"}
KEYWORDS |= dict.fromkeys(("fit-content", "min-content", "max-content"), "css-intrinsic-size")
#: Spelled as on caniemail.com
_SYSTEM_FONTS = ["system-ui", "ui-serif", "ui-sans-serif", "ui-rounded", "ui-monospace"]
KEYWORDS |= dict.fromkeys(_SYSTEM_FONTS, "css-sytem-ui")

AT_RULES = {
    "font-face": "css-at-font-face",
    "import": "css-at-import",
    "keyframes": "css-at-keyframes",
    "media": "css-at-media",
    "supports": "css-at-supports",
}
CONDITIONS = {
    "device-pixel-ratio": "css-at-media-device-pixel-ratio",
    "hover": "css-at-media-hover",
    "orientation": "css-at-media-orientation",
    "prefers-color-scheme": "css-at-media-prefers-color-scheme",
    "prefers-reduced-motion": "css-at-media-prefers-reduced-motion",
}
PSEUDO = {name: f"css-pseudo-class-{name}" for name in _CLASS_NAMES.split()}
PSEUDO |= {"nth-of-type": "css-pseudo-class-nth-of-type"}
PSEUDO |= {
    name: f"css-pseudo-element-{name}"
    for name in ("after", "before", "first-letter", "first-line", "marker", "placeholder")
}
SELECTORS = (
    (re.compile(r"\+"), "css-selector-adjacent-sibling"),
    (re.compile(r"\["), "css-selector-attribute"),
    (re.compile(r"[.#][\w-]+[.#]"), "css-selector-chaining"),
    (re.compile(r">"), "css-selector-child"),
    (re.compile(r"\.[a-z_-]"), "css-selector-class"),
    (re.compile(r"[\w\])*] +[\w.#\[:*]"), "css-selector-descendant"),
    (re.compile(r"~(?!=)"), "css-selector-general-sibling"),
    (re.compile(r","), "css-selector-grouping"),
    (re.compile(r"#[a-z_-]"), "css-selector-id"),
    (re.compile(r"(?:^|[ >+~,])[a-z]"), "css-selector-type"),
    (re.compile(r"\*(?!=)"), "css-selector-universal"),
)
#: Every feature that can be found
FEATURES = frozenset(
    (
        *ELEMENTS.values(),
        *ATTRIBUTES.values(),
        *IMAGES.values(),
        *PROPERTIES.values(),
        *PAIRS.values(),
        *FUNCTIONS.values(),
        *KEYWORDS.values(),
        *AT_RULES.values(),
        *CONDITIONS.values(),
        *PSEUDO.values(),
        *(slug for _, slug in SELECTORS),
        *(f"css-unit-{unit}" for unit in (*UNITS, "percent")),
        *(f"html-input-{kind}" for kind in INPUTS),
        *(f"html-button-{kind}" for kind in BUTTONS),
        "css-comments",
        "css-nesting",
        "html-anchor-links",
        "html-comments",
        "html-doctype",
        "html-mailto-links",
        "html-meta-color-scheme",
        "image-base64",
    )
)
