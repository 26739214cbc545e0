"""Read the parameters of MIME header fields from strangers (RFC 2045 5.1, RFC 2231).

Every form is read that mail programs write: quoted or not, with encoded words, in numbered sections
and in a charset. Nothing here raises or takes more than linear time.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from chalicelib.mail_format.charsets import charset
from chalicelib.mail_format.encoded_words import readable

_PARAMETER = re.compile(
    r';\s*+([^\s=;"]{1,60})\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"?|([^;"]*+))', re.DOTALL
)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_SECTION = re.compile(r"([^*]+)(?:\*([0-9]{1,3}))?(\*)?")
_EXTENDED: Final = re.compile(r"([^']{0,40})'[^']{0,40}'(.*)", re.DOTALL)
_LONGEST: Final = 4096


def parameters_of(value: str) -> dict[str, str]:
    """Return the parameters of a header field's value by their names in lower case.

    >>> parameters_of("text/plain; charset=utf-8; name*0*=utf-8''a%20; name*1=b")
    {'charset': 'utf-8', 'name': 'a b'}
    """
    plain: dict[str, str] = {}
    sections: dict[str, dict[int, tuple[str, bool]]] = {}
    for match in _PARAMETER.finditer(value):
        name, quoted, bare = match.groups()
        text = bare.strip() if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
        form = _SECTION.fullmatch(name.lower())
        if form and (form[2] or form[3]):
            by_number = sections.setdefault(form[1], {})
            by_number.setdefault(int(form[2] or 0), (text[:_LONGEST], bool(form[3])))
        else:
            plain.setdefault(name.lower(), readable(text[:_LONGEST]))
    return plain | {name: _joined(by_number) for name, by_number in sections.items()}


def _joined(by_number: dict[int, tuple[str, bool]]) -> str:
    """Return the text of a parameter that is in sections, the first of which names the charset."""
    first, is_extended = by_number.get(0, ("", False))
    match = _EXTENDED.fullmatch(first) if is_extended else None
    encoding = match[1] if match else "utf-8"
    octets = unquote_to_bytes(match[2]) if match else _octets(first, is_extended)
    for number in range(1, len(by_number) + 1):
        if number not in by_number:
            break
        octets += _octets(*by_number[number])
    try:
        return octets.decode(charset(encoding or "utf-8"))
    except (LookupError, ValueError):
        return octets.decode("utf-8", "replace")


def _octets(text: str, is_extended: bool) -> bytes:
    return unquote_to_bytes(text) if is_extended else text.encode("utf-8", "replace")
