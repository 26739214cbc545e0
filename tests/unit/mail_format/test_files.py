"""The judge is the standard library's parser: it must find the message that was attached."""

from __future__ import annotations

import email
import email.policy
import re
from base64 import b64encode
from email.message import EmailMessage
from typing import cast

import pytest

from chalicelib.mail_format.files import Attachment, InlineImage, MimeError
from chalicelib.mail_format.mime import build_message

HEADERS = [b"From: a@example.test\r\n", b"Subject: x\r\n"]
INNER = b"From: ben@example.test\r\nSubject: Inner\r\n\r\ninner text\r\n"
ALTERNATIVE = b"--i\r\n\r\none\r\n--i\r\nContent-Type: text/html\r\n\r\n<p>two\r\n--i--\r\n"


def attached(kind: str, data: bytes, file: type[Attachment | InlineImage] = Attachment) -> bytes:
    """Return a message with a file of this type."""
    encoded = file("inner.eml", kind, b64encode(data).decode())
    files = {"attachments": [encoded]} if file is Attachment else {"inline_images": [encoded]}
    return build_message(HEADERS, html="<p>", boundary_seed="s", **files).data  # type: ignore[arg-type]


def part_of(message: bytes) -> EmailMessage:
    assert message.isascii()
    assert all(len(line) <= 998 for line in message.split(b"\r\n"))
    parsed = cast(EmailMessage, email.message_from_bytes(message, policy=email.policy.default))
    return cast(EmailMessage, parsed.get_payload(1))


def encoding_of(part: EmailMessage) -> str:
    return str(part["Content-Transfer-Encoding"])


@pytest.mark.parametrize("file", [Attachment, InlineImage])
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("message/rfc822", INNER),
        ("Message/RFC822; name=inner.eml", INNER),
        ("message/rfc822", b"no header at all\r\n\r\nx"),
        ("message/partial; id=a; number=1", INNER),
        ("message/external-body; access-type=URL", b"Content-Type: text/plain\r\n\r\n"),
        ("message/delivery-status", b"Reporting-MTA: dns; a.test\r\n\r\nAction: failed\r\n"),
        ("message/x-own", b"x\r\n"),
        ('MULTIPART/Alternative; boundary="i"', ALTERNATIVE),
    ],
)
def test_a_message_is_attached_as_it_is(
    kind: str, data: bytes, file: type[Attachment | InlineImage]
) -> None:
    message = attached(kind, data, file)
    part = part_of(message)
    assert encoding_of(part) == "7bit"
    assert f"Content-Type: {kind}\r\n".encode() in message
    assert b"\r\n\r\n" + data + b"\r\n--=_" in message


def test_line_ends_of_an_attached_message_become_crlf() -> None:
    assert attached("message/rfc822", INNER.replace(b"\r\n", b"\n")) == attached(
        "message/rfc822", INNER
    )


@pytest.mark.parametrize(
    "kind", ["message/global", "message/global-headers", "text/rfc822-headers", "x/y", "message"]
)
def test_other_types_are_base64(kind: str) -> None:
    data = b64encode("Subject: ü\r\n\r\n\0".encode())
    encoded = b"".join(Attachment("a", kind, data.decode()).encoded)
    assert b"\r\nContent-Transfer-Encoding: base64\r\n" in encoded
    assert encoded.endswith(b"\r\n\r\n" + data)


@pytest.mark.parametrize("kind", ["message/rfc822", "message/news"])
def test_the_parts_of_an_attached_message_are_encoded(kind: str) -> None:
    inner = EmailMessage(policy=email.policy.SMTP)
    inner["Subject"] = "Inner"
    inner.set_content("Zoë\r\n" + "x" * 1200, cte="8bit")
    inner.add_attachment(b"\0\xff", "image", "png", cte="base64", filename="ü.png")
    data = inner.as_bytes().replace(b"Inner", "Größe".encode())
    assert not data.isascii()
    part = part_of(attached(kind, data))
    message = cast(EmailMessage, part.get_payload(0))
    assert message["Subject"] == "Größe"
    text, image = message.iter_parts()
    assert text.get_content().split() == ["Zoë", "x" * 1200]
    assert image.get_content() == b"\0\xff"
    assert image.get_filename() == "ü.png"


def test_the_parts_of_an_attached_multipart_are_encoded() -> None:
    data = ALTERNATIVE.replace(b"one", "ü".encode()).replace(b"--i--", b"--i--\r\n\xff")
    part = part_of(attached("multipart/alternative; boundary=i", data))
    texts = [cast(bytes, each.get_payload(decode=True)) for each in part.iter_parts()]
    assert texts == ["ü".encode(), b"<p>two"]


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        (
            "message/rfc822",
            b"Subject: x\r\n\r\n-----BEGIN PGP SIGNED MESSAGE-----\r\n\xff",
            "not 7bit",
        ),
        ("message/rfc822", "From: jörg@a.test\r\n\r\nx".encode(), "not 7bit"),
        ("message/rfc822", b"References: <" + b"x" * 1000 + b">\r\n\r\nx", "header References"),
        ("message/rfc822", b"no header\r\n\r\n" + b"x" * 999, "998"),
        ("message/rfc822", b"no header\r\n\r\n\xff", "malformed header line|not 7bit"),
        ("message/delivery-status", b"Reporting-MTA: \xff", "not 7bit"),
        ("message/partial", b"x\0", "NUL"),
        ("message/x-own", b"x" * 999, "998"),
        ("multipart/mixed", ALTERNATIVE, "boundary"),
        ("multipart/mixed; boundary=j", ALTERNATIVE, "delimiter"),
    ],
)
def test_a_message_that_can_be_attached_in_no_form_is_refused(
    kind: str, data: bytes, reason: str
) -> None:
    file = Attachment("inner.eml", kind, b64encode(data).decode())
    with pytest.raises(MimeError, match=f"'inner.eml': {kind}: .*({reason})"):
        _ = file.encoded


def test_a_boundary_never_occurs_in_an_attached_message() -> None:
    first = attached("message/rfc822", INNER)
    (boundary,) = re.findall(rb'multipart/mixed;\r\n boundary="=_m([0-9a-f]+)"', first)
    second = attached("message/rfc822", INNER + b"--=_m" + boundary + b"--\r\n")
    assert second.count(boundary) == 1
    assert cast(EmailMessage, part_of(second).get_payload(0))["Subject"] == "Inner"
