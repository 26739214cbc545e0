"""Find what is wrong with the structure of MJML: elements that are not closed, or not known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chalicelib.template_language.errors import Fault, Span

#: Deeper nesting costs the compiler its stack
DEEPEST: Final = 100
MOST_ELEMENTS: Final = 5_000
#: Default values stand in each element that they are for
MOST_DEFAULTS: Final = 20_000
_MOST_FAULTS: Final = 100

_ELEMENTS: Final = frozenset(
    (
        *("mjml", "mj-head", "mj-body", "mj-attributes", "mj-all", "mj-class", "mj-breakpoint"),
        *("mj-font", "mj-preview", "mj-raw", "mj-style", "mj-title", "mj-accordion"),
        *("mj-accordion-element", "mj-accordion-text", "mj-accordion-title", "mj-button"),
        *("mj-carousel", "mj-carousel-image", "mj-column", "mj-divider", "mj-group", "mj-hero"),
        *("mj-image", "mj-navbar", "mj-navbar-link", "mj-section", "mj-social"),
        *("mj-social-element", "mj-spacer", "mj-table", "mj-text", "mj-wrapper"),
    )
)
#: Elements of HTML that have no end tag
_VOID: Final = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"),
        *("track", "wbr"),
    )
)

_TAG = re.compile(
    r"""<!--.*?(?:-->|\Z)
    | <(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9:_-]*+)
      (?P<attributes>(?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>
    | <![A-Za-z][^<>]*+>
    | <""",
    re.DOTALL | re.VERBOSE,
)
_DEFAULTS = re.compile(r"<mj-attributes\b.*?</mj-attributes\s*>", re.DOTALL)


def structure_faults(source: str) -> list[Fault]:
    """Return the faults in the order of their places, at most a hundred."""
    faults = []
    for fault in _faults(source):
        faults.append(fault)
        if len(faults) >= _MOST_FAULTS:
            break
    return faults


def default_values(source: str) -> list[tuple[int, int]]:
    """Return where ``mj-attributes`` begin and end, whose values may be used by no element."""
    return [match.span() for match in _DEFAULTS.finditer(source)]


def _faults(source: str) -> Iterator[Fault]:
    open_elements: list[tuple[str, Span]] = []
    elements = 0
    if not source.lstrip().startswith(("<mjml", "<!--")):
        yield Fault("MJML begins with <mjml>", span=Span(0, 0))
    if sum(end - start for start, end in default_values(source)) > MOST_DEFAULTS:
        yield Fault(f"mj-attributes have more than {MOST_DEFAULTS} characters", span=Span(0, 0))
    for match in _TAG.finditer(source):
        span = Span(*match.span())
        name = match["name"]
        if name is None:
            if match[0] == "<":
                yield Fault("'<' begins no element: write &lt; for the character", span=span)
            continue
        if match["end"]:
            yield from _closed(name, span, open_elements)
            continue
        elements += 1
        if elements > MOST_ELEMENTS:
            yield Fault(f"there are more than {MOST_ELEMENTS} elements", span=span)
            return
        yield from _unknown(name, span)
        if match["attributes"].endswith("/") or name.lower() in _VOID:
            continue
        open_elements.append((name, span))
        if len(open_elements) > DEEPEST:
            yield Fault(f"elements are nested more than {DEEPEST} deep", span=span)
            return
    for name, span in open_elements:
        yield Fault(f"<{name}> is not closed", span=span)


def _unknown(name: str, span: Span) -> Iterator[Fault]:
    if name == "mj-include":
        yield Fault("mj-include is not possible here: there are no files to include", span=span)
    elif name.lower().startswith(("mj-", "mjml")) and name not in _ELEMENTS:
        yield Fault(f"there is no element <{name[:40]}>", span=span)


def _closed(name: str, span: Span, open_elements: list[tuple[str, Span]]) -> Iterator[Fault]:
    """Close an element, and the ones inside it that are still open."""
    if name not in [each for each, _ in open_elements]:
        yield Fault(f"</{name[:40]}> closes no element", span=span)
        return
    while open_elements:
        other, place = open_elements.pop()
        if other == name:
            return
        yield Fault(f"<{other}> is not closed", span=place)
