"""One message is shown as Mailpit shows it."""

from __future__ import annotations

import hashlib
import sqlite3
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.mailbox.trace import Trace
from tests.unit.infrastructure.local.mailpit.mailpit_client import MailpitClient
from tests.unit.infrastructure.local.mailpit.published_fields import MESSAGE, faults

LATEST = "/api/v1/message/latest"
PICTURE, PAPER = b"\x89PNG picture", b"%PDF paper"


@pytest.fixture
def client(tmp_path: Path) -> MailpitClient:
    return MailpitClient(tmp_path)


def add_large(client: MailpitClient) -> str:
    """Store a message of five parts: alternative bodies, a picture in one, a file beside them."""
    message = EmailMessage()
    message["From"], message["To"] = "Älice <alice@shop.test>", "ann@inbox.test"
    message["Subject"], message["Message-ID"] = "Größe", "<1@shop.test>"
    message["Date"] = "Sat, 28 Nov 2026 18:00:00 +0200"
    message["List-Unsubscribe"] = "<mailto:off@shop.test>, <https://shop.test/off>"
    message.set_content("Plain text\n")
    message.add_alternative("<p>Hi <img src='cid:pic'></p>", subtype="html")
    page = message.get_payload()[1]
    page.add_related(PICTURE, "image", "png", cid="<pic>", disposition="inline")
    message.add_attachment(PAPER, "application", "pdf", filename="a ä.pdf")
    content = message.as_bytes().replace(b"\n", b"\r\n")
    trace = Trace("bounce@shop.test", ("ann@inbox.test", "hidden@x.test"), login="shop")
    return client.mailbox.store(trace, content)


def test_a_message_has_the_published_fields(client: MailpitClient) -> None:
    message_id = add_large(client)
    message = client.get(f"/api/v1/message/{message_id}")
    assert faults(message, MESSAGE) == []
    assert message["From"] == {"Name": "Älice", "Address": "alice@shop.test"}
    assert message["Bcc"] == [{"Name": "", "Address": "hidden@x.test"}]
    assert message["ReturnPath"] == "bounce@shop.test"
    assert message["Date"] == "2026-11-28T18:00:00+02:00"
    assert (message["Subject"], message["Username"]) == ("Größe", "shop")
    assert (message["Text"], message["HTML"]) == (
        "Plain text\r\n",
        "<p>Hi <img src='cid:pic'></p>\r\n",
    )
    assert message["ListUnsubscribe"]["Links"] == ["mailto:off@shop.test", "https://shop.test/off"]


def test_parts_have_the_numbers_of_mailpit(client: MailpitClient) -> None:
    add_large(client)
    message = client.get(LATEST)
    (picture,), (paper,) = message["Inline"], message["Attachments"]
    assert (picture["PartID"], picture["ContentID"], picture["FileName"]) == ("1.2.2", "pic", "pic")
    assert (paper["PartID"], paper["FileName"], paper["Size"]) == ("2", "a ä.pdf", len(PAPER))
    assert paper["Checksums"]["SHA256"] == hashlib.sha256(PAPER).hexdigest()
    for part_id, content, kind in (
        ("1.2.2", PICTURE, "image/png"),
        ("2", PAPER, "application/pdf"),
    ):
        response = client.ask("GET", f"{LATEST}/part/{part_id}")
        assert (response.status, response.body) == (200, content)
        assert response.headers["content-type"] == kind
        assert response.headers["content-disposition"].startswith("inline; filename=")
        assert response.headers["content-security-policy"].startswith("sandbox;")
    assert client.ask("GET", f"{LATEST}/part/1.1").status == 404


def test_reading_a_message_marks_it_as_read(client: MailpitClient) -> None:
    for path in ("{}", "{}/headers", "{}/raw"):
        message_id = client.add()
        client.ask("GET", f"/api/v1/message/{path.format(message_id)}")
        row = client.mailbox.index.row(message_id)
        assert row
        assert bool(row.unread) == (path != "{}"), path
    message_id = client.add()
    client.ask("GET", f"/view/{message_id}.txt")
    assert (row := client.mailbox.index.row(message_id))
    assert not row.unread


def test_latest_is_the_last_message_that_a_search_finds(client: MailpitClient) -> None:
    client.add("one")
    client.add("two")
    assert client.get(LATEST)["Subject"] == "two"
    assert client.get(f"{LATEST}?query=subject:one")["Subject"] == "one"
    for path in (LATEST, f"{LATEST}/raw", "/view/latest.html", "/view/latest.txt"):
        response = client.ask("GET", f"{path}?query=subject:three")
        assert (response.status, response.body) == (404, b"Message not found"), path


