"""Rendered content is composed into an unsigned message."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.generation.compose import Rendered, compose
from chalicelib.mail_format.files import Attachment, InlineImage
from chalicelib.template_language.chunks import literal
from tests.unit.generation.examples import INJECTED

SENDER = Mailbox("a@mail.example.test", "Ann")
BODIES = ("text", "html", "amp_html")
ID = "02a9e2b5c1d3e4f500000007"
TO = {"email": "r@example.test"}


def built(to: dict[str, str] = TO, **fields: Any) -> bytes:
    files = {name: fields.pop(name, ()) for name in ("attachments", "inline_images")}
    details: dict[str, Any] = {"sender": SENDER, "subject": "Hi", "text": "Hello"} | fields
    bodies = {name: literal(details[name]) for name in BODIES if details.get(name)}
    return compose(Rendered(**(details | bodies)), to, ID, INJECTED, **files).data


def message(to: dict[str, str] = TO, **fields: Any) -> EmailMessage:
    return email.message_from_bytes(built(to, **fields), policy=email.policy.default)


def test_the_headers_are_in_order() -> None:
    message_bytes = built(reply_to="Bo <b@b.test>", headers={"X-A": "1", "CC": "c@c.test"})
    head = message_bytes.partition(b"\r\n\r\n")[0].decode()
    assert head.split("\r\n")[:8] == [
        "From: Ann <a@mail.example.test>",
        "To: r@example.test",
        "Subject: Hi",
        "Reply-To: Bo <b@b.test>",
        "Date: Sat, 31 Jan 2026 09:00:05 +0000",
        f"Message-ID: <{ID}@mail.example.test>",
        "X-A: 1",
        "CC: c@c.test",
    ]


@pytest.mark.parametrize(("name", "value"), [("date", "x"), ("DATE", "x"), ("Message-Id", "<o@x>")])
def test_headers_that_the_sender_gave_are_not_added_again(name: str, value: str) -> None:
    email_message = message(headers={name: value})
    assert len(email_message.get_all(name) or []) == 1
    assert f"{name}: {value}\r\n".encode() in built(headers={name: value})


@pytest.mark.parametrize(
    "name", ["Bcc", "return-path", "MIME-Version", "Content-Type", "SUBJECT", "Resent-BCC"]
)
def test_stored_headers_that_no_sender_writes_are_left_out(name: str) -> None:
    assert built(headers={name: "x", "X-A": "1"}) == built(headers={"X-A": "1"})


def test_of_a_stored_header_that_a_message_has_once_the_first_counts() -> None:
    headers = {"Date": "x", "X-A": "1", "date": "y", "x-a": "2"}
    email_message = message(headers=headers)
    assert [value for name, value in email_message.raw_items() if name.lower() == "date"] == ["x"]
    assert email_message.get_all("X-A") == ["1", "2"]


def test_domains_beyond_ascii_are_written_in_a_labels() -> None:
    given_to = {"email": "r@Faß.example", "name": "Rut"}
    message_bytes = built(
        given_to, sender=Mailbox("a@bücher.example", "Ann"), reply_to="Bo <b@bücher.example>"
    )
    assert message_bytes.isascii()
    head = message_bytes.partition(b"\r\n\r\n")[0].decode()
    for line in (
        "From: Ann <a@xn--bcher-kva.example>",
        "To: Rut <r@xn--fa-hia.example>",
        "Reply-To: Bo <b@xn--bcher-kva.example>",
        f"Message-ID: <{ID}@xn--bcher-kva.example>",
    ):
        assert line in head.split("\r\n")
    copied = built(TO | {"header_to": "x@bücher.example, Zoë <y@bücher.example>"})
    assert b"To: x@xn--bcher-kva.example, =?utf-8?B?Wm/Dqw==?= <y@xn--bcher-kva.example>" in copied


def test_names_beyond_ascii_hide_no_address_of_a_list() -> None:
    mailboxes = 'Zoë <z@x.test>, "Müller, Bo" <b@x.test>'
    email_message = message(
        TO | {"header_to": mailboxes}, reply_to=mailboxes, headers={"Cc": mailboxes}
    )
    for name in ("To", "Reply-To", "Cc"):
        (values,) = email_message.get_all(name) or []
        assert [(each.display_name, each.addr_spec) for each in values.addresses] == [
            ("Zoë", "z@x.test"),
            ("Müller, Bo", "b@x.test"),
        ]


@pytest.mark.spec("2.2-t2")
def test_text_beyond_ascii_is_encoded() -> None:
    email_message = message(
        sender=Mailbox("a@mail.example.test", "Zoë"), subject="Grüße", headers={"X-A": "é"}
    )
    assert (email_message["From"], email_message["Subject"], email_message["X-A"]) == (
        "Zoë <a@mail.example.test>",
        "Grüße",
        "é",
    )


@pytest.mark.spec("2.1-t20")
@pytest.mark.parametrize(
    ("to", "view"),
    [
        ({"email": "r@x.test"}, "r@x.test"),
        ({"email": "r@x.test", "name": "Bo"}, "Bo <r@x.test>"),
        ({"email": "r@x.test", "name": "Doe, Bo"}, '"Doe, Bo" <r@x.test>'),
        ({"email": "r@x.test", "header_to": "p@x.test"}, "p@x.test"),
        ({"email": "r@x.test", "header_to": "p@x.test", "name": "Bo"}, "Bo <p@x.test>"),
        ({"email": "r@x.test", "header_to": "Al <p@x.test>"}, "Al <p@x.test>"),
        ({"email": "r@x.test", "header_to": "p@x.test, Al <q@x.test>"}, "p@x.test, Al <q@x.test>"),
        ({"email": "r@x.test", "header_to": " <p@x.test> ", "name": "Bo"}, "Bo <p@x.test>"),
        ({"email": "r@x.test", "header_to": "Al <p@x.test>", "name": "Bo"}, "Al <p@x.test>"),
        (
            {"email": "r@x.test", "header_to": "p@x.test, Al <q@x.test>", "name": "Bo"},
            "p@x.test, Al <q@x.test>",
        ),
        ({"email": "r@x.test", "header_to": '"D, Al" <p@x.test>'}, '"D, Al" <p@x.test>'),
        ({"email": "r@x.test", "header_to": "", "name": ""}, "r@x.test"),
    ],
)
def test_the_to_header_shows_the_address_in_header_to(to: dict[str, str], view: str) -> None:
    assert f"\r\nTo: {view}\r\n".encode() in built(to)


@pytest.mark.parametrize("visible", ["undisclosed", "a, b", "p@x.test, q"])
def test_a_stored_header_to_without_addresses_does_not_count(visible: str) -> None:
    to = {"email": "r@x.test", "name": "Bo", "header_to": visible}
    assert b"\r\nTo: Bo <r@x.test>\r\n" in built(to)


@pytest.mark.spec("2.2-t6")
@pytest.mark.parametrize(
    "data",
    ["b@b.test", "Bo <b@b.test>", "b@b.test, c@c.test", "b@b.test, Cy <c@c.test>, d@d.test"],
)
def test_the_reply_to_is_written_with_all_its_addresses(data: str) -> None:
    assert f"\r\nReply-To: {data}\r\n".encode() in built(reply_to=data)
    assert b"Reply-To" not in built()
    assert b"Reply-To" not in built(reply_to=" ")


@pytest.mark.parametrize("data", ["nobody", "b@b.test, c", "<>"])
def test_a_reply_to_that_is_no_address_is_a_fault(data: str) -> None:
    with pytest.raises(ValueError, match=f"Reply-To: '{data}' is not a list of addresses"):
        built(reply_to=data)


@pytest.mark.parametrize(
    "fields",
    [
        {"subject": "a\r\nBcc: x@x.test"},
        {"reply_to": "a\nb"},
        {"headers": {"X-A": "a\r\n\r\nbody"}},
        {"headers": {"X-A\r\nBcc": "x"}},
        {"sender": Mailbox("a@b.test", "A\r\nBcc: x")},
        {"to": {"email": "r@x.test", "name": "B\nC"}},
        {"reply_to": "a@b.test,\r\n c@d.test"},
    ],
)
def test_no_value_can_start_another_header(fields: Any) -> None:
    with pytest.raises(ValueError, match=r"header|address"):
        built(**fields)


@pytest.mark.spec("2.2-t3")
@pytest.mark.spec("2.2-t4")
@pytest.mark.spec("2.2-t5")
def test_the_parts_are_alternatives_from_plain_to_rich() -> None:
    email_message = message(text="Grüße", html="<p>é</p>", amp_html="<html amp4email></html>")
    assert [part.get_content_type() for part in email_message.iter_parts()] == [
        "text/plain",
        "text/x-amp-html",
        "text/html",
    ]
    assert message(text="Grüße").get_content().strip() == "Grüße"


@pytest.mark.spec("2.2-t8")
@pytest.mark.spec("2.2-t9")
def test_attachments_are_beside_the_content_and_inline_images_within() -> None:
    email_message = message(
        html='<img src="cid:logo">',
        attachments=[Attachment("a.txt", "text/plain", "aGk=")],
        inline_images=[InlineImage("logo", "image/png", "aGk=")],
    )
    kinds = [part.get_content_type() for part in email_message.walk()]
    assert kinds == [
        "multipart/mixed",
        "multipart/related",
        "multipart/alternative",
        "text/plain",
        "text/html",
        "image/png",
        "text/plain",
    ]
    assert email_message.get_payload(1).get_filename() == "a.txt"


def test_the_same_message_has_the_same_bytes() -> None:
    assert built(html="<p>x</p>") == built(html="<p>x</p>")
