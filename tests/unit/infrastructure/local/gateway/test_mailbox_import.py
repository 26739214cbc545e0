"""Messages that were kept elsewhere are put into the mailbox over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.gateway.mailbox_import import MailboxImport
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailbox.trace import Trace, split
from tests.unit.infrastructure.local.gateway.local_client import LocalClient

MESSAGE = (
    b"From: Shop <shop@app.test>\r\nTo: Ann <ann@a.test>, b@b.test\r\nSubject: s\r\n\r\nHi\r\n"
)


class Box:
    """A mailbox that takes messages by HTTP."""

    def __init__(self, root: Path, inbox_by: str = "") -> None:
        self.mailbox = SinkMailbox(root)
        self.inbox_by = inbox_by

    def post(self, body: bytes, query: str = "") -> list[tuple[Trace, bytes]]:
        """Import a message; return what the mailbox has of it."""
        reply = self.ask(body, query)
        assert reply.status == 201, reply.body
        sources = [self.mailbox.read(each) for each in reply.json["results"]["ids"]]
        copies = []
        for source in sources:
            assert source is not None
            trace, begin = split(source)
            assert trace is not None
            copies.append((trace, source[begin:]))
        return copies

    def ask(self, body: bytes, query: str = "") -> Any:
        importing = MailboxImport(self.mailbox, self.inbox_by, TagChoices())
        return LocalClient(importing.routes()).ask("POST", f"/local/mailbox?{query}", body)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path / "mail")
    yield box
    box.mailbox.close()


def test_sender_and_recipients_are_those_of_the_header(box: Box) -> None:
    ((trace, message),) = box.post(MESSAGE)
    assert trace == Trace("shop@app.test", ("ann@a.test", "b@b.test"))
    assert message == MESSAGE


def test_line_ends_become_crlf(box: Box) -> None:
    ((_, message),) = box.post(MESSAGE.replace(b"\r\n", b"\n").rstrip(b"\n"))
    assert message == MESSAGE
    ((_, message),) = box.post(MESSAGE.replace(b"\r\n", b"\r"))
    assert message == MESSAGE


def test_the_trace_of_another_mailbox_says_it_better(box: Box) -> None:
    lines = b"Return-Path: <bounce@app.test>\nDelivered-To: team@c.test\n"
    ((trace, message),) = box.post(lines + MESSAGE)
    assert (trace, message) == (Trace("bounce@app.test", ("team@c.test",)), MESSAGE)
    ((trace, _),) = box.post(b"X-Other: 1\n" + lines + MESSAGE)
    assert trace == Trace("bounce@app.test", ("team@c.test",))


def test_what_was_downloaded_from_a_mailbox_comes_back_as_it_was(box: Box) -> None:
    trace = Trace("a@b.test", ("c@d.test", "e@f.test"), inbox="i", login="l", tags=("t",))
    source = box.mailbox.read(box.mailbox.store(trace, MESSAGE))
    assert source is not None
    assert box.post(source) == [(trace, MESSAGE)]


@pytest.mark.parametrize(
    "text", ['{"recipients": 1}', '{"inbox": {}}', "{" * 500 + "}", '{"tags": ["a\\nb"]}']
)
def test_a_strangers_trace_is_no_trace(box: Box, text: str) -> None:
    lines = f"Return-Path: <a@b.test>\nDelivered-To: c@d.test\nX-Postfinch-Trace: {text}\n"
    ((trace, _),) = box.post(lines.encode() + MESSAGE)
    assert trace == Trace("a@b.test", ("c@d.test",))


def test_the_request_names_inbox_sender_and_recipients(box: Box) -> None:
    ((trace, _),) = box.post(MESSAGE, "inbox=old&from=&to=x@x.test,%20y@y.test")
    assert trace == Trace("", ("x@x.test", "y@y.test"), inbox="old")
    assert box.ask(MESSAGE, "to=a%0Ab").status == 400


def test_a_message_is_divided_and_tagged_as_one_that_arrives(tmp_path: Path) -> None:
    box = Box(tmp_path / "mail", "recipient-domain")
    copies = box.post(b"X-Tags: old, red\r\n" + MESSAGE)
    assert [(trace.inbox, trace.tags) for trace, _ in copies] == [
        ("a.test", ("old", "red")),
        ("b.test", ("old", "red")),
    ]


def test_a_message_without_recipients_is_taken(box: Box) -> None:
    assert box.post(b"Subject: draft\n\nText\n")[0][0] == Trace("", ())


@pytest.mark.parametrize("body", [b"", b"\r\n\r\nText", b"From ann Sat\nSubject: s\n", b"\x89PNG"])
def test_what_is_no_message_is_refused(box: Box, body: bytes) -> None:
    reply = box.ask(body)
    assert (reply.status, reply.error[:23]) == (400, "the body is no message:")
    assert box.mailbox.list() == []
