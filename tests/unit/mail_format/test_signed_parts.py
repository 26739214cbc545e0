from __future__ import annotations

import pytest

from chalicelib.mail_format import text_parts
from chalicelib.mail_format.mime_tree import parse_tree
from chalicelib.mail_format.signed_parts import is_sealed

SIGNED = b"""\
From: a@b.test
Content-Type: multipart/mixed; boundary=o

--o
Content-Type: multipart/signed; boundary=s; micalg=pgp-sha1; protocol="x/y"

--s
Content-Type: text/plain

signed
--s
Content-Type: application/pgp-signature

x
--s--
--o
Content-Type: text/html

<p>
--o--
""".replace(b"\n", b"\r\n")


def are_sealed(message: bytes) -> list[bool]:
    tree = parse_tree(message)
    return [is_sealed(message, part, tree) for part in tree]


def test_the_parts_in_multipart_signed_are_sealed() -> None:
    tree = parse_tree(SIGNED)
    plain, html = text_parts.find(tree)
    assert is_sealed(SIGNED, plain, tree)
    assert not is_sealed(SIGNED, html, tree)
    assert are_sealed(SIGNED) == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        (b"text/plain", b"-----BEGIN PGP SIGNED MESSAGE-----\r\nHash: SHA256\r\n\r\nx", True),
        (b"text/html", b"<pre>\r\n-----BEGIN PGP SIGNED MESSAGE----- \r\n\r\nx", True),
        (b"text/plain", b"> -----BEGIN PGP SIGNED MESSAGE-----\r\n", False),
        (b"text/plain", b"-----BEGIN PGP SIGNED MESSAGE----- as a quotation", False),
        (b"application/x", b"-----BEGIN PGP SIGNED MESSAGE-----\r\n", False),
    ],
)
def test_a_text_with_a_signature_in_its_own_lines_is_sealed(
    content_type: bytes, body: bytes, expected: bool
) -> None:
    assert are_sealed(b"Content-Type: " + content_type + b"\r\n\r\n" + body) == [expected]
