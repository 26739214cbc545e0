"""Write the target of a link as a URI, which a Location header has to be (RFC 9110 10.2.2).

Targets are what authors write, and browsers take more than a URI may hold (RFC 3986): blanks,
letters beyond ASCII, quotes, braces. These become escapes, and the host becomes A-labels, as in the
requests of browsers. What is valid stays as it is, escapes too.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from chalicelib.core import domain_names

_TARGET = re.compile(
    r"(https?)://(?:([^/?#\\]*)@)?([^/?#\\]*)([^?#]*)(\?[^#]*)?(#.*)?", re.IGNORECASE | re.DOTALL
)
_HOST = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\])|([^:]*))(:[0-9]*)?")
_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")

# What the parts may hold besides letters, digits, ``-._~`` and escapes
_IN_NAME: Final = "!$&'()*+,;="
_IN_USER: Final = f"{_IN_NAME}:"
_IN_PATH: Final = f"{_IN_USER}@/"
_IN_QUERY: Final = f"{_IN_PATH}?"


def location(target: str) -> str:
    """Return a target that :func:`links.link` accepted as a URI that leads to the same place."""
    match = _TARGET.fullmatch(target)
    if match is None:  # not a target that was accepted
        return _escaped(target, _IN_QUERY)
    scheme, user, host, path, query, fragment = match.groups()
    return "".join(
        [
            f"{scheme}://",
            "" if user is None else f"{_escaped(user, _IN_USER)}@",
            _host(host),
            # To browsers a backslash that ends the host is a slash
            _escaped(f"/{path[1:]}" if path else "", _IN_PATH),
            f"?{_escaped(query[1:], _IN_QUERY)}" if query else "",
            f"#{_escaped(fragment[1:], _IN_QUERY)}" if fragment else "",
        ]
    )


def _host(text: str) -> str:
    match = _HOST.fullmatch(text)
    if match is None:
        return _escaped(text, _IN_NAME)
    address, name, port = match.groups(default="")
    return address + _escaped(domain_names.in_a_labels(name) or name, _IN_NAME) + port


def _escaped(text: str, allowed: str) -> str:
    text = _HALF_CHARACTER.sub("\ufffd", _NO_ESCAPE.sub("%25", text))
    return quote(text, safe=f"{allowed}%")
