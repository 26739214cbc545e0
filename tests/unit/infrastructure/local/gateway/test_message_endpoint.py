"""Examine a message over HTTP, and act as its recipient."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import pytest

from chalicelib.tracking.model import CLICK, Link
from chalicelib.tracking.tokens import LinkPart
from infrastructure.local.gateway.message_endpoint import MessageEndpoint
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.sink.mail_client import MailClient
from infrastructure.local.sink.recipient import Recipient
from tests.unit.infrastructure.local.gateway.local_client import LocalClient, Reply
from tests.unit.infrastructure.local.messages.test_links import ISSUER
from tests.unit.infrastructure.local.running import RunningSink, Web, running_sink, running_web


class Box:
    """A mailbox with one message, whose links lead to a web server of the test."""

    def __init__(self, root: Path, web: Web, inbound: tuple[str, int]) -> None:
        self.mailbox = SinkMailbox(root)
        self.base = f"http://localhost:{web.port}"
        routes = MessageEndpoint(self.mailbox, Recipient(inbound, MailClient())).routes()
        self._client = LocalClient(routes)
        content = (
            f"From: a@a.test\r\nMessage-ID: <1@a.test>\r\n"
            f"List-Unsubscribe: <{self.base}/u>\r\n"
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
            "Content-Type: text/html; charset=utf-8\r\n\r\n"
            f'<img src="{self.base}/pixel"><a href="{self.base}/one">1</a>'
            '<a href="https://example.com">2</a>\r\n'
        )
        self.id = self.mailbox.add("verp@bounces.test", "ann@b.test", content.encode())
        self.empty_id = self.mailbox.add("", "ann@b.test", b"Subject: x\r\n\r\nx\r\n")

    def ask(self, method: str, path: str, body: object = None, message_id: str = "") -> Reply:
        return self._client.ask(method, f"/local/mailbox/{message_id or self.id}{path}", body)

    def act(self, message_id: str = "", **body: object) -> Reply:
        return self.ask("POST", "/actions", body, message_id)


@pytest.fixture
def inbound(tmp_path: Path) -> Iterator[RunningSink]:
    with running_sink(tmp_path / "inbound") as sink:
        yield sink


@pytest.fixture
def web() -> Iterator[Web]:
    with running_web() as web:
        yield web


@pytest.fixture
def box(tmp_path: Path, web: Web, inbound: RunningSink) -> Iterator[Box]:
    box = Box(tmp_path / "box", web, ("127.0.0.1", inbound.port))
    yield box
    box.mailbox.close()


@pytest.mark.parametrize(
    ("body", "requests"),
    [
        ({"action": "open"}, [("GET", "/pixel", "")]),
        ({"action": "click"}, [("GET", "/one", "")]),
        ({"action": "click", "url": "{base}/two?x=1"}, [("GET", "/two?x=1", "")]),
        ({"action": "unsubscribe"}, [("POST", "/u", "List-Unsubscribe=One-Click")]),
        (
            {"action": "unsubscribe", "way": "page"},
            [("GET", "/u", ""), ("POST", "/u", "List-Unsubscribe=One-Click")],
        ),
        (
            {"action": "unsubscribe", "way": "page", "url": "{base}/leave"},
            [("GET", "/leave", ""), ("POST", "/leave", "List-Unsubscribe=One-Click")],
        ),
    ],
)
def test_a_recipient_opens_clicks_and_unsubscribes(
    box: Box, web: Web, body: dict[str, str], requests: list[tuple[str, str, str]]
) -> None:
    filled = {name: value.format(base=box.base) for name, value in body.items()}
    results = box.act(**filled).results
    arrivals = [web.next_request() for _ in requests]
    assert [(each.method, each.path, each.body) for each in arrivals] == requests
    assert results["action"] == body["action"]
    assert [(step["method"], step["url"], step["status"]) for step in results["steps"]] == [
        (method, box.base + path, 302) for method, path, _ in requests
    ]
    assert web.requests.empty()


@pytest.mark.parametrize(
    ("action", "content_type"),
    [
        ("bounce", "multipart/report"),
        ("complain", "multipart/report"),
        ("reply", "text/plain"),
    ],
)
def test_a_recipient_answers_by_mail(
    box: Box, inbound: RunningSink, action: str, content_type: str
) -> None:
    steps = box.act(action=action).results["steps"]
    assert steps == [{"method": "SMTP", "url": "mailto:verp@bounces.test", "status": 250}]
    (entry,) = inbound.mailbox.list(to="verp@bounces.test")
    report = message_from_bytes(inbound.mailbox.read(entry["id"]) or b"")
    assert report.get_content_type() == content_type
    assert report["Auto-Submitted"] == "auto-replied"
    assert report["Return-Path"] == "<>"


def test_a_person_answers_to_reply_to(box: Box, inbound: RunningSink) -> None:
    content = (
        "From: Shop <shop@a.test>\r\nReply-To: Ticket 7 <t+7@in.test>, x@in.test\r\n"
        "Message-ID: <2@a.test>\r\nReferences: <0@a.test>\r\n <1@a.test>\r\n"
        "Subject: =?utf-8?q?Sch=C3=B6n?=\r\n\r\nHow was it?\r\n"
    )
    message_id = box.mailbox.add("verp@bounces.test", "ann@b.test", content.encode())
    steps = box.act(message_id, action="answer", text="Very good: 5 ★\n").results["steps"]
    assert [step["url"] for step in steps] == ["mailto:t+7@in.test", "mailto:x@in.test"]
    (entry,) = inbound.mailbox.list(to="t+7@in.test")
    answer = message_from_bytes(inbound.mailbox.read(entry["id"]) or b"", policy=default)
    assert answer["Return-Path"] == "<ann@b.test>"
    assert (answer["From"], answer["To"]) == ("ann@b.test", "t+7@in.test, x@in.test")
    assert answer["Subject"] == "Re: Schön"
    assert answer["In-Reply-To"] == "<2@a.test>"
    assert answer["References"] == "<0@a.test> <1@a.test> <2@a.test>"
    assert "Auto-Submitted" not in answer
    text = answer.get_content().replace("\r\n", "\n")
    assert text.startswith("Very good: 5 ★\n\nOn ")
    assert text.endswith("shop@a.test wrote:\n> How was it?\n")


def test_an_answer_goes_to_from_where_there_is_no_reply_to(box: Box, inbound: RunningSink) -> None:
    assert box.act(action="answer", text="Hi").status == 200
    assert len(inbound.mailbox.list(to="a@a.test")) == 1
    reply = box.act(box.empty_id, action="answer", text="Hi")
    assert reply.status == 409


def test_an_answer_that_the_service_does_not_take_is_told(box: Box) -> None:
    content = b"From: bounce-hard@a.test\r\n\r\nx\r\n"
    message_id = box.mailbox.add("", "ann@b.test", content)
    reply = box.act(message_id, action="answer", text="Hi")
    assert reply.status == 409
    assert "inbound domain" in reply.error


@pytest.mark.parametrize("action", ["open", "click", "unsubscribe", "complain", "bounce", "reply"])
def test_what_a_message_does_not_offer_is_a_conflict(box: Box, action: str) -> None:
    reply = box.act(box.empty_id, action=action)
    assert reply.status == 409
    assert reply.error


def test_what_a_link_leads_to_stands_for_the_link(box: Box, web: Web) -> None:
    part = LinkPart(Link("https://example.com/shop"))
    path = f"/{CLICK}/{ISSUER.token_of(part)}"
    content = f'Content-Type: text/html\r\n\r\n<a href="{box.base}{path}">Shop</a>\r\n'
    message_id = box.mailbox.add("", "ann@b.test", content.encode())
    box.act(message_id, action="click", url="https://example.com/shop")
    assert web.next_request().path == path


def test_no_link_to_another_machine_is_followed(box: Box) -> None:
    for url in ("https://example.com", "http://192.0.2.1/x", "file:///etc/passwd"):
        assert box.act(action="click", url=url).status == 409


def test_a_service_that_does_not_answer_is_told(box: Box, inbound: RunningSink) -> None:
    assert box.act(action="click", url="http://127.0.0.1:1/x").status == 502


@pytest.mark.parametrize(
    "body",
    [
        {"action": None},
        {"action": "dance"},
        {"action": "click", "url": 1},
        {"action": "open", "way": "x"},
        {"action": "answer"},
        {"action": "answer", "text": " "},
        {"action": "answer", "text": "x" * 50_001},
    ],
)
def test_a_malformed_action_is_refused(box: Box, body: dict[str, object]) -> None:
    assert box.act(**body).status == 400


def test_links_and_checks_are_shown(box: Box) -> None:
    links = box.ask("GET", "/links").results
    assert [(link["kind"], link["text"]) for link in links] == [
        ("link", "1"),
        ("link", "2"),
        ("image", ""),
        ("link", "List-Unsubscribe"),
    ]
    checks = {check["check"]: check["status"] for check in box.ask("GET", "/checks").results}
    assert checks == {
        "dkim": "warn",
        "alignment": "fail",
        "list_unsubscribe": "fail",
        "size": "pass",
        "text_part": "warn",
        "image_alt": "warn",
    }


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/links"), ("GET", "/checks"), ("POST", "/actions")]
)
def test_a_message_that_is_not_there_gives_404(box: Box, method: str, path: str) -> None:
    body = {"action": "open"} if method == "POST" else None
    assert box.ask(method, path, body, "1700000000.M000000P1.postfinch").status == 404
