"""Links that a template writes out, told apart from those whose protocol comes from a value.

``<a href="{{url}}">`` is not tracked even where the value is an ``https`` URL. The rendered text
cannot tell, so before a template is compiled a mark is put before every protocol that is written in
it; ``LinkRewriter(marked=True)`` tracks marked links only and takes all marks out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from chalicelib.tracking.links import MARK

_PROTOCOL = re.compile(r"https?://", re.IGNORECASE | re.ASCII)


@lru_cache(maxsize=64)
def mark(source: str) -> str:
    """Return a template's source with its own links marked; what stands in braces is left alone."""
    pieces, position = [], 0
    while (start := source.find("{{", position)) >= 0:
        end = source.find("}}", start)
        if end < 0:
            break
        pieces += [_marked(source[position:start]), source[start : end + 2]]
        position = end + 2
    return "".join([*pieces, _marked(source[position:])])


def mark_all(content: Any) -> Any:
    """Return content of JSON types with :func:`mark` applied to every string value in it."""
    if isinstance(content, str):
        return mark(content)
    if isinstance(content, dict):
        return {name: mark_all(value) for name, value in content.items()}
    return [mark_all(value) for value in content] if isinstance(content, list) else content


def _marked(text: str) -> str:
    return _PROTOCOL.sub(lambda found: MARK + found[0], text)
