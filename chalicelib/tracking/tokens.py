"""Make and read the tokens of tracking URLs: signed texts with all that an endpoint needs.

A token is ``<message>..<tag>`` or ``<message>.<link>.<tag>``. The first two parts are in base64url.
The tag, with which every URL ends, is of letters and digits only: mail programs leave a ``-`` or
``_`` at the end of a URL out of the link. A token names the account, the message, its recipient and
the link's target, and expires after a year. The message context holds the other fields of an event
(``tracking.store.message_context``).

A newsletter has many links and a transmission many messages, so message parts and link parts are
encoded once each and combined by a tag. A key derives from the message part (``core.signing``). The
tag is a hash with this key of the link part and the kind (the URL's path before the token), so no
part can be moved to another message, link or endpoint.
"""

from __future__ import annotations

import base64
import hmac
import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b

from chalicelib.core import clock, signing
from chalicelib.tracking.model import Link, Message
from chalicelib.tracking.token_forms import pack_link, pack_message, unpack_link, unpack_message

LIFETIME_DAYS = 365
#: Maximum characters of a URL besides the link: the message part, the tag and the dots
LONGEST_MESSAGE_PART = 420

_PURPOSE = "tracking"
_DAY_SECONDS = 86_400
_TAG_BYTES = 12  # a multiple of three: base64 of it has no spare bits
_TAG_LENGTH = _TAG_BYTES // 3 * 4
_BEFORE_TEXT = re.compile(
    rf"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{{{_TAG_LENGTH}}}(?![A-Za-z0-9])"
)


class BadToken(ValueError):
    """The text is not a token of this service for this endpoint."""


class Expired(BadToken):
    """The token is genuine and has expired."""


class LinkPart:
    """The part of a link's tokens that is the same in every message: prepared once, used in all."""

    __slots__ = ("signed", "text")

    def __init__(self, link: Link) -> None:
        self._encode(link.kind, pack_link(link))

    @classmethod
    def of_packed(cls, kind: str, packed: bytes) -> LinkPart:
        """Return the part of a link of this kind that ``token_forms.pack_link`` packed."""
        part = cls.__new__(cls)
        part._encode(kind, packed)
        return part

    def _encode(self, kind: str, packed: bytes) -> None:
        encoded = _encoded(packed)
        self.text = encoded.decode()
        self.signed = _kind_before(kind) + encoded


class MessageTokens:
    """Makes the tokens of one message; all of them begin with ``text``."""

    __slots__ = ("_key", "text")

    def __init__(self, message: Message) -> None:
        self.text = _encode(pack_message(message))
        self._key = _key(self.text)

    def token(self, kind: str) -> str:
        """Return the token of an endpoint that needs no link."""
        return f"{self.text}..{_tag(self._key, _signed(kind, ''))}"

    def tag(self, link: LinkPart) -> str:
        """Return the last part of a link's token."""
        return _tag(self._key, link.signed)

    def tags(self, signed: Iterable[bytes]) -> Iterator[str]:
        """Yield the tag of each link part, of which ``signed`` has what is signed."""
        key = self._key
        digests = [blake2b(each, digest_size=_TAG_BYTES, key=key).digest() for each in signed]
        # A digest fills its base64 to the last bit, so that of all is that of each, end to end
        text = b2a_base64(b"".join(digests), newline=False).translate(_TO_TAG).decode()
        return (text[at : at + _TAG_LENGTH] for at in range(0, len(text), _TAG_LENGTH))

    def token_of(self, link: LinkPart) -> str:
        """Return the token of a link."""
        return f"{self.text}.{link.text}.{self.tag(link)}"


def last_day(injected_ms: int) -> int:
    """Return the last day of the tokens of a message, in days since 1970."""
    return injected_ms // 1000 // _DAY_SECONDS + LIFETIME_DAYS


def without_text(text: str) -> str:
    """Return the token with which a text begins, or the text itself.

    Mail programs take signs behind a URL for a part of it: asterisks, quotes, CJK punctuation.
    """
    match = _BEFORE_TEXT.match(text)
    return match[0] if match else text


def read(kind: str, token: str) -> tuple[Message, Link | None]:
    """Return message and link of a token; raises :class:`BadToken` or :class:`Expired`."""
    message_text, _, rest = token.partition(".")
    link_text, _, tag = rest.rpartition(".")
    if not _is_tag(tag, _digest(_key(message_text), _signed(kind, link_text))):
        raise BadToken("the signature is wrong")
    message = unpack_message(_decode(message_text))
    if clock.now() // _DAY_SECONDS > message.expires:
        raise Expired("the token has expired")
    return message, unpack_link(_decode(link_text), kind) if link_text else None


def is_genuine(kind: str, token: str) -> bool:
    """Tell whether this service made a token, even if it has expired."""
    try:
        read(kind, token)
    except Expired:
        return True
    except BadToken:
        return False
    return True


def _key(message_text: str) -> bytes:
    return signing.tag(message_text.encode("utf-8", "surrogatepass"), _PURPOSE)


def _signed(kind: str, link_text: str) -> bytes:
    return _kind_before(kind) + link_text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=64)
def _kind_before(kind: str) -> bytes:
    """Return what stands before the text of a link part where it is signed."""
    # The length makes this unambiguous, because a kind may contain anything
    return f"{len(kind)}:{kind}".encode("utf-8", "surrogatepass")


def _digest(key: bytes, signed: bytes) -> bytes:
    """Return a digest in base64, which needs no padding."""
    return b2a_base64(blake2b(signed, digest_size=_TAG_BYTES, key=key).digest(), newline=False)


def _tag(key: bytes, signed: bytes) -> str:
    return _digest(key, signed).translate(_TO_TAG).decode()


def _is_tag(text: str, digest: bytes) -> bool:
    """Tell whether a text is the tag of a digest."""
    tag = text.encode("utf-8", "surrogatepass")
    # Versions up to 0.1.0 wrote tags in base64url
    tags = (digest.translate(_TO_TAG), digest.translate(_TO_URL))
    return any(hmac.compare_digest(each, tag) for each in tags)


def _encode(data: bytes) -> str:
    return _encoded(data).decode()


def _encoded(data: bytes) -> bytes:
    return b2a_base64(data, newline=False).translate(_TO_URL, b"=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


_TO_URL = bytes.maketrans(b"+/", b"-_")
# Two of 62 characters stand for two values each, so the easiest tag to guess still has 80 bits
_TO_TAG = bytes.maketrans(b"+/", b"Zz")
