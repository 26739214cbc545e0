"""Tokens of tracking links: signed texts that hold all that an endpoint needs to answer.

A token is ``<message>..<tag>`` or ``<message>.<link>.<tag>``, each part in base64url. It names the
account, the message and its recipient, and the link's target; it ends a year after it was made.
What else an event tells is kept with the message (``tracking.facts``).

The message part and the link parts are encoded once each and combined by their tags, since a
newsletter holds many links and a transmission many messages. A key derives from the message part
(``core.signing``), and the tag is a keyed hash under it of the link part and of the kind, which is
the URL's path before the token: so no part can be moved into another message, link or endpoint.
"""

from __future__ import annotations

import base64
import hmac
import zlib
from binascii import b2a_base64
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from chalicelib.core import clock, ids, signing

#: Kinds of tokens, which are also the paths of their endpoints
OPEN: Final = "t/o"
INITIAL_OPEN: Final = "t/i"
AMP_OPEN: Final = "t/ao"
AMP_INITIAL_OPEN: Final = "t/ai"
CLICK: Final = "t/c"
LIST_UNSUBSCRIBE: Final = "t/u"

LIFETIME_DAYS = 365

_PURPOSE = "tracking"
_VERSION = 1
_ID_BYTES = 12
_DAY_SECONDS = 86_400
_TAG_BYTES = 12  # a multiple of three: base64 of it has no spare bits
_UNSUBSCRIBES, _AMP, _DEFLATED = 1, 2, 4

# Part of the format: changing it makes links in mail that was sent unreadable (RFC 1951)
_COMMON_IN_LINKS = (
    b".co.uk/.org/.net/.de/.html.php/account/settings/unsubscribe?email=&token=/track/order/view/"
    b"category/blog/article/news/shop/store/products/product/item?id=&ref=email&lang=en&source="
    b"&utm_id=&utm_term=&utm_content=&utm_campaign=newsletter&utm_medium=email?utm_source=newsletter"
    b"http://https://www.example.com/"
)


class BadToken(ValueError):
    """The text is no token of this service for this endpoint."""


class Expired(BadToken):
    """It is one, and its time is over."""


@dataclass(frozen=True, slots=True)
class Message:
    """The message that a token is about.

    ``first_index`` is the index of the first recipient of the message's unit; ``expires`` is the
    last day of the token, counted from 1970.
    """

    account_id: int
    subaccount_id: int | None
    message_id: str
    first_index: int
    recipient: str
    expires: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a message; ``name`` is empty where the sender gave none.

    ``sub`` is the part of the path that the sender chose (for links that open an application).
    """

    target: str
    name: str = ""
    unsubscribes: bool = False
    amp: bool = False
    sub: str = ""

    @property
    def kind(self) -> str:
        """Return the kind of its tokens."""
        return f"f/{self.sub}" if self.sub else CLICK


class LinkPart:
    """The part of the tokens that a link has in every message: prepared once, used in all."""

    __slots__ = ("signed", "text")

    def __init__(self, link: Link) -> None:
        self.text = _encode(_packed_link(link))
        self.signed = _signed(link.kind, self.text)


class MessageTokens:
    """Makes the tokens of one message. ``text`` is the part that all of them begin with."""

    __slots__ = ("_key", "text")

    def __init__(self, message: Message) -> None:
        self.text = _encode(_packed_message(message))
        self._key = _key(self.text)

    def token(self, kind: str) -> str:
        """Return the token of an endpoint that needs no link."""
        return f"{self.text}..{_tag(self._key, _signed(kind, ''))}"

    def tag(self, link: LinkPart) -> str:
        """Return the last part of a link's token."""
        return _tag(self._key, link.signed)

    def token_of(self, link: LinkPart) -> str:
        """Return the token of a link."""
        return f"{self.text}.{link.text}.{self.tag(link)}"


def last_day(made_ms: int) -> int:
    """Return the last day of tokens that were made at ``made_ms``, counted from 1970."""
    return made_ms // 1000 // _DAY_SECONDS + LIFETIME_DAYS


def read(kind: str, token: str) -> tuple[Message, Link | None]:
    """Return what a token of this kind holds; raises :class:`BadToken` or :class:`Expired`."""
    message_text, _, rest = token.partition(".")
    link_text, _, tag = rest.rpartition(".")
    expected = _tag(_key(message_text), _signed(kind, link_text))
    if not hmac.compare_digest(expected.encode(), tag.encode("utf-8", "surrogatepass")):
        raise BadToken("the signature does not fit")
    message = _unpacked_message(_decode(message_text))
    if clock.now() // _DAY_SECONDS > message.expires:
        raise Expired("its time is over")
    return message, _unpacked_link(_decode(link_text), kind) if link_text else None


def is_genuine(kind: str, token: str) -> bool:
    """Tell whether a token is one of this service, be its time over or not."""
    try:
        read(kind, token)
    except Expired:
        return True
    except BadToken:
        return False
    return True


def _packed_message(message: Message) -> bytes:
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


def _unpacked_message(data: bytes) -> Message:
    message_id = data[1 : 1 + _ID_BYTES].hex()
    at = 1 + _ID_BYTES + 2
    place, at = _read_varint(data, at)
    account_id, at = _read_varint(data, at)
    subaccount_id, at = _read_varint(data, at)
    return Message(
        account_id=account_id,
        subaccount_id=subaccount_id or None,
        message_id=message_id,
        first_index=ids.transmission_of(message_id)[1] - place,
        recipient=data[at:].decode("utf-8", "surrogatepass"),
        expires=int.from_bytes(data[1 + _ID_BYTES : 3 + _ID_BYTES], "big"),
    )


def _packed_link(link: Link) -> bytes:
    name = link.name.encode("utf-8", "surrogatepass")
    body = bytes([len(name)]) + name + link.target.encode("utf-8", "surrogatepass")
    flags = _UNSUBSCRIBES * link.unsubscribes | _AMP * link.amp
    packer = zlib.compressobj(6, zlib.DEFLATED, -13, 5, zdict=_COMMON_IN_LINKS)
    packed = packer.compress(body) + packer.flush()
    if len(packed) < len(body):
        return bytes([flags | _DEFLATED]) + packed
    return bytes([flags]) + body


def _unpacked_link(data: bytes, kind: str) -> Link:
    flags, body = data[0], data[1:]
    if flags & _DEFLATED:
        body = zlib.decompressobj(-13, zdict=_COMMON_IN_LINKS).decompress(body)
    end = 1 + body[0]
    return Link(
        target=body[end:].decode("utf-8", "surrogatepass"),
        name=body[1:end].decode("utf-8", "surrogatepass"),
        unsubscribes=bool(flags & _UNSUBSCRIBES),
        amp=bool(flags & _AMP),
        sub="" if kind == CLICK else kind.removeprefix("f/"),
    )


def _key(message_text: str) -> bytes:
    return signing.tag(message_text.encode("utf-8", "surrogatepass"), _PURPOSE)


def _signed(kind: str, link_text: str) -> bytes:
    return f"{kind}\0{link_text}".encode("utf-8", "surrogatepass")


def _tag(key: bytes, signed: bytes) -> str:
    return _encode(blake2b(signed, digest_size=_TAG_BYTES, key=key).digest())


def _encode(data: bytes) -> str:
    return b2a_base64(data, newline=False).translate(_TO_URL, b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


_TO_URL = bytes.maketrans(b"+/", b"-_")


def _varint(number: int) -> bytes:
    """Return a number from 0 in groups of seven bits, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