def test_what_is_not_there_is_not_found(client: MailpitClient) -> None:
    for path in ("", "/headers", "/raw", "/part/1"):
        response = client.ask("GET", f"/api/v1/message/none{path}")
        assert (response.status, response.body) == (404, b"404 page not found")
    assert client.ask("GET", "/view/none.txt").body == b"Message not found"


def test_the_source_has_the_envelope_of_mailpit(client: MailpitClient) -> None:
    message_id = add_large(client)
    response = client.ask("GET", f"{LATEST}/raw?dl=1")
    lines = b"Return-Path: <bounce@shop.test>\r\nBcc: hidden@x.test\r\nFrom: "
    assert response.body.startswith(lines)
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["content-disposition"] == f'attachment; filename="{message_id}.eml"'
    assert "content-disposition" not in client.ask("GET", f"{LATEST}/raw").headers


def test_headers_are_not_decoded_and_have_names_of_one_spelling(client: MailpitClient) -> None:
    client.add("Größe", X_SPAM_score="1", RECEIVED="one")
    headers = client.get(f"{LATEST}/headers")
    assert headers["Subject"][0].startswith("=?utf-8?")
    assert (headers["X-Spam-Score"], headers["Received"]) == (["1"], ["one"])
    assert headers["Return-Path"] == ["<bounce@shop.test>"]


def test_the_page_of_a_message_runs_no_script_and_has_its_pictures(client: MailpitClient) -> None:
    add_large(client)
    response = client.ask("GET", "/view/latest.html")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("sandbox")
    assert "script" not in policy
    assert b"data:image/png;base64," in response.body
    assert client.ask("GET", "/view/latest.txt").body == b"Plain text\r\n"
    client.add()
    response = client.ask("GET", "/view/latest.html")
    assert (response.status, response.body) == (
        404,
        b"This message does not contain a HTML part",
    )


def mime(kind: str, *parts: tuple[str, bytes]) -> bytes:
    head = f"From: a@x.test\r\nContent-Type: {kind}; boundary=b\r\n\r\n".encode()
    pieces = [b"--b\r\n" + fields.encode() + b"\r\n\r\n" + body + b"\r\n" for fields, body in parts]
    return head + b"".join(pieces) + b"--b--\r\n"


@pytest.mark.parametrize(
    ("content", "text", "attachments", "inline"),
    [
        (
            mime(
                "multipart/mixed",
                ("Content-Type: text/plain", b"one"),
                ("Content-Type: text/plain", b"two"),
                ("Content-Type: text/calendar; name=a.ics", b"x"),
                ("Content-Type: application/octet-stream; name=b", b"x"),
            ),
            "one\n--\ntwo",
            ["4"],
            ["3"],
        ),
        (
            mime("multipart/alternative", ("Content-Type: text/html", b"<p>only</p>")),
            "only",
            [],
            [],
        ),
        (
            b"Content-Type: application/pdf; name=a.pdf\r\n\r\nx",
            "",
            ["0"],
            [],
        ),
        (b"Subject: no parts\r\n\r\nplain", "plain", [], []),
        (
            b"Content-Type: multipart/mixed\r\n\r\nno boundary",
            "Content-Type: multipart/mixed\r\n\r\nno boundary",
            [],
            [],
        ),
    ],
)
def test_text_and_files_are_told_apart_as_there(
    client: MailpitClient, content: bytes, text: str, attachments: list[str], inline: list[str]
) -> None:
    client.mailbox.store(Trace("", ("x@x.test",)), content)
    message: Any = client.get(LATEST)
    assert message["Text"] == text
    assert [each["PartID"] for each in message["Attachments"]] == attachments
    assert [each["PartID"] for each in message["Inline"]] == inline


def test_messages_are_shown_while_the_disk_is_full(
    client: MailpitClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id = client.add(text="Read me")

    def fail(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    for name in ("add_details", "set_unread", "take"):
        monkeypatch.setattr(client.mailbox.index, name, fail)
    (entry,) = client.get("/api/v1/messages")["messages"]
    assert entry["ID"] == message_id
    assert client.get("/api/v1/search?query=subject:hello")["count"] == 1
    assert client.ask("GET", "/api/v1/search?query=read").status == 200
    assert client.get(f"/api/v1/message/{message_id}")["Text"].strip() == "Read me"
    change = client.ask("PUT", "/api/v1/messages", {"Read": True})
    assert (change.status, change.body) == (507, b"the disk of the mailbox is full")
