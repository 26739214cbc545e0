"""Check and release messages over HTTP, under ``/local``."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from chalicelib.core.settings import settings
from infrastructure.local.gateway.checks_endpoint import ChecksEndpoint
from infrastructure.local.mailbox.mailbox import SinkMailbox
from tests.unit.delivery.scripted_server import ScriptedServer
from tests.unit.infrastructure.local.gateway.local_client import LocalClient, Reply
from tests.unit.infrastructure.local.messages.sample_message import rich_message
from tests.unit.mail_verdicts.test_scans import MESSAGE, REPORT, Scanner


class Box:
    """A mailbox with one message, and the operations under some settings."""

    def __init__(self, folder: Path) -> None:
        self.mailbox = SinkMailbox(folder)
        self.id = self.mailbox.add("s@a.test", "ann@inbox.test", rich_message())
        self.configure()

    def configure(self, spam_check: str = "", **environ: str) -> None:
        self.client = LocalClient(ChecksEndpoint(self.mailbox, environ, spam_check).routes())

    def ask(self, path: str, method: str = "GET", body: object = None) -> Reply:
        return self.client.ask(method, f"/local/mailbox/{self.id}/{path}", body)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.mailbox.close()


def test_the_html_check_lists_what_clients_do(box: Box) -> None:
    content = b"Content-Type: text/html\r\n\r\n<p style='opacity: 1'>x</p><b>y</b>"
    box.id = box.mailbox.add("s@a.test", "ann@inbox.test", content)
    check = box.ask("html-check").results
    (warning,) = check.pop("warnings")
    assert warning["slug"] == "css-opacity"
    assert warning["found"] == 1
    assert warning["supported"] + warning["partial"] + warning["unsupported"] == pytest.approx(100)
    assert {each["support"] for each in warning["results"]} <= {"yes", "no", "partial"}
    assert "iOS" in check.pop("platforms")["Gmail"]
    assert check["nodes"] == 2
    assert check["supported"] == pytest.approx(100 - check["partial"] - check["unsupported"])


def test_a_message_without_html_says_so(box: Box) -> None:
    box.id = box.mailbox.add("s@a.test", "ann@inbox.test", b"Subject: x\r\n\r\nx")
    reply = box.ask("html-check")
    assert (reply.status, reply.error) == (409, "the message has no HTML")


def test_the_link_check_lists_each_link(box: Box) -> None:
    content = b"Subject: x\r\n\r\nhttp://127.0.0.1/"
    box.id = box.mailbox.add("s@a.test", "ann@inbox.test", content)
    link = {
        "url": "http://127.0.0.1/",
        "status_code": 451,
        "status": "Blocked private/reserved address",
        "target": None,
    }
    assert box.ask("link-check?follow=true").results == {"errors": 1, "links": [link]}


def test_the_spam_check_has_the_rules(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    assert box.ask("spam-check").status == 409
    scanner = Scanner()
    scanner.answer(REPORT, MESSAGE)
    monkeypatch.setenv("SPAM_CHECK", f"spamd://127.0.0.1:{scanner.port}")
    settings.cache_clear()
    box.id = box.mailbox.add("s@a.test", "ann@inbox.test", MESSAGE)
    box.configure(settings().spam_check)
    check = box.ask("spam-check").results
    scanner.close()
    assert (check["is_spam"], check["score"], check["error"]) == (True, 1000.0, "")
    description = "BODY: Generic Test for Unsolicited Bulk Email"
    assert check["rules"][0] == {"name": "GTUBE", "score": 1000.0, "description": description}


def test_a_part_has_a_thumbnail(box: Box) -> None:
    reply = box.ask("parts/5/thumbnail")
    assert reply.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(reply.body)).size == (180, 120)
    assert [box.ask(f"parts/{part}/thumbnail").status for part in ("99", "x", "9" * 5000)] == [
        404
    ] * 3


def test_nothing_is_released_without_a_host(box: Box) -> None:
    assert box.client.ask("GET", "/local/releasing").results == {
        "host": None,
        "recipients": [],
        "forward_matching": None,
        "forward_to": [],
        "warning": None,
    }
    reply = box.ask("release", "POST", {"to": ["bob@ours.test"]})
    assert reply.status == 409
    assert "RELEASE_HOST" in reply.error


def test_a_message_is_released_to_allowed_recipients_only(box: Box) -> None:
    with ScriptedServer(answers={"RCPT": [b"250 ok\r\n", b"550 5.1.1 no\r\n"]}) as server:
        host = f"127.0.0.1:{server.port}"
        box.configure(RELEASE_HOST=f"smtp://u:p@{host}", RELEASE_RECIPIENTS="*@ours.test")
        releasing = box.client.ask("GET", "/local/releasing").results
        assert (releasing["host"], releasing["recipients"]) == (host, ["*@ours.test"])
        assert host in releasing["warning"]
        assert box.ask("release", "POST", {"to": ["a@b.test"]}).status == 409
        for to in ([], "bob@ours.test", [7], ["nobody"], ["a@ours.test"] * 101):
            assert box.ask("release", "POST", {"to": to}).status == 400
        assert server.conversations == []
        # It offers no login
        assert box.ask("release", "POST", {"to": ["bob@ours.test"]}).status == 502
        box.configure(RELEASE_HOST=f"smtp://{host}", RELEASE_RECIPIENTS="*@ours.test")
        release = box.ask("release", "POST", {"to": ["bob@ours.test", "cy@ours.test"]}).results
        assert release == {
            "to": ["bob@ours.test"],
            "refused": [{"address": "cy@ours.test", "reply": "550 5.1.1 no"}],
        }
        assert len(server.contents) == 1


def test_a_message_that_is_gone_is_not_found(box: Box) -> None:
    box.mailbox.clear()
    for path in ("html-check", "link-check", "spam-check", "parts/1/thumbnail"):
        assert box.ask(path).status == 404
    assert box.ask("release", "POST", {"to": ["a@b.test"]}).status == 404
