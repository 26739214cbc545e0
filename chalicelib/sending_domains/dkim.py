"""DKIM signatures (RFC 6376): rsa-sha256, relaxed/relaxed, at little more than the cost of RSA.

A message is bytes with CRLF line ends only, as it goes over SMTP. Canonicalisation works on whole
headers and large pieces of the body with single passes at C speed, linear on any input. The key
functions of `dkim_keys` are offered here too, so that callers need one module.
"""

import re
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from threading import Lock

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from chalicelib.sending_domains.dkim_keys import (
    DkimKeyError,
    KeyPair,
    canonical_public,
    check_pair,
    generate_key,
    public_from_private,
    read_private,
    txt_record,
)

__all__ = [
    "DEFAULT_HEADERS",
    "DkimError",
    "DkimKeyError",
    "KeyPair",
    "Signer",
    "canonical_public",
    "check_pair",
    "generate_key",
    "load_signer",
    "public_from_private",
    "txt_record",
]

DEFAULT_HEADERS = ("from", "to", "subject", "date")
# Signed whenever present: what a reader acts on or relies on (RFC 6376 5.4.1, RFC 8058 4).
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
# Listed once more than they occur: another one would change who the sender is, or where the button
# to unsubscribe leads
_NO_MORE = frozenset({b"from", b"list-unsubscribe", b"list-unsubscribe-post"})
_CACHED_SIGNERS = 256
_CACHED_OPENINGS = 64
_PIECE = 1 << 16
_LINE = 76

_LABELS = re.compile(
    r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)*"
)
_FIELD_NAME = re.compile(r"[!-9;-~]+")
_RUN = re.compile(rb"  +")
_TAB_TO_BLANK = bytes.maketrans(b"\t", b" ")
_BLANKS = b" \t\r\n"
_PADDING, _HASH = PKCS1v15(), SHA256()


class DkimError(ValueError):
    """A domain, selector, header list or message that cannot be signed; the text says why."""


class Signer:
    """Signs messages with one key for one domain; may be shared between threads.

    `headers` are the names to sign where present, in this order; From is always signed. Names that
    readers act on, such as List-Unsubscribe, are added when present. From and the headers to
    unsubscribe by are listed once more than they occur, so that adding another breaks the
    signature. Raises DkimKeyError on a key that cannot sign and DkimError on the other arguments.
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
        self._wanted = frozenset(self._order)
        self._opening = f"v=1; a=rsa-sha256; c=relaxed/relaxed;\r\n d={domain};\r\n s={selector};"
        self._openings: dict[bytes, tuple[bytes, bytes]] = {}
        self._sign = read_private(private_key, check=False).sign

    def sign(self, message: bytes, timestamp: int) -> bytes:
        """Return the DKIM-Signature field, folded and with its CRLF, to put before the message.

        `timestamp` is in seconds since the epoch. Raises DkimError without a From header.
        """
        head_end, body_start = _split(message)
        names, signed = self._signed_headers(message[:head_end])
        opening, canonical_opening = self._opening_for(names)
        closing = b" t=%d; bh=%s;" % (timestamp, b64encode(_body_hash(message, body_start)))
        signed.append(b"dkim-signature:%s%s b=" % (canonical_opening, closing))
        value = b64encode(self._sign(b"".join(signed), _PADDING, _HASH))
        lines = [value[at : at + _LINE - 4] for at in range(0, len(value), _LINE - 4)]
        return b"DKIM-Signature: %s\r\n%s\r\n b=%s\r\n" % (opening, closing, b"\r\n ".join(lines))

    def _signed_headers(self, head: bytes) -> tuple[bytes, list[bytes]]:
        """Return the h= list and the canonical fields it names, same names from the bottom up."""
        found = self._canonical_fields(head)
        if b"from" not in found:
            raise DkimError("a message without a From header cannot be signed")
        names: list[bytes] = []
        signed: list[bytes] = []
        for name in self._order:
            fields = found.get(name)
            if fields:
                names += [name] * len(fields)
                signed += reversed(fields)
                if name in _NO_MORE:
                    names.append(name)
        return b":".join(names), signed

    def _canonical_fields(self, head: bytes) -> dict[bytes, list[bytes]]:
        """Return the wanted fields by name, each relaxed (RFC 6376 3.4.2), in message order."""
        head = head.translate(_TAB_TO_BLANK).replace(b"\r\n ", b" ")
        found: dict[bytes, list[bytes]] = {}
        for line in _RUN.sub(b" ", head).split(b"\r\n"):
            name, _, value = line.partition(b":")
            name = name.rstrip(b" ").lower()
            if name in self._wanted:
                found.setdefault(name, []).append(b"%s:%s\r\n" % (name, value.strip(b" ")))
        return found

    def _opening_for(self, names: bytes) -> tuple[bytes, bytes]:
        """Return the signature up to h=, folded and canonical; messages share few of them."""
        known = self._openings.get(names)
        if known is None:
            folded = self._opening.encode("ascii") + b"\r\n " + _fold_names(names)
            known = folded, folded.replace(b"\r\n ", b" ")
            if len(self._openings) < _CACHED_OPENINGS:
                self._openings[names] = known
        return known


_signers: OrderedDict[tuple[bytes, str, str, tuple[str, ...]], Signer] = OrderedDict()
_signers_lock = Lock()


def load_signer(
    private_key: str,
    selector: str,
    domain: str,
    headers: Sequence[str] = DEFAULT_HEADERS,
) -> Signer:
    """Return the signer of these arguments, kept among the 256 last used; raises as Signer."""
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
    """Return the h= tag, folded behind colons."""
    lines: list[bytes] = []
    line = b"h="
    for name in names.split(b":"):
        if len(line) + len(name) + 2 > _LINE and line != b"h=":
            lines.append(line)
            line = b""
        line += name + b":"
    return b"\r\n ".join([*lines, line[:-1] + b";"])


def _split(message: bytes) -> tuple[int, int]:
    """Return where the header section ends, before its last CRLF, and where the body starts."""
    if message.startswith(b"\r\n"):
        return 0, 2
    blank = message.find(b"\r\n\r\n")
    return (len(message), len(message)) if blank < 0 else (blank, blank + 4)


def _body_hash(message: bytes, start: int) -> bytes:
    digest = sha256()
    for piece in _canonical_body(message, start):
        digest.update(piece)
    return digest.digest()


def _canonical_body(message: bytes, start: int) -> Iterator[bytes]:
    """Yield the relaxed body (RFC 6376 3.4.4) in pieces that end where a line does.

    Blanks at line ends and blank lines at the end go, other runs of blanks become one. Working
    in pieces keeps a large message from being copied whole at every step.
    """
    end = _end_of_text(message, start)
    at = start
    while at < end:
        cut = message.find(b"\r\n", at + _PIECE, end)
        stop = end if cut < 0 else cut + 2
        piece = message[at:stop]
        if b"\t" in piece:
            piece = piece.translate(_TAB_TO_BLANK)
        if b" " in piece:
            piece = _RUN.sub(b" ", piece).replace(b" \r\n", b"\r\n")
        yield piece
        at = stop
    if end > start:
        yield b"\r\n"


def _end_of_text(message: bytes, start: int) -> int:
    """Return where the body ends without its last line ends and blanks, looking from the back."""
    end = len(message)
    while end > start:
        window = message[max(start, end - 4096) : end]
        kept = len(window.rstrip(_BLANKS))
        end -= len(window) - kept
        if kept:
            break
    return end
