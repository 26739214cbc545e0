"""Find Mustache templates inside AMP parts, whose braces are meant for the mail client.

Inside `<template type="amp-mustache">` a tag stays as it is, unless it clearly belongs to this
language: it names the service, calls a curly macro, uses loop_var, or is `else` or `end`.
"""

from __future__ import annotations

import re

from .words import CURLIES

SERVICE_NAMES = ("svc", "sparkpost")
"""Names that mark a tag as ours: the neutral one, and the one in existing templates."""

_OPEN = re.compile(r"<template\b", re.IGNORECASE | re.ASCII)
_CLOSE = re.compile(r"</template\b", re.IGNORECASE | re.ASCII)
_IS_MUSTACHE = re.compile(r"\btype\s*=\s*[\"']?amp-mustache\b", re.IGNORECASE | re.ASCII)
_OURS = (*SERVICE_NAMES, *CURLIES, "loop_var")


def mustache_spans(source: str) -> list[tuple[int, int]]:
    """Return start and end of each Mustache template, in order."""
    spans = []
    opening = _OPEN.search(source)
    while opening:
        start = source.find(">", opening.end()) + 1
        if not start:
            break
        end = start
        if _IS_MUSTACHE.search(source, opening.end(), start):
            closing = _CLOSE.search(source, start)
            end = closing.start() if closing else len(source)
            spans.append((start, end))
        opening = _OPEN.search(source, end)
    return spans


def is_ours(tag: str) -> bool:
    """Tell whether a tag in a Mustache template belongs to this language."""
    return tag.strip() in ("else", "end") or any(name in tag for name in _OURS)
