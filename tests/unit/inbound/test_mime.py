"""Parse MIME messages, sound ones and broken ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.inbound import mime
from chalicelib.inbound.mime import DEEPEST, MOST_FIELDS, MOST_PARTS, READ_BYTES, Fields, Mail

HEAD = "Content-Type: multipart/mixed; boundary=b\r\n\r\n"


def read(text: str) -> Mail:
    return mime.read(text.encode())


def bodies(mail: Mail) -> list[bytes]:
    return [part.body for part in mail.parts]


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_line_ends_make_no_difference(end: str) -> None:
    mail = read(
        f"{HEAD}preamble\r\n--b\r\nA: 1\r\n\r\none\r\n--b--\r\nepilogue".replace("\r\n", end)
    )
    (part,) = mail.parts
    assert (part.fields.first("a"), part.body) == ("1", b"one\n")


def test_a_message_without_multipart_is_one_part() -> None:
    (part,) = read("Subject: x\r\n\r\nHi").parts
    assert (part.content_type, part.body) == ("text/plain", b"Hi")
    assert read("").parts[0].body == b""


def test_a_folded_field_is_joined_and_its_name_has_no_case() -> None:
    fields = Fields(b"Received: a\r\nX-A:  1\r\n\t2\r\nx-a: 3\r\nno field\r\n b: 4\r\n")
    assert fields.first("x-a") == "1 2"
    assert fields.all("x-a") == ["1 2", "3"]
    assert ("received" in fields, "b" in fields) == (True, False)
    assert fields.first("absent") == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("=?utf-8?Q?Gr=C3=BC=C3=9Fe?= you", "Grüße you"),
        ("=?iso-8859-1?B?/A==?=", "ü"),
        ("=?no-such?Q?x?=", "=?no-such?Q?x?="),
        ("=?utf-8?B?x?=", "=?utf-8?B?x?="),
        ("plain", "plain"),
    ],
)
def test_encoded_words_are_decoded_as_far_as_possible(value: str, words: str) -> None:
    assert Fields(f"subject: {value}".encode()).words("subject") == words


def test_parts_are_found_at_several_depths_in_their_order() -> None:
    inner = (
        'Content-Type: multipart/alternative; boundary="c c"\r\n\r\n--c c\r\n\r\n2\r\n--c c--\r\n'
    )
    mail = read(f"{HEAD}--b\r\n\r\n1\r\n--b\r\n{inner}--b  \r\n\r\n3\r\n--b--\r\n--b\r\n\r\n4")
    assert bodies(mail) == [b"1\n", b"2\n", b"3\n"]


def test_the_last_delimiter_may_be_missing() -> None:
    assert bodies(read(f"{HEAD}--b\r\n\r\n1\r\n--b\r\n\r\n2")) == [b"1\n", b"2"]


def test_a_boundary_that_does_not_occur_is_replaced_by_the_one_in_use() -> None:
    head = "Content-Type: multipart/mixed; boundary=changed\r\n\r\n"
    body = "--b\r\nContent-Type: text/html\r\n\r\n1\r\n--b--\r\n"
    assert [part.content_type for part in mime.read((head + body).encode()).parts] == ["text/html"]
    (part,) = mime.read((head + "--b\r\n1\r\n--b--\r\n").encode()).parts
    assert part.content_type == "text/plain"


@pytest.mark.parametrize("kind", ["multipart/mixed", 'multipart/mixed; boundary=""', "nonsense"])
def test_a_message_without_a_usable_boundary_is_one_part(kind: str) -> None:
    (part,) = read(f"Content-Type: {kind}\r\n\r\n--b\r\n\r\n1").parts
    assert part.body == b"--b\n\n1"


def test_a_multipart_without_its_delimiter_is_text() -> None:
    (part,) = read(f"{HEAD}no delimiter").parts
    assert (part.content_type, part.text()) == ("text/plain", "no delimiter")


def test_an_attached_message_is_not_parsed_into_parts() -> None:
    carried = "Content-Type: message/rfc822\r\n\r\nContent-Type: multipart/mixed; boundary=c\r\n"
    (part,) = read(f"{HEAD}--b\r\n{carried}\r\n--c\r\n\r\nx\r\n--b--").parts
    assert part.content_type == "message/rfc822"
    assert mime.header_of(part.content()).first("content-type").startswith("multipart/mixed")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("base64", "R3LDvMOf\r\nZQ=="),
        ("quoted-printable", "Gr=C3=BC=C3=9F=\r\ne"),
        ("8bit", "Grüße"),
    ],
)
def test_a_text_is_decoded(encoding: str, body: str) -> None:
    (part,) = read(f"Content-Transfer-Encoding: {encoding}\r\n\r\n{body}").parts
    assert part.text() == "Grüße"


@pytest.mark.parametrize(
    ("charset", "text"),
    [("iso-8859-15", "€"), ("windows-1252", "¤"), ("punycode", "¤"), ("x", "¤")],
)
def test_a_text_in_an_unknown_charset_is_read_as_latin(charset: str, text: str) -> None:
    head = f"Content-Type: text/plain; charset={charset}\r\n\r\n"
    (part,) = mime.read(head.encode() + b"\xa4").parts
    assert part.text() == text


def test_content_beyond_the_limits_is_left_out() -> None:
    assert len(read("\r\n" + "x" * (READ_BYTES + 10)).parts[0].body) < READ_BYTES
    assert len(read(HEAD + "--b\r\n\r\n" * 100).parts) == MOST_PARTS
    assert len(Fields(b"a: 1\n" * 1000).all("a")) == MOST_FIELDS
    deep = "".join(f"Content-Type: multipart/x; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(9))
    (part,) = read(deep).parts
    assert part.content_type == "multipart/x"
    assert f"boundary=b{DEEPEST}" in part.fields.first("content-type")


PIECES = st.sampled_from([HEAD.encode(), b"--b", b"--b--", b"\r\n", b"=", b"base64", b": "])


@given(st.lists(PIECES | st.binary(max_size=6), max_size=40).map(b"".join))
@settings(max_examples=300)
def test_any_bytes_can_be_parsed(data: bytes) -> None:
    mail = mime.read(data)
    assert 1 <= len(mail.parts) <= MOST_PARTS
    for part in mail.parts:
        assert isinstance(part.text(), str)
        mime.header_of(part.content())
    mail.fields.words("subject")
