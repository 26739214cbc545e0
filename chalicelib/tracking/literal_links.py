"""Mark the links that a template writes literally, as opposed to those that come from a value.

``<a href="{{url}}">`` is not tracked, even if the value is an ``https`` URL. The rendered text does
not show the difference. So before a template is compiled, a mark is put before every literal
protocol; ``LinkRewriter(marked=True)`` tracks only marked links and removes all marks.
"""

from __future__ import annotations

import re
from typing import Any

from chalicelib.template_language.cache import SizedCache
from chalicelib.tracking.links import MARK

_PROTOCOL = re.compile(r"[hH][tT][tT][pP][sS]?://")
_MARK_BEFORE = re.compile(f"{MARK}({_PROTOCOL.pattern})")
_MARK_BEHIND = re.compile(f"({_PROTOCOL.pattern}){MARK}")
_CACHE_ENTRIES = 64
_CACHE_CHARACTERS = 4_000_000  # characters, sources and results together

_cache: SizedCache[str] = SizedCache(most=_CACHE_ENTRIES, largest=_CACHE_CHARACTERS)


def mark(source: str) -> str:
    """Return a template's source with its literal links marked; text in braces stays as it is.

    Results are cached, because the same sources are compiled again and again.
    """
    return _cache.get(source, 2 * len(source), lambda: _with_marks(source))


def mark_all(content: Any) -> Any:
    """Return content of JSON types with :func:`mark` applied to every string value in it."""
    if isinstance(content, str):
        return mark(content)
    if isinstance(content, dict):
        return {name: mark_all(value) for name, value in content.items()}
    return [mark_all(value) for value in content] if isinstance(content, list) else content


def marks_behind(text: str) -> str:
    """Return text with each mark after its protocol, which style sheets need first."""
    return _MARK_BEFORE.sub(rf"\1{MARK}", text)


def marks_before(text: str) -> str:
    """Undo :func:`marks_behind`, also in text that was changed since."""
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
    return _PROTOCOL.sub(lambda match: MARK + match[0], text)
