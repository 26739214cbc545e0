"""Parse stored messages into parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.messages.parts import AMP, ATTACHMENT, HTML, INLINE, TEXT, StoredMessage
from tests.unit.infrastructure.local.messages.sample_message import PNG, rich_message, stored


def test_a_message_is_divided_into_its_parts() -> None:
    content = rich_message()
    message = StoredMessage(stored(content))
    assert (message.sender, message.recipient) == ("b@bounce.test", "ann@inbox.test")
    assert message.content == content
    assert message.problem == ""
    assert message.body(TEXT) == "Hello Ann,\n\nthis is the text — 7 €.\n"
    assert (message.body(HTML) or "").startswith("<p>Hello <b>Ann</b></p>")
    assert message.body(AMP) == "<html amp4email>Hello</html>\n"
    by_role = {part.role: part for part in message.parts}
    assert list(by_role) == [TEXT, AMP, HTML, INLINE, ATTACHMENT]
    assert message.data(by_role[INLINE]) == PNG
    assert by_role[INLINE].content_id == "logo@a"
    assert by_role[ATTACHMENT].filename == "zahlen – Mai.csv"
    assert message.data(by_role[ATTACHMENT]) == b"a,b\n1,2\n"
    assert message.part(by_role[INLINE].number) == by_role[INLINE]
    assert message.part(99) is None


def test_headers_are_decoded_in_their_order() -> None:
    headers = StoredMessage(stored(rich_message())).headers
    assert headers[:3] == [
        ("From", "Jürgen <shop@example.test>"),
        ("To", "ann@inbox.test"),
        ("Subject", "Grüße"),
    ]


def test_a_second_text_and_a_text_with_a_name_are_attachments() -> None:
    content = (
        b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n'
        b"--x\r\n\r\nfirst\r\n--x\r\n\r\nsecond\r\n"
        b"--x\r\nContent-Type: text/html; charset=utf-8\r\n"
        b'Content-Disposition: attachment; filename="page.html"\r\n\r\n<p>\r\n--x--\r\n'
    )
    message = StoredMessage(stored(content))
    assert [part.role for part in message.parts] == [TEXT, ATTACHMENT, ATTACHMENT]
    assert message.body(TEXT) == "first"
    assert message.body(HTML) is None


def test_a_structure_that_readers_would_guess_is_not_divided() -> None:
    message = StoredMessage(stored(b'Content-Type: multipart/mixed; boundary="x"\r\n\r\nno parts'))
    (part,) = message.parts
    assert part.role == TEXT
    assert "delimiter" in message.problem
    assert (message.body(TEXT) or "").endswith("no parts")


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (b"Content-Type: text/plain; charset=iso-8859-1\r\n", b"gr\xfc\xdfe", "grüße"),
        (b"Content-Type: text/plain; charset=unicode_escape\r\n", b"\\u0041", "\\u0041"),
        (b"Content-Transfer-Encoding: base64\r\n", b"SGVs\r\nbG8!x", "Hello\ufffd"),
        (b"Content-Transfer-Encoding: quoted-printable\r\n", b"a=3Db=\r\nc", "a=bc"),
    ],
)
def test_text_is_decoded_leniently(head: bytes, body: bytes, text: str) -> None:
    shown_text = StoredMessage(stored(head + b"\r\n" + body)).body(TEXT) or ""
    assert shown_text.startswith(text[:4])


@given(st.binary(max_size=300))
def test_no_message_breaks_the_reader(content: bytes) -> None:
    for message in (StoredMessage(content), StoredMessage(stored(content))):
        for part in message.parts:
            assert isinstance(message.text(part), str)
        assert isinstance(message.headers, list)
