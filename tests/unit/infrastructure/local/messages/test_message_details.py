"""Work out what lists show of a message, and what searches find it by."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mailbox.rows import UNUSUAL_TEXT, Details
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.messages.message_details import addresses_in, details_of
from infrastructure.local.messages.parts import StoredMessage
from tests.unit.linear_time import assert_linear


def details(message: bytes, *recipients: str) -> Details:
    source = Trace("", recipients).before(message) + message
    return details_of("id", StoredMessage(source))


def pairs(json_text: str) -> list[tuple[str, str]]:
    return [(each["Name"], each["Address"]) for each in json.loads(json_text)]


def test_the_addresses_of_all_fields_are_listed() -> None:
    message = details(
        b"From: =?utf-8?q?J=C3=BCrgen=2C_M?= <j@a.test>\r\n"
        b'To: "Lee, Ann" <ann@b.test>,\r\n ben@b.test\r\n'
        b"to: Cy <cy@b.test>\r\n"
        b"Cc: \xc3\x96z <oz@c.test>\r\n"
        b"Bcc: Seen <seen@d.test>\r\n"
        b"Reply-To: <answers@a.test>\r\n"
        b"Message-ID: <1.x@a.test>\r\n\r\n",
        *("Ann@B.test", "oz@c.test", "hidden@d.test", "seen@d.test"),
    )
    assert pairs(message.from_addresses) == [("Jürgen, M", "j@a.test")]
    assert pairs(message.to_addresses) == [
        *(("Lee, Ann", "ann@b.test"), ("", "ben@b.test"), ("Cy", "cy@b.test"))
    ]
    assert pairs(message.cc_addresses) == [("Öz", "oz@c.test")]
    assert pairs(message.bcc_addresses) == [("Seen", "seen@d.test"), ("", "hidden@d.test")]
    assert pairs(message.reply_to_addresses) == [("", "answers@a.test")]
    assert (message.from_name, message.header_id) == ("Jürgen, M", "1.x@a.test")


def test_a_sender_without_an_address_is_a_name() -> None:
    message = details(b"From: Some Shop\r\nTo: Undisclosed recipients:;\r\n\r\n", "ann@b.test")
    assert pairs(message.from_addresses)[0][0] or pairs(message.from_addresses)[0][1]
    assert pairs(message.to_addresses) == []
    assert pairs(message.bcc_addresses) == [("", "ann@b.test")]
    assert message.from_name == ""


def test_files_and_inline_parts_are_counted_and_file_names_are_searched() -> None:
    message = details(
        b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
        b"--x\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n"
        b"--x\r\nContent-Type: image/png\r\nContent-ID: <logo>\r\n\r\nx\r\n"
        b"--x\r\nContent-Type: application/pdf; name=Bill.PDF\r\n\r\nx\r\n--x--\r\n"
    )
    assert (message.attachments, message.inlines) == (1, 1)
    assert message.body == "grüsse\nbill.pdf"


@pytest.mark.parametrize(
    "value",
    [
        *("Ann <ann@b.test>", "ann@b.test", "<ann@b.test>", "Ann B. <a+b@c.test>", "x", ""),
        *('"Doe, J" <j@x.test>, b@c.test', "a b <c@e.test>", "Group: a@b.test, c@d.test;"),
    ],
)
def test_a_simple_address_is_read_as_any_other(value: str) -> None:
    # What follows makes the value too long to be taken for a simple one
    assert addresses_in(value) == addresses_in(value + " " * 300)


@given(st.binary(max_size=300) | st.text('From:To<>@,; \r\n"=?qB\\', max_size=80).map(str.encode))
def test_any_message_has_details(content: bytes) -> None:
    for message in (content, b"From: " + content, b"To: a@b.test,\r\n " + content):
        pairs(details(message, "ann@b.test").from_addresses)


@pytest.mark.parametrize("piece", ["a", " ", "a@b.test,", "<", '"', "(", "=?"])
def test_no_field_takes_long(piece: str) -> None:
    assert_linear(lambda text: details(f"From: {text}\r\n\r\n".encode()), piece * 20_000)


def test_a_text_of_any_length_is_read_in_part_and_known_to_be_longer() -> None:
    text = b"word " * 300_000
    of_long = details(b"Subject: Long\r\n\r\n" + text)
    assert len(of_long.body) < 20_100
    assert of_long.unusual & UNUSUAL_TEXT
    # Blanks are no text, but words may follow them
    of_blanks = details(b"Subject: Blanks\r\n\r\nstart" + b" " * 1_100_000 + b"end")
    assert of_blanks.body.strip() == "start"
    assert of_blanks.unusual & UNUSUAL_TEXT
    assert not details(b"Subject: Short\r\n\r\nword\r\n").unusual & UNUSUAL_TEXT


def test_any_number_of_address_fields_is_read_in_part() -> None:
    message = details(b"To: a@b.test\r\n" * 50_000 + b"From: " + b"(c) " * 50_000 + b"\r\n\r\n")
    assert 1_000 < len(pairs(message.to_addresses)) < 20_000
    assert len(message.from_addresses) < 2_000
