from __future__ import annotations

import pytest

from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.mime_tree import parse_tree
from chalicelib.mail_format.part_encoding import check_encodings


def message(encoding: str, body: str, content_type: str = "application/pdf") -> bytes:
    """Return a message whose last part has this encoding and body."""
    lines = [
        "Content-Type: multipart/mixed; boundary=b",
        "",
        "--b",
        "",
        "Hello",
        "--b",
        f"Content-Type: {content_type}",
        f"Content-Transfer-Encoding: {encoding}",
        "Content-Disposition: attachment; filename=a.pdf",
        "",
        body,
        "--b--",
    ]
    return "\r\n".join(lines).encode()


def check(data: bytes) -> None:
    check_encodings(data, parse_tree(data))


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("base64", "AAAA\r\nAA=="),
        ("BASE64", "AAAA\r\nAAA"),
        ("base64", ""),
        ("quoted-printable", "=ZZ=\r\n= x ="),
        ("7bit", "x"),
        ("8bit", "é"),
        ("binary", "x"),
        ("x-uuencode", "begin 644 a"),
    ],
)
def test_a_part_that_readers_decode_passes(encoding: str, body: str) -> None:
    check(message(encoding, body))


@pytest.mark.parametrize("content_type", ["application/pdf", "text/plain", "message/rfc822"])
@pytest.mark.parametrize(
    ("encoding", "body", "fault"),
    [
        ("base64", "$$$", "part cannot be decoded"),
        ("base64", "AAAAA", "part cannot be decoded"),
        ("rot13", "x", "unknown Content-Transfer-Encoding 'rot13'"),
    ],
)
def test_a_part_that_no_reader_decodes_is_refused(
    content_type: str, encoding: str, body: str, fault: str
) -> None:
    with pytest.raises(MessageError, match=fault):
        check(message(encoding, body, content_type))
