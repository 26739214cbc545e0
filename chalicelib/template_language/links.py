"""Where in a template a link runs, so that values printed inside it are percent-encoded.

A link begins with `http://` or `https://` written in the template, in markup and in plain text
alike, and ends at a blank, a quote or an angle bracket, or where the `url(...)` of a style does. A
protocol that comes from a value makes no link.
"""

from __future__ import annotations

import re

_BEGIN = re.compile(r"https?://", re.IGNORECASE | re.ASCII)
_END = re.compile(r"[\s\"'<>`]|\);")


def in_link_after(text: str, inside: bool) -> bool:
    """Return whether a link runs at the end of text, given whether one ran at its start."""
    position = 0
    while True:
        match = (_END if inside else _BEGIN).search(text, position)
        if match is None:
            return inside
        inside, position = not inside, match.end()
