"""Encode messages and links in few bytes for tokens, which are part of every tracked URL."""

from __future__ import annotations

import zlib
from functools import lru_cache

from chalicelib.core import ids
from chalicelib.tracking.model import Link, Message, sub_of

_VERSION = 1
_ID_BYTES = 12
_UNSUBSCRIBES, _AMP, _DEFLATED, _DIVIDED = 1, 2, 4, 8
_CACHED_STARTS = 4096

# Part of the format: a change would break the links of mail that was sent (RFC 1951)
_COMMON_IN_LINKS = (
    b".co.uk/.org/.net/.de/.html.php/account/settings/unsubscribe?email=&token=/track/order/view/"
    b"category/blog/article/news/shop/store/products/product/item?id=&ref=email&lang=en&source="
    b"&utm_id=&utm_term=&utm_content=&utm_campaign=newsletter&utm_medium=email?utm_source=newsletter"
    b"http://https://www.example.com/"
)


def pack_message(message: Message) -> bytes:
    """Encode a message."""
    _, index = ids.transmission_of(message.message_id)
    return b"".join(
        [
            bytes([_VERSION]),
            bytes.fromhex(message.message_id),
            message.expires.to_bytes(2, "big"),
            _varint(index - message.first_index),
            _varint(message.account_id),
            _varint(message.subaccount_id or 0),
            message.recipient.encode("utf-8", "surrogatepass"),
        ]
    )


def unpack_message(data: bytes) -> Message:
    """Return the message that :func:`pack_message` encoded."""
    message_id = data[1 : 1 + _ID_BYTES].hex()
    position = 1 + _ID_BYTES + 2
    offset, position = _read_varint(data, position)
    account_id, position = _read_varint(data, position)
    subaccount_id, position = _read_varint(data, position)
    return Message(
        account_id=account_id,
        subaccount_id=subaccount_id or None,
        message_id=message_id,
        first_index=ids.transmission_of(message_id)[1] - offset,
        recipient=data[position:].decode("utf-8", "surrogatepass"),
        expires=int.from_bytes(data[1 + _ID_BYTES : 3 + _ID_BYTES], "big"),
    )


def pack_link(link: Link) -> bytes:
    """Encode a link, without its ``sub``.

    The target is compressed without its end, because the links of many readers differ only there.
    """
    cut = end_of_target(link.target)
    return pack_start(link, cut) + link.target[cut:].encode("utf-8", "surrogatepass")


def end_of_target(target: str) -> int:
    """Return where the end of a target begins: its last value or path segment."""
    return max(target.rfind("="), target.rfind("/")) + 1


def pack_start(link: Link, cut: int) -> bytes:
    """Encode a link up to the end of its target, which follows as it is."""
    return _packed_start(link.target[:cut], link.name, link.unsubscribes, link.amp)


@lru_cache(maxsize=_CACHED_STARTS)
def _packed_start(start: str, name: str, unsubscribes: bool, amp: bool) -> bytes:
    name_bytes = name.encode("utf-8", "surrogatepass")
    body = bytes([len(name_bytes)]) + name_bytes + start.encode("utf-8", "surrogatepass")
    flags = _DIVIDED | _UNSUBSCRIBES * unsubscribes | _AMP * amp
    packer = zlib.compressobj(6, zlib.DEFLATED, -13, 5, zdict=_COMMON_IN_LINKS)
    packed = packer.compress(body) + packer.flush()
    if len(packed) < len(body):
        flags, body = flags | _DEFLATED, packed
    return bytes([flags]) + _varint(len(body)) + body


def unpack_link(data: bytes, kind: str) -> Link:
    """Return the link that :func:`pack_link` encoded, for a URL of this kind.

    Links of mail that version 0.1.0 sent have a target in one piece (stays: people keep mail).
    """
    flags, body, end = data[0], data[1:], b""
    if flags & _DIVIDED:
        length, position = _read_varint(body, 0)
        body, end = body[position : position + length], body[position + length :]
    if flags & _DEFLATED:
        body = zlib.decompressobj(-13, zdict=_COMMON_IN_LINKS).decompress(body)
    name_end = 1 + body[0]
    return Link(
        target=(body[name_end:] + end).decode("utf-8", "surrogatepass"),
        name=body[1:name_end].decode("utf-8", "surrogatepass"),
        unsubscribes=bool(flags & _UNSUBSCRIBES),
        amp=bool(flags & _AMP),
        sub=sub_of(kind),
    )


def _varint(number: int) -> bytes:
    """Encode a non-negative number in groups of seven bits, the lowest first."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        number |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return number, position
