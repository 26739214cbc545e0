"""Check the ids that callers choose for their resources.

An id is a segment of a path. URL parsers remove the segments ``.`` and ``..``, also where they are
percent-encoded, so a resource with such an id could not be read or deleted. New resources may not
have them; stored ones are still found.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_ID: Final = 64
NEW_ID_RULE: Final = (
    f"must be 1 to {LONGEST_ID} letters, digits, underscores, dots or hyphens, "
    "and may not be '.' or '..'"
)

_ID = re.compile(rf"[A-Za-z0-9_.\-]{{1,{LONGEST_ID}}}", re.ASCII)
_DOT_SEGMENTS = (".", "..")  # RFC 3986 3.3


def is_id(text: str) -> bool:
    """Tell whether ``text`` is 1 to 64 letters, digits, underscores, dots and hyphens."""
    return _ID.fullmatch(text) is not None


def is_new_id(text: str) -> bool:
    """Tell whether a new resource may have the id ``text``."""
    return is_id(text) and text not in _DOT_SEGMENTS
