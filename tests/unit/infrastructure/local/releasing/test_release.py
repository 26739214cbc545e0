"""A message is released to allowed addresses only, with a Message-ID of its own."""

from __future__ import annotations

import re
from email import message_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.releasing.header_edit import with_header, without_headers
from infrastructure.local.releasing.release import (
    BadRecipient,
    NotReleasable,
    Release,
    Releaser,
    sender_of,
)
from tests.unit.delivery.scripted_server import ScriptedServer

CONTENT = (
    b"Message-ID: <old@a.test>\r\nFrom: Ann <ann@a.test>\r\nBcc: secret@a.test,\r\n"
    b" other@a.test\r\nTo: bob@ours.test\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\n\r\n"
    b"Bcc: in the text\r\n"
)


def releaser_of(server: ScriptedServer | None) -> Releaser:
    url = f"smtp://{server.host}:{server.port}" if server else ""
    recipients = "*@ours.test, real@else.test" if server else ""
    environ = {"RELEASE_HOST": url, "RELEASE_RECIPIENTS": recipients}
    return Releaser(ReleaseChoices.read(environ))


def test_a_message_goes_to_the_addresses_that_a_person_names() -> None:
    with ScriptedServer() as server:
        release = releaser_of(server).release(CONTENT, ["Bob <bob@ours.test>", "real@else.test"])
    assert release == Release(["bob@ours.test", "real@else.test"], [])
    commands = [each.lower() for each in server.conversations[0].commands]
    assert any(each.startswith("mail from:<ann@a.test>") for each in commands)
    assert [each for each in commands if each.startswith("rcpt")] == [
        "rcpt to:<bob@ours.test>",
        "rcpt to:<real@else.test>",
    ]
    message = message_from_bytes(server.contents[0])
    assert message["Bcc"] is None
    assert message["To"] == "bob@ours.test"
    assert re.fullmatch(r"<[0-9a-f]{32}@a\.test>", message["Message-ID"])
    assert message["Date"] != "Mon, 1 Jan 2024 00:00:00 +0000"
    assert server.contents[0].endswith(b"\r\n\r\nBcc: in the text\r\n")


def test_one_address_that_is_not_allowed_refuses_all() -> None:
    with ScriptedServer() as server:
        with pytest.raises(NotReleasable) as error:
            releaser_of(server).release(CONTENT, ["bob@ours.test", "x@b.test", "y@b.test"])
        assert str(error.value) == "RELEASE_RECIPIENTS does not allow x@b.test, y@b.test"
    assert server.conversations == []


@pytest.mark.parametrize("to", [[], ["nobody"], ["bob@ours.test", ""], ["a@ours.test\r\nDATA"]])
def test_addresses_that_cannot_be_read_are_refused(to: list[str]) -> None:
    with ScriptedServer() as server, pytest.raises(BadRecipient):
        releaser_of(server).release(CONTENT, to)
    assert server.conversations == []


def test_without_a_host_nothing_is_released() -> None:
    with pytest.raises(NotReleasable, match="RELEASE_HOST"):
        releaser_of(None).release(CONTENT, ["bob@ours.test"])


@pytest.mark.parametrize(
    ("head", "sender"),
    [
        (b"From: Ann <ann@a.test>, bob@b.test", "ann@a.test"),
        (b"From: ann@a.test\r\nSender: <list@a.test>", "list@a.test"),
        (b"From: =?utf-8?q?J=C3=BCrgen?= <j@a.test>", "j@a.test"),
    ],
)
def test_the_sender_is_that_of_the_header(head: bytes, sender: str) -> None:
    assert sender_of(head + b"\r\n\r\nx") == sender


@pytest.mark.parametrize(
    "content", [b"", b"Subject: x\r\n\r\nFrom: a@a.test", b"From: nobody\r\n\r\n"]
)
def test_a_message_without_an_author_cannot_be_released(content: bytes) -> None:
    with pytest.raises(NotReleasable, match="No From header"):
        sender_of(content)


def test_fields_are_changed_and_everything_else_stays() -> None:
    assert without_headers(b"a: 1\r\nB: 2\r\n\t3\r\nb: 4\nc: 5\r\n\r\nb: 6", ["b"]) == (
        b"a: 1\r\nc: 5\r\n\r\nb: 6"
    )
    assert with_header(b"A: 1\r\nB: 2\r\n 3\r\nb: 4\r\n\r\nx", "b", "new") == (
        b"A: 1\r\nb: new\r\n\r\nx"
    )
    assert with_header(b"A: 1\r\n\r\nx", "b", "new") == b"b: new\r\nA: 1\r\n\r\nx"


@given(st.binary(max_size=200) | st.text("ab:\r\n \t", max_size=60).map(str.encode))
def test_a_message_without_the_field_does_not_change(content: bytes) -> None:
    assert without_headers(content, ["x-none"]) == content
    assert with_header(content, "x-none", "1") == b"x-none: 1\r\n" + content
