"""Sign messages in ways that the service itself does not use, to verify them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256

import dkim
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.signed_message import relaxed_field
from tests.unit.key_pairs import PAIR

DOMAIN, SELECTOR = "sender.test", "s1"
SEALERS = ("one.test", "two.test", "three.test")
KEY_NAME = f"{SELECTOR}._domainkey.{DOMAIN}"
RECORD = txt_record(PAIR.public_b64)
_ED25519 = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ED25519_RECORD = (
    "v=DKIM1; k=ed25519; p="
    + b64encode(_ED25519.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
)

MESSAGE = (
    b"From: Ann <ann@sender.test>\r\nTo: bob@in.test\r\nSubject: a \t folded\r\n  subject\r\n"
    b"Date: Sat, 28 Nov 2026 10:00:00 +0000\r\nMessage-ID: <1@sender.test>\r\n"
    b"\r\nHello  Bob, \r\n\tit  works.\r\n\r\n\r\n"
)


def sign(message: bytes = MESSAGE, **options: object) -> bytes:
    """Return a message signed by dkimpy with the tests' key."""
    keys = (SELECTOR.encode(), DOMAIN.encode(), PAIR.private_pem.encode())
    return bytes(dkim.sign(message, *keys, **options)) + message


def sign_by_hand(tags: Mapping[str, str], body_form: bytes, head: bytes = b"") -> bytes:
    """Return MESSAGE with an Ed25519 signature, whose tags replace those that are usual.

    ``head`` is the relaxed form of the fields that h= names, by default that of From.
    """
    usual = {
        **{"v": "1", "a": "ed25519-sha256", "c": "relaxed/relaxed", "d": DOMAIN, "s": SELECTOR},
        **{"h": "from", "bh": b64encode(sha256(body_form).digest()).decode()},
    }
    text = "; ".join(f"{name}={value}" for name, value in {**usual, **tags}.items() if value)
    value = f" {text}; b=".encode()
    own = relaxed_field(b"dkim-signature", value).removesuffix(b"\r\n")
    head = head or b"from:Ann <ann@sender.test>\r\n"
    signature = b64encode(_ED25519.sign(sha256(head + own).digest()))
    return b"DKIM-Signature:" + value + signature + b"\r\n" + MESSAGE


def seal(message: bytes, sealer: str, state: bytes = b"pass") -> bytes:
    """Add a set of ARC fields, as a host named ``sealer`` does."""
    results = f"Authentication-Results: {sealer}; arc={state.decode()}; spf=pass\r\n".encode()
    keys = (b"s1", sealer.encode(), PAIR.private_pem.encode(), sealer.encode())
    fields = dkim.arc_sign(results + message, *keys)
    return b"".join(bytes(field) for field in fields) + message


def sealed(sets: int, message: bytes | None = None) -> bytes:
    """Return a message that so many hosts sealed."""
    message = sign() if message is None else message
    for number in range(sets):
        message = seal(message, SEALERS[number % 3], b"pass" if number else b"none")
    return message


def texts_of(**records: str) -> Callable[[str], list[str]]:
    """Return a look-up; ``_`` in a name stands for a dot, and the tests' key is at its name."""
    zone = {KEY_NAME: RECORD} | {name.replace("_", "."): text for name, text in records.items()}
    return lambda name: [zone[name]] if name in zone else []
