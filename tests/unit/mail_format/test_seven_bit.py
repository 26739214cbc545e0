"""The judge is the standard library's parser: a reader gets the same parts as before."""

from __future__ import annotations

import email
import email.policy
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from email.message import Message
from quopri import encodestring

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.mime_tree import readable_tree
from chalicelib.mail_format.seven_bit import is_composite, seven_bit
from chalicelib.mail_format.transfer_encoding import is_seven_bit
from tests.unit.linear_time import assert_linear
from tests.unit.mail_format.examples import examples

LONG = b"long " * 300
HOSTILE = [
    b"plain",
    "ü".encode(),
    b"\xff\xfe",
    LONG,
    b"=41=3D",
    b"--b",
    b"--o",
    b"x" * 1100,
    b".",
    b"",
]
LEAVES = [
    b"",
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n",
    b"Content-Type: text/html\r\n",
    b"Content-Type: image/png\r\nContent-Transfer-Encoding: binary\r\n",
    b"Content-Type: text/x; name=a\r\nContent-Disposition: attachment\r\n",
]


def converted(message: bytes, **options: bool) -> bytes:
    return seven_bit(message, readable_tree(message), **options)


def parts(message: bytes) -> list[tuple[str, bytes]]:
    """Return the types of all leaves, and their decoded bodies."""
    return _leaves(email.message_from_bytes(message, policy=email.policy.SMTP))


def _leaves(message: Message) -> list[tuple[str, bytes]]:
    if message.is_multipart():
        return [leaf for part in message.get_payload() for leaf in _leaves(part)]  # type: ignore
    body = message.get_payload(decode=True)
    assert isinstance(body, bytes)
    return [(message.get_content_type(), body.rstrip(b"\r\n"))]


def multipart(*bodies: bytes, boundary: bytes = b"b", kind: bytes = b"mixed") -> bytes:
    inner = b"".join(b"--%b\r\n%b\r\n" % (boundary, body) for body in bodies)
    return b"Content-Type: multipart/%b; boundary=%b\r\n\r\n%b--%b--\r\n" % (
        *(kind, boundary, inner, boundary),
    )


def leaf(header: bytes, body: bytes) -> bytes:
    return header + b"\r\n" + body


BODIES = st.lists(st.sampled_from(HOSTILE), max_size=5).map(b"\r\n".join)
LEAF = st.builds(leaf, st.sampled_from(LEAVES), BODIES)
NESTED = st.builds(
    lambda part: leaf(b"Content-Type: message/rfc822\r\n", b"Subject: x\r\n" + part), LEAF
)
TREE = LEAF | st.lists(LEAF | NESTED, min_size=1, max_size=3).map(
    lambda parts: multipart(*parts, boundary=b"o")
)


@examples(400)
@given(TREE)
def test_a_reader_gets_the_same_parts(entity: bytes) -> None:
    message = b"Subject: x\r\nMIME-Version: 1.0\r\n" + entity
    tree = readable_tree(message)
    assume(tree)  # a body may hold a delimiter
    new = seven_bit(message, tree)
    assert is_seven_bit(new)
    assert parts(new) == parts(message)
    assert seven_bit(new, readable_tree(new)) is new


@pytest.mark.parametrize(
    "body",
    [b"plain", b"\r\n", multipart(b"\r\nx", b"\r\ny"), b"x" * 998 + b"\r\n", b"\x01\x0b\x1b"],
)
def test_a_message_that_every_host_takes_is_the_same_object(body: bytes) -> None:
    message = b"Subject: x\r\n\r\n" + body
    assert converted(message) is message


