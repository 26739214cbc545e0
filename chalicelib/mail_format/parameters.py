"""Write the parameters of MIME header fields, such as file names (RFC 2045 5.1, RFC 2231)."""

from __future__ import annotations

import re
from unicodedata import combining, normalize
from urllib.parse import quote

_ATTRIBUTE_SAFE = "!#$&+^`{}|~"  # attribute-char of RFC 2231 beyond letters, digits and "._-"


def parameter(name: str, value: str) -> list[str]:
    """Return a parameter in all forms that readers know, the exact one first: some take the first.

    A value beyond ASCII is also written in similar letters of ASCII.
    """
    if value.isascii() and "=?" not in value:
        return [f'{name}="{_quoted(value)}"']
    exact = quote(value, safe=_ATTRIBUTE_SAFE, errors="replace")
    return [f"{name}*=utf-8''{exact}", f'{name}="{_quoted(_in_ascii(value))}"']


def unquoted(value: str) -> str:
    """Return the text of a parameter's value, which may be a quoted string."""
    if len(value) < 2 or not value[0] == value[-1] == '"':
        return value
    return re.sub(r"\\(.)", r"\1", value[1:-1])


def _in_ascii(value: str) -> str:
    """Strip accents; `_` replaces other characters, and the start of an encoded word."""
    return "".join(map(_letter_in_ascii, value)).replace("=?", "__")


def _letter_in_ascii(letter: str) -> str:
    if letter.isascii():
        return letter
    plain = normalize("NFKD", letter).encode("ascii", "ignore").decode("ascii")
    return plain or ("" if combining(letter) else "_")


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"")
