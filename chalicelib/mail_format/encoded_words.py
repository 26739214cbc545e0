"""Decode RFC 2047 encoded words in an unstructured header value.

Client libraries write them for text outside ASCII, and for lines that they consider too long. The
decoder is linear in its input: every part of a word excludes the character that ends it.
"""

from __future__ import annotations

import binascii
import re

from chalicelib.mail_format.charsets import charset

_WORD = re.compile(r"=\?([^?\s]+)\?([bBqQ])\?([^?\s]*)\?=")


def decode_words(value: str) -> str:
    """Return `value` with its encoded words decoded; blanks between two of them are dropped.

    Neighbours in one character set are joined before decoding, because some encoders divide a
    character between two words. Raises ValueError for a word that does not decode.
    """
    decoded: list[str] = []
    run, run_set = bytearray(), ""
    position = 0
    for word in _WORD.finditer(value):
        between = value[position : word.start()]
        # RFC 2231 5 allows a language after the set's name.
        name = word[1].partition("*")[0].lower()
        if between.strip() or name != run_set:
            decoded.append(_text(run, run_set))
            run = bytearray()
            if between.strip() or not run_set:
                decoded.append(between)
        run += _octets(word[2], word[3])
        run_set, position = name, word.end()
    decoded += [_text(run, run_set), value[position:]]
    return "".join(decoded)


def readable(value: str) -> str:
    """Return `value` with its encoded words decoded, or unchanged if one of them is malformed."""
    if "=?" not in value:
        return value
    try:
        return decode_words(value)
    except ValueError:
        return value


def _octets(encoding: str, text: str) -> bytes:
    octets = text.encode()
    if encoding in "bB":
        return binascii.a2b_base64(octets + b"=" * (-len(octets) % 4), strict_mode=True)
    return binascii.a2b_qp(octets, header=True)


def _text(octets: bytearray, character_set: str) -> str:
    if not octets:
        return ""
    try:
        name = charset(character_set)
    except LookupError:
        raise ValueError(f"unknown character set {character_set}") from None
    return octets.decode(name)