@pytest.mark.parametrize(
    ("header", "body", "new_header"),
    [
        (b"", "ü", b"text/plain; charset=utf-8"),
        (b"", b"\xff", b""),
        (b"Content-Type: text/html\r\n", "ü", b"text/html; charset=utf-8"),
        (b"Content-Type: text/html; charset=us-ascii\r\n", "ü", b"text/html; charset=utf-8"),
        (b"Content-Type: text/html; charset=latin1\r\n", b"\xfc", b"text/html; charset=latin1"),
        (b"Content-Type: text/html; charset=latin1\r\n", "ü", b"text/html; charset=latin1"),
    ],
)
def test_a_text_is_told_to_be_utf_8_only_where_it_is(
    header: bytes, body: bytes | str, new_header: bytes
) -> None:
    octets = body.encode() if isinstance(body, str) else body
    new = converted(b"Subject: x\r\n" + header + b"\r\n" + octets)
    head = new.partition(b"\r\n\r\n")[0]
    assert b"\r\nContent-Transfer-Encoding: quoted-printable" in head
    assert b"\r\nMIME-Version: 1.0" in head
    assert head.count(b"Content-Type: " + new_header) == bool(new_header)


def test_a_message_that_may_not_be_described_gets_no_content_headers() -> None:
    message = "Subject: ü\r\n\r\nü\0ü".encode() + b" word" * 300
    new = converted(message, describes=False)
    head, _, body = new.partition(b"\r\n\r\n")
    assert head == b"Subject: =?utf-8?B?w7w=?="
    assert max(map(len, body.split(b"\r\n"))) <= 998
    assert body.replace(b"\r\n", b"") == message.partition(b"\r\n\r\n")[2].replace(b"\0", b"")
    with pytest.raises(MessageError, match="no header says"):
        converted(b"Subject: x\r\n\r\n" + b"x" * 999, describes=False)
    in_mime = converted(multipart("\r\nü".encode()), describes=False)
    assert parts(in_mime) == [("text/plain", "ü".encode())]
    assert is_seven_bit(in_mime)


@pytest.mark.parametrize("encoding", [b"base64", b"quoted-printable"])
def test_an_encoded_body_gets_shorter_lines(encoding: bytes) -> None:
    data = bytes(range(256)) * 20
    encode: Callable[[bytes], bytes] = b64encode if encoding == b"base64" else _in_one_line
    header = b"Content-Type: image/png\r\nContent-Transfer-Encoding: %b\r\n" % encoding
    message = leaf(header, encode(data))
    new = converted(message)
    assert is_seven_bit(new)
    assert new.startswith(header)
    assert parts(new) == parts(message)


def _in_one_line(data: bytes) -> bytes:
    return encodestring(data).replace(b"=\n", b"").replace(b"\n", b"=0A")


@pytest.mark.parametrize(
    "encoding", [b"7bit", b"8bit", b"binary", b"8-bit", b"utf-8", b"quoted-printable", b"base64"]
)
@pytest.mark.parametrize("kind", [b"text/plain", b"text/html; charset=utf-8"])
def test_a_nul_in_a_text_is_dropped(encoding: bytes, kind: bytes) -> None:
    text = "a\0b ü\r\nc\0".encode()
    body = {b"base64": b64encode(text), b"quoted-printable": encodestring(text)}.get(encoding, text)
    header = b"Content-Type: %b\r\nContent-Transfer-Encoding: %b\r\n" % (kind, encoding)
    new = converted(leaf(header, body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")))
    assert parts(new)[0][1] == "ab ü\r\nc".encode()
    assert is_seven_bit(new)


def test_a_nul_in_a_file_stays() -> None:
    for header in (b"Content-Type: image/png\r\n", b"Content-Disposition: attachment\r\n"):
        new = converted(leaf(header, b"a\0b"))
        assert parts(new)[0][1] == b"a\0b"
        assert is_seven_bit(new)


@pytest.mark.parametrize("encoding", [b"base64", b"quoted-printable"])
def test_an_attached_message_is_not_encoded_itself(encoding: bytes) -> None:
    inner = "Subject: ü\n\nü\n--b\n".encode()
    body = b64encode(inner) if encoding == b"base64" else encodestring(inner)
    header = b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: %b\r\n" % encoding
    body = body.replace(b"\n", b"\r\n")
    new = converted(multipart(leaf(header, body), boundary=b"other"))
    assert b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: 7bit\r\n" in new
    assert is_seven_bit(new)
    attached = email.message_from_bytes(new, policy=email.policy.default).get_payload(0)
    message = attached.get_payload(0)  # type: ignore[union-attr]
    assert (message["Subject"], message.get_content()) == ("ü", "ü\r\n--b\r\n")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "inner"),
    [
        (b"message/rfc822", b"Subject: x\r\n\r\n--b--\r\n"),
        (b"message/rfc822", b"no header\r\n\r\n\xff"),
        (b"message/delivery-status", b"Reporting-MTA: \xff"),
        (b"message/global", b"Subject: x\r\n\r\nx"),
    ],
)
def test_an_encoded_message_that_cannot_be_decoded_safely_stays_encoded(
    kind: bytes, inner: bytes
) -> None:
    header = b"Content-Type: %b\r\nContent-Transfer-Encoding: base64\r\n" % kind
    message = multipart(leaf(header, b64encode(inner)))
    assert converted(message) is message


