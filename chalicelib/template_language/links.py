"""Find the links in a template, so that values printed inside them are percent-encoded.

A link begins with a literal `http://` or `https://`, in markup and in plain text, and ends at a
blank, a quote or an angle bracket, or at the end of a style's `url(...)`. A protocol that comes
from a value does not begin a link.
"""

from __future__ import annotations

import re

_BEGIN = re.compile(r"https?://", re.IGNORECASE | re.ASCII)
_END = re.compile(r"[\s\"'<>`]|\);")


def in_link_after(text: str, inside: bool) -> bool:
    """Tell whether the end of a text is inside a link; the start may be inside one too."""
    position = 0
    while True:
        match = (_END if inside else _BEGIN).search(text, position)
        if match is None:
            return inside
        inside, position = not inside, match.end()
