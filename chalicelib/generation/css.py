"""Turn the style sheets of html into style attributes, for ``options.inline_css`` (css-inline)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from chalicelib.generation.faults import RenderFault
from chalicelib.tracking.literal_links import marks_before, marks_behind

# The library keeps a stack frame for each level of nesting and overruns its stack at some thousands
MOST_NESTED = 1_000

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)")
# Elements without content and end tag (HTML standard, 13.1.2)
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"} | {
    "param",
    "source",
    "track",
    "wbr",
}


def inline_css(html: str) -> str:
    """Return ``html`` with its style sheets inlined; raises :class:`RenderFault`.

    At-rules such as media queries stay in a style element. No remote style sheet is loaded.
    """
    if _nesting(html) > MOST_NESTED:
        raise RenderFault("[internal] inline_css: the html is nested too deeply")
    try:
        # The mark goes behind the URL, or selectors such as a[href^="https:"] would not match
        return marks_before(_inliner().inline(marks_behind(html)))
    except ValueError as fault:  # css_inline.InlineError
        raise RenderFault(f"[internal] inline_css: {fault}") from None


@cache
def _inliner() -> Any:
    import css_inline

    return css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)


def _nesting(html: str) -> int:
    """Return how deep elements are nested; each element without an end tag counts as a level."""
    depth = most = 0
    for closing, name in _TAG.findall(html):
        if closing:
            depth = max(0, depth - 1)
        elif name.lower() not in _VOID:
            depth += 1
            most = max(most, depth)
    return most
