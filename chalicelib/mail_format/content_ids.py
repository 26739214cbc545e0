"""Make the Content-IDs of inline images, and let the html refer to them by the same characters.

A mail client looks for the image of `cid:NAME` by its Content-ID header. Some clients decode the
percent signs of the URL first (RFC 2392), others compare it as it stands. A header cannot hold
characters beyond ASCII (RFC 5322 2.2), so an image with such a name gets a Content-ID of plain
letters, and the references in the html are replaced to match for both kinds of clients.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import unescape

_SCHEME = re.compile("cid:", re.IGNORECASE)
_ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});"
_CHARACTER = re.compile(rf"{_ENTITY}|.", re.DOTALL)
_CHARACTER_OF_URL = re.compile(rf"{_ENTITY}|%[0-9a-fA-F]{{2}}|.", re.DOTALL)


def content_id(name: str) -> str:
    """Return the Content-ID of the image with this name: the name itself if it is ASCII."""
    return name if name.isascii() else f"{sha256(_octets(name)).hexdigest()[:32]}@inline"


def with_content_ids(html: str, names: Iterable[str]) -> str:
    """Return the html with each `cid:NAME` beyond ASCII replaced by `cid:` and the Content-ID.

    The name may be written with HTML entities or percent-encoded; the longest name counts.
    """
    ids = {_octets(name): content_id(name) for name in names if not name.isascii()}
    if not ids:
        return html
    longest = max(map(len, ids))
    pieces, position = [], 0
    for scheme in _SCHEME.finditer(html):
        start = scheme.end()
        # A name may hold a percent sign itself, so the name as written comes first
        name = _longest_name(html, start, _CHARACTER, ids, longest)
        name = name or _longest_name(html, start, _CHARACTER_OF_URL, ids, longest)
        if name:
            identifier, end = name
            pieces += [html[position:start], identifier]
            position = end
    return "".join([*pieces, html[position:]])


def _longest_name(
    html: str, start: int, character: re.Pattern[str], ids: Mapping[bytes, str], longest: int
) -> tuple[str, int] | None:
    """Return the Content-ID of the longest name that stands at ``start``, and where it ends."""
    name, octets = None, b""
    for match in character.finditer(html, start):
        octets += _octets_of(match[0])
        if len(octets) > longest:
            break
        if octets in ids:
            name = ids[octets], match.end()
    return name


def _octets_of(character: str) -> bytes:
    if len(character) == 1:
        return _octets(character)
    if character.startswith("%"):
        return bytes.fromhex(character[1:])
    return _octets(unescape(character))


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
