"""Write header fields in ASCII and in lines that every host takes (RFC 5322 2.1.1, 2.2).

A field that is so already keeps its bytes. The others keep their text: it is encoded as its field
allows, and folded again. Addresses with letters beyond ASCII before the ``@`` have no form in
ASCII, so a field with them stays UTF-8 (RFC 6532).
"""

from __future__ import annotations

from chalicelib.mail_format.address_list import ADDRESS_FIELDS, address_list_field
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.field_text import unfolded, with_decoded_words
from chalicelib.mail_format.header_section import Field, MessageError
from chalicelib.mail_format.headers import HeaderError, encode_header, fold_header
from chalicelib.mail_format.parameters import parameter, unquoted
from chalicelib.mail_format.structured_fields import is_structured, items
from chalicelib.mail_format.transfer_encoding import is_seven_bit

_WITH_PARAMETERS = frozenset({"content-type", "content-disposition"})
_FOLD = ";\r\n "
_OF_ADDRESSES = ADDRESS_FIELDS | {f"resent-{name}" for name in ADDRESS_FIELDS}


def seven_bit_field(field: Field) -> Field:
    """Return a field as every host takes it; raises MessageError if it has no such form."""
    name, raw = field
    if is_seven_bit(raw):
        return field
    try:
        return name, _rewritten(name, raw)
    except HeaderError as fault:
        raise MessageError(str(fault)) from None


def _rewritten(name: str, raw: bytes) -> bytes:
    label, value = raw.partition(b":")[0].decode("ascii"), unfolded(raw)
    if name in _WITH_PARAMETERS:
        return _with_parameters(label, value)
    if value.isascii():
        try:
            return fold_header(label, value)
        except HeaderError:
            if is_structured(name):
                raise
    elif name in _OF_ADDRESSES:
        return address_list_field(label, with_decoded_words(value, is_list=True))
    return encode_header(label, readable(value))


def _with_parameters(label: str, value: str) -> bytes:
    """Return a field with a line for each of its parameters."""
    first, *others = (item.removesuffix(";").strip() for item in items(value, ";"))
    pieces = [first]
    for item in others:
        name, _, text = item.partition("=")
        pieces += [item] if item.isascii() else parameter(name.strip(), unquoted(text.strip()))
    field = f"{label}: {_FOLD.join(filter(None, pieces))}\r\n".encode("ascii", "replace")
    if not is_seven_bit(field):
        raise HeaderError(f"header {label}: a parameter is longer than a line")
    return field