def test_a_message_within_messages_is_encoded_at_its_leaves() -> None:
    message = leaf(b"Subject: leaf\r\n", LONG + "ü".encode())
    for level in range(20):
        kind = b"Content-Type: message/rfc822\r\nSubject: %d\r\n" % level
        message = (
            leaf(kind, message)
            if level % 2
            else multipart(leaf(kind, message), boundary=b"b%d" % level)
        )
    new = converted(message)
    assert is_seven_bit(new)
    assert parts(new) == parts(message)
    assert new.count(b"Content-Transfer-Encoding") == 1
    for _ in range(20):
        message = leaf(b"Content-Type: message/rfc822\r\n", message)
    with pytest.raises(MessageError, match="nested"):
        converted(message)


SIGNED = multipart(b"\r\n%b", b"Content-Type: x/y\r\n\r\nsignature", kind=b"signed", boundary=b"s")


@pytest.mark.parametrize("around", [b"%b", multipart(b"%b", "\r\nü".encode())])
def test_what_the_author_signed_stays_as_it_is(around: bytes) -> None:
    signed = SIGNED.replace(b"%b", "ü\r\n=00".encode())
    new = converted("Subject: ü\r\n".encode() + around.replace(b"%b", signed))
    assert signed in new
    assert new.startswith(b"Subject: =?utf-8?B?w7w=?=\r\n")
    assert new.replace(signed, b"").isascii()


@pytest.mark.parametrize("fault", [b"x" * 999, b"\0"])
@pytest.mark.parametrize(
    "message",
    [
        SIGNED,
        multipart(SIGNED),
        b"Subject: x\r\n\r\n-----BEGIN PGP SIGNED MESSAGE-----\r\n\r\n%b",
        leaf(b"Content-Type: message/partial\r\n", b"%b"),
        multipart(b"\r\n%b").replace(b"--b--", b""),
        leaf(b"Content-Type: message/rfc822\r\n", SIGNED),
    ],
)
def test_what_cannot_be_encoded_is_refused(message: bytes, fault: bytes) -> None:
    with pytest.raises(MessageError, match=r"a line of more than 998 octets|holds a NUL"):
        converted(message.replace(b"%b", fault))


