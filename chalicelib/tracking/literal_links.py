"""Links that a template writes out, told apart from those whose protocol comes from a value.

``<a href="{{url}}">`` is not tracked even where the value is an ``https`` URL. The rendered text
cannot tell, so before a template is compiled a mark is put before every protocol that is written in
it; ``LinkRewriter(marked=True)`` tracks marked links only and takes all marks out.
"""

from __future__ import annotations

import re
from typing import Any

from chalicelib.template_language.cache import SizedCache
from chalicelib.tracking.links import MARK

_PROTOCOL = re.compile(r"[hH][tT][tT][pP][sS]?://")
_MARK_BEFORE = re.compile(f"{MARK}({_PROTOCOL.pattern})")
_MARK_BEHIND = re.compile(f"({_PROTOCOL.pattern}){MARK}")
_MOST_REMEMBERED = 64
_LARGEST_REMEMBERED = 4_000_000  # characters, sources and results together

_remembered: SizedCache[str] = SizedCache(most=_MOST_REMEMBERED, largest=_LARGEST_REMEMBERED)


def mark(source: str) -> str:
    """Return a template's source with its own links marked; what stands in braces is left alone.

    The same sources come again and again, and are remembered.
    """
    return _remembered.get(source, 2 * len(source), lambda: _with_marks(source))


def mark_all(content: Any) -> Any:
    """Return content of JSON types with :func:`mark` applied to every string value in it."""
    if isinstance(content, str):
        return mark(content)
    if isinstance(content, dict):
        return {name: mark_all(value) for name, value in content.items()}
    return [mark_all(value) for value in content] if isinstance(content, list) else content


def unmark(text: str) -> str:
    """Return rendered text without marks, for what no rewriter is to see."""
    return text.replace(MARK, "")


def marks_behind(text: str) -> str:
    """Return text with each mark behind its protocol: as style sheets see it, that comes first."""
    return _MARK_BEFORE.sub(rf"\1{MARK}", text)


def marks_before(text: str) -> str:
    """Return what :func:`marks_behind` gave, or what was made of it, with the marks in place."""
    return _MARK_BEHIND.sub(rf"{MARK}\1", text)


def _with_marks(source: str) -> str:
    pieces, position = [], 0
    while (start := source.find("{{", position)) >= 0:
        end = source.find("}}", start)
        if end < 0:
            break
        pieces += [_marked(source[position:start]), source[start : end + 2]]
        position = end + 2
    return "".join([*pieces, _marked(source[position:])])


def _marked(text: str) -> str:
    return _PROTOCOL.sub(lambda found: MARK + found[0], text)
