"""Checks, release, chaos and send answer as Mailpit's do."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from chalicelib.core.settings import settings
from infrastructure.local.catching.choices import CatchChoices
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailpit.accepting import Acceptance, sending_with
from infrastructure.local.mailpit.check_routes import CheckRoutes
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.mime_parts import MimeParts
from infrastructure.local.mailpit.router import MailpitError, MailpitReply, MailpitRequest
from infrastructure.local.mailpit.sending import BuiltMessage, build
from infrastructure.local.messages.details import Detailer
from infrastructure.local.messages.parts import StoredMessage
from infrastructure.local.releasing.chaos import ChaosFile
from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.releasing.start import begin
from relay.errors import PermanentRefusal, SmtpRefusal
from tests.fake_cloud import queued_work
from tests.unit.delivery.scripted_server import ScriptedServer
from tests.unit.infrastructure.local.messages.sample_message import rich_message
from tests.unit.mail_verdicts.test_scans import JSON, Scanner
from tests.unit.people import make_account, make_key


class Service:
    """The routes over a mailbox with one message."""

    def __init__(self, folder: Path, spam_check: str = "", **environ: str) -> None:
        self.mailbox = SinkMailbox(folder / "mail")
        self.id = self.mailbox.add("s@a.test", "ann@inbox.test", rich_message())
        self._folder = folder
        self.configure(spam_check, **environ)

    def configure(self, spam_check: str = "", **environ: str) -> None:
        folder = self._folder
        choices = ReleaseChoices.read(environ)
        self.chaos = ChaosFile(folder)
        begin(choices, folder)
        catch = CatchChoices.read(environ)
        accept = Acceptance(self.mailbox, catch, TagChoices.read(environ), self.send)
        messages = Messages(self.mailbox, Detailer(self.mailbox, lambda _: {}))
        routes = CheckRoutes(messages, choices, self.chaos, accept, spam_check)
        self.routes = {f"{each.method} {each.path}": each.operation for each in routes.routes()}

    def send(self, login: str, message: BuiltMessage) -> str:
        """Stand for the service: bring a message into the mailbox; an author may be refused."""
        if message.sender == "blocked@a.test":
            raise PermanentRefusal(550, "5.7.1", "Blocked Sending Domain")
        for recipient in message.recipients:
            self.mailbox.add(f"bounces+{login}@a.test", recipient, message.content)
        return "transmission"

    def ask(
        self, name: str, body: Any = None, query: str = "", login: str = "", **parameters: str
    ) -> MailpitReply:
        method, path = name.split()
        operation = self.routes[f"{method} /api/v1{path}"]
        credentials = base64.b64encode(f"{login}:x".encode()).decode()
        headers = (("authorization", f"Basic {credentials}"),) if login else ()
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = MailpitRequest(
            method=method,
            path=path,
            parameters={"id": self.id, **parameters},
            query=dict([query.split("=")]) if query else {},
            headers=headers,
            body=content,
        )
        reply = operation(request)
        assert not asyncio.iscoroutine(reply)
        assert isinstance(reply, MailpitReply)
        return reply

    def json(self, name: str, body: Any = None, **parameters: Any) -> Any:
        reply = self.ask(name, body, **parameters)
        assert reply.content_type == "application/json"
        return json.loads(reply.body)

    def refusal(self, name: str, body: Any = None, **parameters: Any) -> tuple[int, str]:
        with pytest.raises(MailpitError) as error:
            self.ask(name, body, **parameters)
        return error.value.status, str(error.value)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    yield service
    service.mailbox.close()


def test_the_html_check_has_mailpits_fields(service: Service) -> None:
    content = b"Content-Type: text/html\r\n\r\n<p style='opacity: 1'>x</p><b>y</b>"
    service.id = service.mailbox.add("s@a.test", "ann@inbox.test", content)
    check = service.json("GET /message/{id}/html-check")
    assert set(check) == {"Warnings", "Platforms", "Total"}
    assert set(check["Total"]) == {"Tests", "Nodes", "Supported", "Partial", "Unsupported"}
    assert check["Total"]["Nodes"] == 2
    (warning,) = check["Warnings"]
    assert warning["Slug"] == "css-opacity"
    assert set(warning) == {
        "Slug", "Title", "Description", "URL", "Category", "Tags", "Keywords", "Results",
        "NotesByNumber", "Score",
    }  # fmt: skip
    assert set(warning["Score"]) == {"Found", "Supported", "Partial", "Unsupported"}
    assert set(warning["Results"][0]) == {
        "Name", "Platform", "Family", "Version", "Support", "NoteNumber",
    }  # fmt: skip
    assert "Gmail" in check["Platforms"]["android"]


def test_a_message_without_html_has_no_html_check(service: Service) -> None:
    service.id = service.mailbox.add("s@a.test", "ann@inbox.test", b"Subject: x\r\n\r\nx")
    refusal = service.refusal("GET /message/{id}/html-check")
    assert refusal == (400, "message does not contain HTML")


def test_latest_is_the_newest_message(service: Service) -> None:
    service.mailbox.add("s@a.test", "ann@inbox.test", b"Subject: x\r\n\r\nhttp://127.0.0.1/")
    check = service.json("GET /message/{id}/link-check", id="latest")
    assert [each["URL"] for each in check["Links"]] == ["http://127.0.0.1/"]
    service.mailbox.clear()
    for message_id in ("latest", service.id, "../x"):
        assert service.refusal("GET /message/{id}/link-check", id=message_id)[0] == 404


def test_latest_is_the_newest_message_that_a_search_finds(service: Service) -> None:
    for name in ("first", "second"):
        content = f"Subject: {name}\r\n\r\nhttp://127.0.0.1/{name}"
        service.mailbox.add("s@a.test", "ann@inbox.test", content.encode())
    query = "query=subject:first"
    check = service.json("GET /message/{id}/link-check", query=query, id="latest")
    assert [each["URL"] for each in check["Links"]] == ["http://127.0.0.1/first"]


def test_the_link_check_counts_errors(service: Service) -> None:
    content = b"Subject: x\r\n\r\nhttp://127.0.0.1/ https://10.0.0.1/"
    service.id = service.mailbox.add("s@a.test", "ann@inbox.test", content)
    check = service.json("GET /message/{id}/link-check", query="follow=1")
    status = {"StatusCode": 451, "Status": "Blocked private/reserved address"}
    assert check == {
        "Errors": 2,
        "Links": [{"URL": "http://127.0.0.1/", **status}, {"URL": "https://10.0.0.1/", **status}],
    }


def test_without_a_spam_checker_there_is_no_spam_check(service: Service) -> None:
    assert "GET /api/v1/message/{id}/sa-check" not in service.routes


def test_the_spam_check_has_mailpits_fields(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanner = Scanner()
    source = service.mailbox.read(service.id) or b""
    scanner.answer(b"HTTP/1.1 200 OK\r\n\r\n" + JSON, source[-40:])
    monkeypatch.setenv("SPAM_CHECK", f"rspamd://127.0.0.1:{scanner.port}")
    settings.cache_clear()
    service.configure(settings().spam_check)
    assert service.json("GET /message/{id}/sa-check") == {
        "IsSpam": True,
        "Error": "",
        "Score": 7.3,
        "Rules": [
            {"Score": 0.1, "Name": "ONCE_RECEIVED", "Description": ""},
            {"Score": -0.1, "Name": "MIME_GOOD", "Description": ""},
        ],
    }
    scanner.close()


def test_an_attachment_has_a_thumbnail(service: Service) -> None:
    parts = MimeParts(StoredMessage(service.mailbox.read(service.id) or b""))
    for part in (*parts.inlines, *parts.attachments):
        reply = service.ask("GET /message/{id}/part/{part}/thumb", part=part.part_id)
        assert reply.content_type == "image/jpeg"
        assert Image.open(io.BytesIO(reply.body)).size == (180, 120)
    assert service.refusal("GET /message/{id}/part/{part}/thumb", part="77")[0] == 400


def test_a_message_is_released(service: Service) -> None:
    with ScriptedServer() as server:
        service.configure(
            RELEASE_HOST=f"smtp://127.0.0.1:{server.port}", RELEASE_RECIPIENTS="*@ours.test"
        )
        reply = service.ask("POST /message/{id}/release", {"To": ["bob@ours.test"]})
        assert (reply.status, reply.body, reply.content_type) == (200, b"ok", "text/plain")
        assert len(server.contents) == 1
        release = "POST /message/{id}/release"
        assert service.refusal(release, {"To": ["a@b.test"]}) == (
            400,
            "Failed: 1 Address do not match the allowlist: a@b.test",
        )
        assert service.refusal(release, {"To": ["nobody"]}) == (
            400,
            "Invalid email address: nobody",
        )
        assert service.refusal(release, {}) == (400, "No valid addresses found")
        assert service.refusal(release, {"To": "a@b.test"})[0] == 400
        assert service.refusal(release, b"{")[0] == 400
        assert len(server.contents) == 1
    status, text = service.refusal(release, {"To": ["bob@ours.test"]})
    assert (status, text.partition(":")[0]) == (400, "SMTP error")


def test_nothing_is_released_until_a_host_is_set(service: Service) -> None:
    refusal = service.refusal("POST /message/{id}/release", {"To": ["bob@ours.test"]})
    assert refusal[0] == 400
    assert "RELEASE_HOST" in refusal[1]


def test_chaos_is_refused_while_it_is_off(service: Service) -> None:
    assert service.refusal("GET /chaos") == (400, "Chaos is not enabled")
    assert service.refusal("PUT /chaos", {}) == (400, "Chaos is not enabled")


def test_chaos_is_set_and_shown(service: Service) -> None:
    service.configure(CHAOS="true")
    off = {"ErrorCode": 451, "Probability": 0}
    login_off = {"ErrorCode": 535, "Probability": 0}
    assert service.json("GET /chaos") == {
        "Sender": off,
        "Recipient": off,
        "Authentication": login_off,
    }
    sender = {"ErrorCode": 421, "Probability": 100}
    triggers = {"Sender": sender, "Recipient": off, "Authentication": login_off}
    assert service.json("PUT /chaos", {"Sender": sender}) == triggers
    assert service.json("GET /chaos") == triggers
    assert service.chaos.fault("Sender") == 421
    problem = (400, "error code must be between 400 and 599")
    assert service.refusal("PUT /chaos", {"Sender": {"ErrorCode": 200}}) == problem
    assert service.json("PUT /chaos", {})["Sender"] == off


def test_a_message_is_sent_into_the_mailbox(service: Service) -> None:
    service.configure(CATCH_INBOX="login")
    document = {
        "From": {"Email": "s@a.test"},
        "To": [{"Email": "bob+news@b.test"}],
        "Bcc": ["eve@b.test"],
        "Subject": "Sent by JSON",
        "Tags": ["one"],
    }
    message_id = service.json("POST /send", document, login="shop")["ID"]
    row = service.mailbox.index.row(message_id)
    assert row is not None
    assert (row.subject, row.inbox, row.login) == ("Sent by JSON", "shop", "shop")
    assert row.recipient == "bob+news@b.test, eve@b.test"
    assert json.loads(row.given_tags) == ["news", "one"]


def test_what_cannot_be_sent_has_an_error_as_json(service: Service) -> None:
    for body in ({"From": {"Email": "x"}}, b"no json", [1], {}):
        reply = service.ask("POST /send", body)
        assert reply.status == 400
        assert set(json.loads(reply.body)) == {"Error"}
    assert service.mailbox.index.counts()[0] == 1


DOCUMENT = {"From": {"Email": "s@a.test"}, "To": [{"Email": "bob@b.test"}], "Subject": "x"}


def test_with_catch_send_a_message_goes_through_the_service(service: Service) -> None:
    service.configure(CATCH="send")
    message_id = service.json("POST /send", DOCUMENT, login="shop")["ID"]
    row = service.mailbox.index.row(message_id)
    assert row is not None
    assert (row.subject, row.senders.split("\n")[-1]) == ("x", "bounces+shop@a.test")
    reply = service.ask("POST /send", {**DOCUMENT, "From": {"Email": "blocked@a.test"}})
    assert reply.status == 400
    assert b"cannot be sent: 550 5.7.1 Blocked Sending Domain" in reply.body


@pytest.mark.usefixtures("cloud")
def test_with_catch_send_a_message_is_sent_with_the_key_of_the_account() -> None:
    make_account()
    message = build(DOCUMENT)
    transmission_id = sending_with(make_key().key)("shop", message)
    (work,) = queued_work()
    assert transmission_id in work
    with pytest.raises(SmtpRefusal):
        sending_with("wrong")("shop", message)