@pytest.mark.parametrize("filling", ["ü".encode(), LONG, b"\0"])
def test_a_preamble_and_an_epilogue_that_do_not_fit_are_dropped(filling: bytes) -> None:
    entity = multipart(b"\r\none", b"\r\ntwo")
    header, _, body = entity.partition(b"\r\n\r\n")
    body = body.replace(b"--b\r\n", b"--b" + b" " * 1000 + b"\r\n")
    message = header + b"\r\n\r\n" + filling + b"\r\n" + body + filling
    new = converted(message)
    assert new == entity
    inner = multipart(message, b"\r\n\xff", boundary=b"o")
    assert parts(converted(inner)) == parts(inner)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("base64", b"SGk\0s\r\n--\0b\r\nIG1vbQ=="), ("x-own", b"a\0b\r\n-\0-b\r\n")],
)
def test_a_nul_between_encoded_octets_is_dropped(encoding: str, body: bytes) -> None:
    header = f"Content-Type: text/plain\r\nContent-Transfer-Encoding: {encoding}\r\n".encode()
    message = multipart(leaf(header, body))
    new = converted(message)
    assert b"\0" not in new
    assert len(readable_tree(new)) == len(readable_tree(message)) == 2
    assert converted(new) == new


@pytest.mark.parametrize("body", [b"x\r\n--b\r\n\r\ny", b"x" * 30 + b"--b" * 40 + b"x" * 900])
def test_no_line_of_a_result_is_a_delimiter(body: bytes) -> None:
    message = multipart(leaf(b"Content-Type: message/rfc822\r\n", leaf(b"", body)), boundary=b"o")
    for boundary in (b"--o", b"--b"):
        hostile = message.replace(b"--b", boundary)
        if readable_tree(hostile):
            new = converted(hostile)
            assert len(readable_tree(new)) == len(readable_tree(hostile))
            assert parts(new) == parts(hostile)


def test_an_attached_text_that_is_no_message_stays_as_it_is() -> None:
    message = leaf(b"Content-Type: message/rfc822\r\n", b"\xff no header\r\n\xc3\xbc")
    assert converted(message) == message


def test_an_attached_message_may_have_an_empty_header() -> None:
    message = leaf(b"Content-Type: message/rfc822\r\n", leaf(b"", "ü".encode()))
    new = converted(message)
    assert new.isascii()
    assert parts(new) == parts(message)


@pytest.mark.parametrize("message", [b"Subject: x", b"Subject: x\r\n", b"X: y\r\n\r\n\xc3\xbc"])
def test_a_message_without_readable_parts_that_fits_keeps_its_bytes(message: bytes) -> None:
    assert seven_bit(message, []) == message


@pytest.mark.parametrize(
    ("content_type", "composite"),
    [
        ("message/rfc822", True),
        ("message/partial", True),
        ("message/x-own", True),
        ("multipart/mixed", True),
        ("message/global", False),
        ("message/global-delivery-status", False),
        ("text/rfc822-headers", False),
        ("", False),
    ],
)
def test_messages_and_multiparts_may_not_be_encoded(content_type: str, composite: bool) -> None:
    assert is_composite(content_type) is composite


@pytest.mark.parametrize(
    "hostile",
    [
        b"Content-Type: text/plain\r\n\r\n" + b"=" * 800_000,
        b"Content-Transfer-Encoding: quoted-printable\r\n\r\n" + b"=4" * 400_000,
        b"Content-Transfer-Encoding: quoted-printable\r\n\r\n\xff" + b"=00" * 200_000,
        b"Content-Transfer-Encoding: base64\r\n\r\n" + b"\xff=" * 400_000,
        b"Subject: x\r\n\r\n" + b"\0 " * 400_000,
        b"Subject: " + b"\xff=?a?b?" * 100_000 + b"\r\n\r\nx",
        b"To: " + b'\xff"\\<,' * 100_000 + b"\r\n\r\nx",
        b"Content-Type: text/x; \xff" + b';a="\\"' * 100_000 + b"\r\n\r\nx",
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\xff\r\n" * 900 + b"--b--",
        b"Subject: x\r\n\r\n" + b"\r\n-----BEGIN PGP SIGNED MESSAGE " * 40_000 + b"\xff",
    ],
)
@pytest.mark.parametrize("describes", [True, False])
def test_hostile_messages_take_linear_time(hostile: bytes, describes: bool) -> None:
    def convert(message: bytes) -> None:
        with suppress(MessageError):
            converted(message, describes=describes)

    assert_linear(convert, hostile)
