"""Read the text of a raw header field: unfolded, and with its encoded words decoded (RFC 2047).

Raw octets beyond ASCII are UTF-8 (RFC 6532), and else most often Windows-1252.
"""

from __future__ import annotations

import re

from chalicelib.mail_format.encoded_words import decode_words

_WORD = r"=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?="
_WORDS = re.compile(rf"{_WORD}(?:\s+{_WORD})*")


def unfolded(raw: bytes) -> str:
    """Return the value of a raw field as it is written, on one line, without blanks around it."""
    return octets_as_text(raw.partition(b":")[2]).replace("\r\n", "").strip(" \t")


def octets_as_text(octets: bytes) -> str:
    """Return octets of a header as text."""
    for charset in ("utf-8", "cp1252"):
        try:
            return octets.decode(charset)
        except ValueError:
            continue
    return octets.decode("latin-1")


def with_decoded_words(value: str, *, is_list: bool) -> str:
    """Return the value with its encoded words decoded; words that hold no text stay.

    In a list of addresses they become quoted strings, so that a comma in a name does not part it
    in two.
    """
    if "=?" not in value:
        return value
    return _WORDS.sub(lambda words: _decoded(words[0], is_quoted=is_list), value)


def _decoded(words: str, *, is_quoted: bool) -> str:
    try:
        text = decode_words(words)
    except ValueError:
        return words
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"' if is_quoted else text
