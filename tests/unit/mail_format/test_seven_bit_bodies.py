from __future__ import annotations

from base64 import b64decode
from binascii import a2b_qp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.seven_bit_bodies import (
    base64_body,
    seven_bit_body,
    text_body,
    undescribed_body,
)
from tests.unit.mail_format.examples import BODY, examples


@examples(200)
@given(st.binary(max_size=400), st.sampled_from(["", "8bit", "binary", "nonsense"]))
def test_a_file_has_the_same_octets(body: bytes, encoding: str) -> None:
    encoded = seven_bit_body(body, encoding, is_text=False, delimiters=[])
    assert encoded.encoding == "base64"
    assert b64decode(encoded.body) == body
    assert all(len(line) <= 76 for line in encoded.body.split(b"\r\n"))


@examples(200)
@given(st.binary(max_size=400))
def test_long_quoted_printable_decodes_to_the_same(data: bytes) -> None:
    body = b"".join(b"=%02x" % octet if octet % 3 else b"%c" % octet for octet in data)
    body = body.replace(b"\r", b"").replace(b"\n", b"") * 10
    encoded = seven_bit_body(body, "quoted-printable", is_text=True, delimiters=[])
    assert encoded.encoding == "quoted-printable"
    assert all(len(line) <= 76 for line in encoded.body.split(b"\r\n"))
    assert encoded.body.isascii()
    assert a2b_qp(encoded.body) == a2b_qp(body)


@examples(100)
@given(BODY)
def test_a_text_with_a_delimiter_is_base64(text: str) -> None:
    encoded = text_body(f"{text}\n--b\n", [b"--a", b"--b"])
    assert encoded.encoding == "base64"
    expected = f"{text}\n--b\n".replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
    assert b64decode(encoded.body).decode() == expected
    assert text_body("--c", [b"--b"]) == ("7bit", b"--c")


def test_a_delimiter_that_shorter_lines_would_make_is_avoided() -> None:
    body = b"x" * 75 + b"--b" * 400
    encoded = seven_bit_body(body, "quoted-printable", is_text=True, delimiters=[b"--b"])
    assert encoded == base64_body(body)


def test_a_line_that_may_not_be_encoded_ends_behind_a_blank() -> None:
    body = b"short \r\n" + b"word " * 400 + b"\r\nend"
    new = undescribed_body(body)
    assert max(map(len, new.split(b"\r\n"))) <= 998
    assert new.replace(b"word \r\nword", b"word word") == body
    with pytest.raises(MessageError):
        undescribed_body(b"a " + b"x" * 999)
