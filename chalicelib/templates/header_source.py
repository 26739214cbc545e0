"""Turn header fields of a pre-built message into template sources, and filled ones into fields.

The mail library that wrote a message may have put text, and the tags in it, into encoded words
(RFC 2047); these are decoded first, or the tags would not be found.
"""

from __future__ import annotations

from chalicelib.mail_format.address_list import ADDRESS_FIELDS, address_list_field
from chalicelib.mail_format.field_text import unfolded, with_decoded_words
from chalicelib.mail_format.headers import encode_header

_TAG = "{{"


def source_of(name: str, raw: bytes) -> str | None:
    """Return the unfolded, decoded value of a field, or ``None`` when there is no tag in it.

    ``name`` is in lower case; ``raw`` is the whole field.
    """
    source = with_decoded_words(unfolded(raw), is_list=name in ADDRESS_FIELDS)
    return source if _TAG in source else None


def field_of(label: str, text: str) -> bytes:
    """Return the field with this text as its value; raises ``HeaderError``."""
    write = address_list_field if label.lower() in ADDRESS_FIELDS else encode_header
    return write(label, text)
