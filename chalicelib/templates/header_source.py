"""Turn header fields of a pre-built message into template sources, and filled ones into fields.

The mail library that wrote a message may have put text, and the tags in it, into encoded words
(RFC 2047); these are decoded first, or the tags would not be found. Among addresses they become
quoted strings, so that a comma in a name does not part it in two.
"""

from __future__ import annotations

import re

from chalicelib.mail_format.address_list import ADDRESS_FIELDS, address_list_field
from chalicelib.mail_format.encoded_words import decode_words
from chalicelib.mail_format.headers import encode_header

_TAG = "{{"
_WORD = r"=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?="
_WORDS = re.compile(rf"{_WORD}(?:\s+{_WORD})*")


def source_of(name: str, raw: bytes) -> str | None:
    """Return the unfolded, decoded value of a field, or ``None`` when there is no tag in it.

    ``name`` is in lower case; ``raw`` is the whole field.
    """
    value = raw.partition(b":")[2].decode("utf-8", "replace").replace("\r\n", "").strip(" \t")
    if _TAG not in value and "=?" not in value:
        return None
    quoted = name in ADDRESS_FIELDS
    source = _WORDS.sub(lambda words: _decoded(words[0], quoted), value)
    return source if _TAG in source else None


def field_of(label: str, text: str) -> bytes:
    """Return the field with this text as its value; raises ``HeaderError``."""
    write = address_list_field if label.lower() in ADDRESS_FIELDS else encode_header
    return write(label, text)


def _decoded(words: str, quoted: bool) -> str:
    """Return the text of encoded words, or the words where they hold none."""
    try:
        text = decode_words(words)
    except ValueError:
        return words
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"' if quoted else text
