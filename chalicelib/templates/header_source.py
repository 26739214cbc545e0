"""Header fields of a pre-built message as sources of templates, and filled ones as fields again.

The mail library that wrote a message may have put text, and the tags in it, into encoded words
(RFC 2047); these are decoded first, or the tags would not be found. Among addresses they become
quoted strings, so that a comma in a name does not part it in two.
"""

from __future__ import annotations

import re
from email.utils import getaddresses

from chalicelib.mail_format.encoded_words import decode_words
from chalicelib.mail_format.headers import Address, HeaderError, encode_addresses, encode_header

_TAG = "{{"
_ADDRESSES = frozenset({"from", "sender", "reply-to", "to", "cc", "bcc"})
_WORD = r"=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?="
_WORDS = re.compile(rf"{_WORD}(?:\s+{_WORD})*")


def source_of(name: str, raw: bytes) -> str | None:
    """Return the unfolded, decoded value of a field, or ``None`` when there is no tag in it.

    ``name`` is in lower case; ``raw`` is the whole field.
    """
    value = raw.partition(b":")[2].decode("utf-8", "replace").replace("\r\n", "").strip(" \t")
    if _TAG not in value and "=?" not in value:
        return None
    quoted = name in _ADDRESSES
    source = _WORDS.sub(lambda words: _decoded(words[0], quoted), value)
    return source if _TAG in source else None


def field_of(label: str, text: str) -> bytes:
    """Return the field with this text as its value; raises ``HeaderError``."""
    if label.lower() in _ADDRESSES:
        found = [Address(name or None, email) for name, email in getaddresses([text])]
        try:
            return encode_addresses(label, found)
        except HeaderError:
            pass  # no list of addresses: it goes out as the text that it is
    return encode_header(label, text)


def _decoded(words: str, quoted: bool) -> str:
    """Return the text of encoded words, or the words where they hold none."""
    try:
        text = decode_words(words)
    except ValueError:
        return words
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"' if quoted else text
