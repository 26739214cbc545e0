from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage

import pytest

from chalicelib.mail_format import rfc822, text_parts
from chalicelib.mail_format.mime_tree import MimePart, parse_tree
from chalicelib.mail_format.rfc822 import MessageError

MIXED = b"""\
From: a@b.test
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="outer"

preamble
--outer
Content-Type: text/plain; charset=x; name=a.txt
Content-Disposition: attachment; filename=a.txt

attached
--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=iso-8859-1; format=flowed
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe =91you=92
--inner
Content-Type: text/html
Content-Transfer-Encoding: base64

PGI+eDwvYj4=
--inner--
--outer
Content-Type: text/plain

second
--outer--
epilogue
""".replace(b"\n", b"\r\n")


def tree_of(message: bytes) -> list[MimePart]:
    return parse_tree(message)


def texts(message: bytes) -> list[str]:
    return [text_parts.read(message, part) for part in text_parts.find(tree_of(message))]


def single(header: bytes, body: bytes) -> bytes:
    return b"From: a@b.test\r\n" + header + b"\r\n" + body


def with_texts(message: bytes, *new: str) -> bytes:
    """Return the message with other texts, in order; fields as they are."""
    tree = tree_of(message)
    changed = list(zip(text_parts.find(tree), new, strict=False))
    return text_parts.replaced(message, tree, rfc822.split(message)[0], changed)


def parsed(message: bytes) -> EmailMessage:
    parsed = email.message_from_bytes(message, policy=email.policy.default)
    assert isinstance(parsed, EmailMessage)
    return parsed


def test_the_first_part_of_each_kind_that_is_not_an_attachment_counts() -> None:
    assert texts(MIXED) == ["Grüße \u2018you\u2019", "<b>x</b>"]


@pytest.mark.parametrize(
    ("header", "body", "text"),
    [
        (b"", b"plain \xc3\xa9", "plain é"),
        (b"Content-Type: text/plain; charset=us-ascii\r\n", b"\xc3\xa9", "é"),
        (b"Content-Type: text/html; charset=UTF8\r\n", b"<p>\xc3\xa9", "<p>é"),
        (b"Content-Type: text/plain; charset=iso-8859-1\r\n", b"\x93a\x81", "\x93a\x81"),
        (b"Content-Type: text/plain; charset=koi8-r\r\n", b"\xc1", "а"),
        (b"Content-Transfer-Encoding: BASE64\r\n", b"eA==\r\n", "x"),
    ],
)
def test_a_text_is_read_in_its_own_encoding(header: bytes, body: bytes, text: str) -> None:
    assert texts(single(header, body)) == [text]


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (b"", b"\xff"),
        (b"Content-Type: text/plain; charset=nonsense\r\n", b"x"),
        (b"Content-Type: text/plain; charset=unicode_escape\r\n", b"x"),
        (b"Content-Transfer-Encoding: uuencode\r\n", b"x"),
        (b"Content-Transfer-Encoding: base64\r\n", b"x"),
    ],
)
def test_a_text_with_a_wrong_declared_encoding_is_refused(header: bytes, body: bytes) -> None:
    with pytest.raises(MessageError):
        texts(single(header, body))


def test_only_the_texts_that_are_replaced_change() -> None:
    changed = with_texts(MIXED, "Grüße", "<i>y</i>")
    first, second = parsed(changed).get_body(("plain",)), parsed(changed).get_body(("html",))
    assert first is not None
    assert second is not None
    assert first.get_content().strip() == "Grüße"
    assert first["Content-Type"] == 'text/plain; charset="utf-8"; format="flowed"'
    assert second.get_content().strip() == "<i>y</i>"
    for untouched in (b"preamble\r\n--outer", b"attached", b"\r\nsecond\r\n--outer--\r\nepilogue"):
        assert untouched in changed
    assert with_texts(MIXED) == MIXED


def test_a_message_that_is_one_text_gets_new_header_fields() -> None:
    plain = single(b"Content-Type: text/html; charset=us-ascii\r\n", b"<p>x")
    assert with_texts(plain, "<p>y") == plain[:-1] + b"y"
    changed = parsed(with_texts(plain, "<p>é"))
    assert changed.get_content().strip() == "<p>é"
    assert changed["MIME-Version"] == "1.0"
    assert changed["From"] == "a@b.test"


def test_no_line_of_a_text_is_taken_for_a_delimiter() -> None:
    changed = with_texts(MIXED, "--inner--\n--outer\n\nX", "<p>")
    body = parsed(changed).get_body(("plain",))
    assert body is not None
    assert body.get_content().split() == ["--inner--", "--outer", "X"]
    assert len(tree_of(changed)) == len(tree_of(MIXED))


PLAIN = single(b"Subject: x\r\n", b"plain")


@pytest.mark.spec("2.2-r6")
def test_a_message_without_content_headers_gets_none_where_it_may_not_be_described() -> None:
    tree = tree_of(PLAIN)
    fields = rfc822.split(PLAIN)[0]
    (part,) = text_parts.find(tree)
    changed = text_parts.replaced(PLAIN, tree, fields, [(part, "Grüße\n\0b")], describes=False)
    assert changed == single(b"Subject: x\r\n", "Grüße\r\nb".encode())
    described = parsed(text_parts.replaced(PLAIN, tree, fields, [(part, "Grüße")]))
    assert described.get_content() == "Grüße"


def test_a_text_beyond_ascii_is_quoted_printable_whatever_its_script() -> None:
    changed = parsed(with_texts(MIXED, "漢字の本文", "<i>漢字</i>"))
    for kind, text in (("plain", "漢字の本文"), ("html", "<i>漢字</i>")):
        body = changed.get_body((kind,))
        assert body is not None
        assert body["Content-Transfer-Encoding"] == "quoted-printable"
        assert body.get_content().strip() == text
