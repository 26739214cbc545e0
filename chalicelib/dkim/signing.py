"""Sign messages with DKIM (RFC 6376), rsa-sha256 and relaxed/relaxed, at the cost of raw RSA.

A message is bytes with CRLF line ends only, as it goes over SMTP.
"""

import re
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from threading import Lock

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from chalicelib.dkim.canonicalization import (
    body_hash,
    relaxed_body,
    relaxed_fields,
    split_message,
)
from chalicelib.dkim.key_pair import read_private

DEFAULT_HEADERS = ("from", "to", "subject", "date")
# Signed whenever present, because readers act on them (RFC 6376 5.4.1, RFC 8058 4)
_ALSO_SIGNED = (
    "cc",
    "sender",
    "reply-to",
    "message-id",
    "in-reply-to",
    "references",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "list-id",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "feedback-id",
)
# Listed once more than they occur, so that nobody can add one: it would change who the sender seems
# to be, or where the unsubscribe button leads
_OVERSIGNED = frozenset({b"from", b"list-unsubscribe", b"list-unsubscribe-post"})
_CACHED_SIGNERS = 256
_CACHED_OPENINGS = 64
_LINE = 76

_LABELS = re.compile(
    r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)*"
)
_FIELD_NAME = re.compile(r"[!-9;-~]+")
_PADDING, _HASH = PKCS1v15(), SHA256()


class DkimError(ValueError):
    """A domain, selector, header list or message that cannot be signed; the text says why."""


class Signer:
    """Sign messages with one key for one domain; threads may share a signer.

    ``headers`` are the names to sign where present, in this order; From is always signed. Headers
    that readers act on, such as List-Unsubscribe, are added when present. From and the
    List-Unsubscribe headers are listed once more than they occur, so that adding another breaks
    the signature. Raises ``DkimKeyError`` for a key that cannot sign and ``DkimError`` for the
    other arguments.
    """

    def __init__(
        self,
        private_key: str,
        selector: str,
        domain: str,
        headers: Sequence[str] = DEFAULT_HEADERS,
    ) -> None:
        for what, value in (("selector", selector), ("domain", domain)):
            if len(value) > 253 or not _LABELS.fullmatch(value):
                raise DkimError(f"{value[:80]!r} is not a DKIM {what} in ASCII")
        names = [name.strip().lower() for name in headers]
        for name in names:
            if not _FIELD_NAME.fullmatch(name) or ";" in name:
                raise DkimError(f"{name[:80]!r} is not a header name that can be signed")
        order = dict.fromkeys([*names, "from", *_ALSO_SIGNED])
        self._order = [name.encode("ascii") for name in order]
        self._names = frozenset(self._order)
        self._opening = f"v=1; a=rsa-sha256; c=relaxed/relaxed;\r\n d={domain};\r\n s={selector};"
        self._openings: dict[bytes, tuple[bytes, bytes]] = {}
        self._sign = read_private(private_key, check=False).sign

    def sign(
        self, message: bytes, timestamp: int, relaxed: bytes | Iterable[bytes] | None = None
    ) -> bytes:
        """Return the DKIM-Signature field, folded and with its CRLF, to put before the message.

        ``timestamp`` is in seconds since the epoch. ``relaxed`` is the relaxed body, whole or in
        pieces, if the caller has it; the message's own then counts for nothing. Raises
        ``DkimError`` without a From header.
        """
        head_end, body_start = split_message(message)
        names, hash_input = self._signed_headers(message[:head_end])
        opening, canonical_opening = self._opening_for(names)
        body = relaxed_body(message, body_start) if relaxed is None else relaxed
        body = [body] if isinstance(body, bytes) else body
        closing = b" t=%d; bh=%s;" % (timestamp, b64encode(body_hash(body)))
        hash_input.append(b"dkim-signature:%s%s b=" % (canonical_opening, closing))
        value = b64encode(self._sign(b"".join(hash_input), _PADDING, _HASH))
        lines = [value[at : at + _LINE - 4] for at in range(0, len(value), _LINE - 4)]
        return b"DKIM-Signature: %s\r\n%s\r\n b=%s\r\n" % (opening, closing, b"\r\n ".join(lines))

    def _signed_headers(self, head: bytes) -> tuple[bytes, list[bytes]]:
        """Return the h= list and the relaxed fields it names; same names from the bottom up."""
        fields_by_name = relaxed_fields(head, self._names)
        if b"from" not in fields_by_name:
            raise DkimError("a message without a From header cannot be signed")
        names: list[bytes] = []
        signed_fields: list[bytes] = []
        for name in self._order:
            fields = fields_by_name.get(name)
            if fields:
                names += [name] * len(fields)
                signed_fields += reversed(fields)
                if name in _OVERSIGNED:
                    names.append(name)
        return b":".join(names), signed_fields

    def _opening_for(self, names: bytes) -> tuple[bytes, bytes]:
        """Return the signature up to h=, folded and canonical; most messages have the same one."""
        opening = self._openings.get(names)
        if opening is None:
            folded = self._opening.encode("ascii") + b"\r\n " + _fold_names(names)
            opening = folded, folded.replace(b"\r\n ", b" ")
            if len(self._openings) < _CACHED_OPENINGS:
                self._openings[names] = opening
        return opening


_signers: OrderedDict[tuple[bytes, str, str, tuple[str, ...]], Signer] = OrderedDict()
_signers_lock = Lock()


def load_signer(
    private_key: str,
    selector: str,
    domain: str,
    headers: Sequence[str] = DEFAULT_HEADERS,
) -> Signer:
    """Return the signer for these arguments from a cache of the last 256; raises as ``Signer``."""
    identity = (sha256(private_key.encode()).digest(), selector, domain, tuple(headers))
    with _signers_lock:
        signer = _signers.get(identity)
        if signer is None:
            signer = _signers[identity] = Signer(private_key, selector, domain, headers)
            if len(_signers) > _CACHED_SIGNERS:
                _signers.popitem(last=False)
        else:
            _signers.move_to_end(identity)
        return signer


def _fold_names(names: bytes) -> bytes:
    """Return the h= tag, folded after colons."""
    lines: list[bytes] = []
    line = b"h="
    for name in names.split(b":"):
        if len(line) + len(name) + 2 > _LINE and line != b"h=":
            lines.append(line)
            line = b""
        line += name + b":"
    return b"\r\n ".join([*lines, line[:-1] + b";"])
