import email
import quopri
import re
from base64 import b64encode
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chalicelib.mail_format.transfer_encoding import (
    decode_base64,
    encode_text,
    is_base64,
    is_seven_bit,
    normalise_newlines,
    quoted_printable,
    wrap_base64,
)
from tests.unit.linear_time import assert_linear
from tests.unit.mail_format.examples import BODY, examples

QP_LINE = re.compile(rb"(?:[ -<>-~\t]|=[0-9A-F]{2})*=?")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("", "7bit"),
        ("plain", "7bit"),
        ("x" * 998, "7bit"),
        (f"{'x' * 998}\n{'x' * 998}\n\n", "7bit"),
        ("x" * 999, "quoted-printable"),
        (f"x\n{'x' * 999}\nx", "quoted-printable"),
        ("nul \0", "quoted-printable"),
        ("Grüße aus dem Süden", "quoted-printable"),
        ("日本語のメール、よろしく", "quoted-printable"),
        ("<p>日本</p>" + "x" * 50, "quoted-printable"),
    ],
)
def test_each_text_gets_the_first_encoding_that_suits_it(text: str, encoding: str) -> None:
    assert encode_text(text).encoding == encoding


@pytest.mark.spec("2.2-t3")
@pytest.mark.spec("2.2-t4")
@examples(300)
@given(BODY)
def test_every_body_decodes_to_its_text_with_crlf(text: str) -> None:
    encoding, body = encode_text(text)
    decode = {"7bit": bytes, "quoted-printable": quopri.decodestring}
    expected = re.sub("\r\n|\r|\n", "\r\n", text).encode()
    assert decode[encoding](body) == expected
    longest = 998 if encoding == "7bit" else 76
    assert all(len(line) <= longest for line in body.split(b"\r\n"))
    assert body.isascii()


@examples(500)
@given(BODY)
@example("x" * 74 + " \n")
@example("x" * 75 + "\t\nnext")
@example("x" * 74 + "  ")
@example("x" * 76 + "\n.\n")
def test_quoted_printable_keeps_every_rule_of_its_rfc(text: str) -> None:
    encoded = quoted_printable(normalise_newlines(text.encode()))
    for line in encoded.split(b"\r\n"):
        assert len(line) <= 76
        assert QP_LINE.fullmatch(line)
        assert not line.endswith((b" ", b"\t"))


@pytest.mark.parametrize(
    ("data", "fits"),
    [
        (b"", True),
        (b"x" * 998 + b"\r\n" + b"x" * 998, True),
        (b"x\r\n" + b"x" * 999, False),
        (b"x\0", False),
        (b"\x80", False),
        (b"\x01\x0b\x1b\x7f", True),
    ],
)
def test_what_every_host_takes_is_seven_bit(data: bytes, fits: bool) -> None:
    assert is_seven_bit(data) is fits


@pytest.mark.spec("2.2-r3")
@examples(300)
@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n"])).map(b"".join))
def test_every_kind_of_line_end_becomes_crlf(data: bytes) -> None:
    assert normalise_newlines(data) == re.sub(rb"\r\n|\r|\n", b"\r\n", data)


@pytest.mark.spec("2.2-t8")
@pytest.mark.parametrize("size", [0, 1, 56, 57, 58, 57_000, 57_001, 200_000])
def test_base64_is_wrapped_at_76_without_an_end(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    encoded = b64encode(data[:size]).decode()
    joined = b"".join(wrap_base64(encoded))
    lines = joined.split(b"\r\n")
    assert b"".join(lines).decode() == encoded
    assert all(len(line) == 76 for line in lines[:-1])
    assert len(lines[-1]) <= 76
    assert size == 0 or lines[-1]


@pytest.mark.parametrize(
    "text", ["YQ==\n", "YQ=", "YQ", "Y Q==", "YQ==YQ==", "Y-_=", "é", "=", "YWJj=", "YWJj===="]
)
def test_only_strict_base64_is_recognised(text: str) -> None:
    assert not is_base64(text)
    assert is_base64("YQ==")
    assert is_base64("")


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 1_000_000,
        " \n" * 500_000,
        "\r" * 1_000_000,
        " " * 1_000_000,
        "é" * 500_000,
        ("\n" + "x" * 998) * 1000,
        "x\n" * 500_000 + "x" * 999,
    ],
)
def test_hostile_bodies_take_linear_time(text: str) -> None:
    assert_linear(encode_text, text)


def read_by_python(body: bytes) -> bytes:
    message = email.message_from_bytes(b"Content-Transfer-Encoding: base64\r\n\r\n" + body)
    decoded = message.get_payload(decode=True)
    assert isinstance(decoded, bytes)
    return decoded


@given(st.binary(), st.integers(1, 80), st.sampled_from([b"\r\n", b"\n", b" ", b"\t\r\n", b""]))
def test_base64_is_decoded_whatever_its_lines_are(data: bytes, width: int, end: bytes) -> None:
    encoded = b64encode(data)
    body = b"".join(encoded[at : at + width] + end for at in range(0, len(encoded), width))
    assert decode_base64(body) == data == read_by_python(body)


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"", b""),
        (b"\r\n", b""),
        (b"YWI=", b"ab"),
        (b"YWI", b"ab"),  # no padding
        (b"YQ", b"a"),
        (b"YQ=", b"a"),
        (b"YWI==", b"ab"),  # too much of it
        (b"YWJj=", b"abc"),
        (b"YW!Jj", b"abc"),  # characters to be ignored (RFC 2045 6.8)
        (b"Y-W_I=", b"ab"),
        (b"YWI=\r\n--\r\nA list's footer", b"ab"),
    ],
)
def test_base64_is_decoded_as_mail_readers_do(body: bytes, data: bytes) -> None:
    assert decode_base64(body) == data


@pytest.mark.parametrize(
    "body",
    [
        b"$$$",
        b"=",
        b"====",
        b"Y",
        b"YWJjZ",
        b"YWJjZ=",
        b"!!!not base64!!!",
        b"Hello, world!",
        b"\0",
    ],
)
def test_base64_that_is_not_complete_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="incomplete base64"):
        decode_base64(body)


@pytest.mark.parametrize("piece", [b"YWJj\r\n", b"Y!", b"Y=", b"$"])
def test_base64_is_decoded_in_linear_time(piece: bytes) -> None:
    assert_linear(_decoded, piece * 400_000)


def _decoded(body: bytes) -> None:
    with suppress(ValueError):
        decode_base64(body)
