"""Mark the links that a template writes literally, as opposed to those that come from a value.

``<a href="{{url}}">`` is not tracked, even if the value is an ``https`` URL. The rendered text does
not show the difference. So before a template is compiled, a mark is put before every literal
protocol; ``LinkRewriter(marked=True)`` tracks only marked links and removes all marks.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

from chalicelib.template_language.cache import SizedCache
from chalicelib.tracking.links import MARK

_PROTOCOL = re.compile(r"[hH][tT][tT][pP][sS]?://")
_CACHE_ENTRIES = 64
_CACHE_BYTES = 8 * 1024 * 1024

_cache: SizedCache[str] = SizedCache(most=_CACHE_ENTRIES, most_bytes=_CACHE_BYTES)


def mark(source: str) -> str:
    """Return a template's source with its literal links marked; text in braces stays as it is.

    Results are cached, because the same sources are compiled again and again.
    """
    return _cache.get(source, lambda: _with_marks(source))


def mark_all(content: Any) -> Any:
    """Return content of JSON types with :func:`mark` applied to every string value in it."""
    if isinstance(content, str):
        return mark(content)
    if isinstance(content, dict):
        return {name: mark_all(value) for name, value in content.items()}
    return [mark_all(value) for value in content] if isinstance(content, list) else content


def without_marks(text: str) -> tuple[str, Set[int]]:
    """Return text without marks, and the positions in it before which a mark stood."""
    first, *others = text.split(MARK)
    positions, position = set(), len(first)
    for other in others:
        positions.add(position)
        position += len(other)
    return "".join([first, *others]), positions


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
