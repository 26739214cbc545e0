"""Check messages as a mailbox provider would."""

from __future__ import annotations

import base64
from functools import cache

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from chalicelib.core import dns
from infrastructure.local.messages.checks import CLIP_BYTES, Check, checks_of
from infrastructure.local.messages.parts import StoredMessage
from tests.unit.infrastructure.local.messages.sample_message import stored

UNSUBSCRIBE = (
    b"List-Unsubscribe: <http://localhost/t/u/x>\r\n"
    b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
)


@cache
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def records(name: str) -> list[str]:
    """Answer as the DNS of ``example.test``."""
    if name == "broken._domainkey.example.test":
        raise dns.LookupFailed(name, "SERVFAIL")
    if name != "key1._domainkey.example.test":
        return []
    public = key().public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return ["v=DKIM1; k=rsa; p=" + base64.b64encode(public).decode()]


def signed(content: bytes, *fields: bytes, selector: bytes = b"key1") -> bytes:
    pem = key().private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    names = [b"From", *fields]
    return dkim.sign(content, selector, b"example.test", pem, include_headers=names) + content


def message(html: str = "<p>Hello</p>", head: bytes = b"", author: str = "a@example.test") -> bytes:
    body = f"From: {author}\r\nContent-Type: text/html; charset=utf-8\r\n".encode()
    return body + head + b"\r\n" + html.encode() + b"\r\n"


def check(name: str, content: bytes, sender: str = "b@bounce.test") -> Check:
    results = checks_of(StoredMessage(stored(content, sender)), records)
    return next(each for each in results if each.check == name)


def test_a_valid_signature_passes() -> None:
    result = check("dkim", signed(message()))
    assert (result.status, result.details) == ("pass", ["key1._domainkey.example.test: valid"])


@pytest.mark.parametrize(
    "content",
    [
        signed(message()).replace(b"Hello", b"Help!"),
        signed(message(), selector=b"key2"),
        signed(message(), selector=b"broken"),
        b"DKIM-Signature: v=1; nonsense\r\n" + message(),
    ],
    ids=["changed", "no key", "no answer", "malformed"],
)
def test_a_signature_that_is_not_valid_fails(content: bytes) -> None:
    result = check("dkim", content)
    assert result.status == "fail"
    assert "valid" not in result.details[0].split(":")[-1]


def test_a_message_without_signature_is_warned_of() -> None:
    assert check("dkim", message()).status == "warn"


@pytest.mark.parametrize(
    ("content", "sender", "status"),
    [
        (signed(message()), "b@bounce.test", "pass"),
        (signed(message(author="a@news.example.test")), "b@bounce.test", "pass"),
        (signed(message(author="a@other.test")), "b@bounce.test", "fail"),
        (message(), "b@bounces.example.test", "pass"),
        (message(), "", "fail"),
        (message(author="nobody"), "nobody", "fail"),
        (message(author="a@localhost"), "b@localhost", "fail"),
        (message(author="a@co.uk"), "b@co.uk", "fail"),
        (message(author="a@..."), "b@...", "fail"),
    ],
)
def test_from_must_be_aligned(content: bytes, sender: str, status: str) -> None:
    assert check("alignment", content, sender).status == status


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (message(), "warn"),
        (message(head=b"List-Unsubscribe: <mailto:u@a.test>\r\n"), "warn"),
        (message(head=UNSUBSCRIBE), "fail"),
        (signed(message(head=UNSUBSCRIBE)), "fail"),
        (
            signed(message(head=UNSUBSCRIBE), b"List-Unsubscribe", b"List-Unsubscribe-Post"),
            "pass",
        ),
    ],
)
def test_one_click_must_be_offered_and_signed(content: bytes, status: str) -> None:
    assert check("list_unsubscribe", content).status == status


@pytest.mark.parametrize(
    ("size", "status"), [(100, "pass"), (CLIP_BYTES - 100, "warn"), (CLIP_BYTES + 1, "fail")]
)
def test_html_that_gmail_clips_fails(size: int, status: str) -> None:
    assert check("size", message("x" * size)).status == status


def test_html_needs_a_text_beside_it() -> None:
    assert check("text_part", message()).status == "warn"
    assert check("text_part", b"From: a@a.test\r\n\r\nHello\r\n").status == "pass"
    assert check("text_part", b"From: a@a.test\r\n\r\n\r\n").status == "fail"
    assert check("size", b"From: a@a.test\r\n\r\nHello\r\n").status == "none"


def test_images_need_an_alt_text() -> None:
    assert check("image_alt", message()).status == "none"
    assert check("image_alt", message('<img src="https://a.test/1" alt="">')).status == "pass"
    lacking = check("image_alt", message('<img src="https://a.test/1">'))
    assert (lacking.status, lacking.details) == ("warn", ["https://a.test/1"])
