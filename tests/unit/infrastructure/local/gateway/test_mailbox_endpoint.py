"""Show, search, flag and delete messages of the mailbox over HTTP."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from chalicelib.core import clock, ids
from chalicelib.sending_domains import return_path
from infrastructure.local.gateway import mailbox_endpoint
from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.messages.details import Detailer, Reference
from tests.unit.infrastructure.local.gateway.local_client import LocalClient
from tests.unit.infrastructure.local.messages.sample_message import PNG, rich_message

MESSAGE_ID = ids.message_id("217344600000123456", 3)


class Contexts:
    """Knows one message, and records which ones were looked up."""

    def __init__(self) -> None:
        self.references: list[Reference] = []

    def __call__(self, references: Sequence[Reference]) -> Mapping[str, Mapping[str, Any]]:
        self.references += references
        context = {"subaccount_id": "7", "rcpt_tags": ["VIP"], "campaign_id": "spring"}
        return {MESSAGE_ID: context}


class Box:
    """A mailbox with its endpoint."""

    def __init__(self, root: Path) -> None:
        self.mailbox = SinkMailbox(root)
        self.contexts = Contexts()
        endpoint = MailboxEndpoint(self.mailbox, Detailer(self.mailbox, self.contexts))
        self.client = LocalClient(endpoint.routes())

    def add(self, subject: str = "Hello", recipient: str = "ann@inbox.test") -> str:
        content = f"From: a@a.test\r\nSubject: {subject}\r\n\r\nText of {subject}\r\n".encode()
        return self.mailbox.add("", recipient, content)

    def add_rich(self, html: str | None = None) -> str:
        sender = return_path.local_part(MESSAGE_ID, clock.now_ms()) + "@bounce.test"
        content = rich_message(html) if html else rich_message()
        return self.mailbox.add(sender, "ann@inbox.test", content)

    def list(self, query: str = "") -> Any:
        reply = self.client.ask("GET", f"/local/mailbox?{query}")
        assert reply.status == 200, reply.body
        return reply.json

    def subjects(self, query: str = "") -> list[str]:
        return [each["subject"] for each in self.list(query)["results"]]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.mailbox.close()


def test_the_newest_messages_come_first_page_by_page(box: Box) -> None:
    for number in range(5):
        box.add(str(number))
    subjects: list[str] = []
    page = box.list("limit=2")
    box.add("new")  # it belongs before the first page
    while True:
        subjects += [each["subject"] for each in page["results"]]
        if "next" not in page["links"]:
            break
        page = box.list(page["links"]["next"].partition("?")[2])
    assert subjects == ["4", "3", "2", "1", "0"]
    assert page["counts"] == {"messages": 6, "unread": 6}


def test_a_list_without_details_parses_nothing(box: Box) -> None:
    box.add_rich()
    (entry,) = box.list("to=ann@inbox.test")["results"]
    assert list(entry) == [
        *["id", "from", "to", "subject", "received_at", "size", "unread", "inbox"]
    ]
    assert box.contexts.references == []


def test_details_tell_what_the_message_and_the_service_say(box: Box) -> None:
    box.add_rich()
    (entry,) = box.list("details=true")["results"]
    expected = {
        "from": "shop@example.test",
        "from_name": "Jürgen",
        "snippet": "Hello Ann, this is the text — 7 €.",
        "attachments": 1,
        "message_id": MESSAGE_ID,
        "transmission_id": "217344600000123456",
        "subaccount_id": 7,
        "campaign_id": "spring",
        "tags": ["VIP"],
    }
    assert entry.items() >= expected.items()
    box.list("details=true")
    assert len(box.contexts.references) == 1  # they are stored


def test_mail_that_the_service_did_not_send_has_no_service_ids(box: Box) -> None:
    box.add()
    (entry,) = box.list("details=true")["results"]
    assert (entry["message_id"], entry["subaccount_id"], entry["tags"]) == (None, None, [])


def test_a_search_looks_into_texts_tags_and_attachments(box: Box) -> None:
    box.add("Bill")
    box.add_rich()
    assert box.subjects("q=" + quote('"text of bill"')) == ["Bill"]
    assert box.subjects("q=tag:vip") == box.subjects("q=has:attachment") == ["Grüße"]
    assert box.subjects("subaccount=7") == box.subjects("q=subaccount:7") == ["Grüße"]
    assert box.subjects("q=-tag:vip&to=ann@inbox.test") == ["Bill"]
    assert box.subjects("q=" + quote("grüsse €")) == ["Grüße"]


def test_a_search_that_takes_long_goes_on_with_the_next_page(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(250):
        box.add(str(number))
    monkeypatch.setattr(mailbox_endpoint, "SEARCH_SECONDS", 0.0)
    subjects: list[str] = []
    query, pages = "q=text", 0
    while query:
        page = box.list(query + ("&limit=1000" if not pages else ""))
        subjects += [each["subject"] for each in page["results"]]
        query, pages = page["links"].get("next", "").partition("?")[2], pages + 1
    assert subjects == [str(number) for number in reversed(range(250))]
    assert pages == 3  # a hundred messages at a time


@pytest.mark.parametrize(
    "other", ["", "to=b@inbox.test", "to=a@inbox.test&q=hi", "to=a@inbox.test&subject=1"]
)
def test_a_cursor_leads_on_only_with_its_own_filters(box: Box, other: str) -> None:
    for number in range(3):
        box.add(str(number), "a@inbox.test")
    link = box.list("to=a@inbox.test&limit=1")["links"]["next"]
    cursor = link.partition("cursor=")[2]
    assert len(box.list(f"to=a@inbox.test&limit=5&details=true&cursor={cursor}")["results"]) == 2
    reply = box.client.ask("GET", f"/local/mailbox?{other}&cursor={cursor}")
    assert (reply.status, reply.error) == (400, "cursor belongs to a search with other filters")


def test_the_first_page_has_a_cursor_as_in_other_lists(box: Box) -> None:
    box.add("new")
    assert box.subjects("cursor=initial") == ["new"]


@pytest.mark.parametrize("query", ["limit=x", "limit=-1", "q=is:old", "subaccount=x", "cursor=1"])
def test_a_malformed_query_is_refused(box: Box, query: str) -> None:
    reply = box.client.ask("GET", f"/local/mailbox?{query}")
    assert reply.status == 400
    assert reply.error


def test_a_message_is_shown_with_its_parts(box: Box) -> None:
    message_id = box.add_rich()
    content = box.client.ask("GET", f"/local/mailbox/{message_id}/content").results
    assert content["id"] == message_id
    assert content["tags"] == ["VIP"]
    assert content["headers"][2] == {"name": "Subject", "value": "Grüße"}
    assert content["text"].startswith("Hello Ann,")
    assert content["html"].startswith("<p>Hello")
    assert content["amp"].startswith("<html amp4email>")
    assert [part["role"] for part in content["parts"]] == [
        "text",
        "amp",
        "html",
        "inline",
        "attachment",
    ]
    attachment = content["parts"][-1]
    assert attachment["filename"] == "zahlen – Mai.csv"
    assert attachment["size"] == 8
    data = box.client.ask("GET", f"/local/mailbox/{message_id}/parts/{attachment['part']}")
    assert data.body == b"a,b\n1,2\n"
    assert data.headers["content-type"] == "application/octet-stream"
    assert data.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''zahlen%20%E2%80%93%20Mai.csv"
    )


def test_only_images_without_scripts_are_shown_inline(box: Box) -> None:
    image = box.add_rich()
    parts = box.client.ask("GET", f"/local/mailbox/{image}/content").results["parts"]
    number = next(each["part"] for each in parts if each["role"] == "inline")
    reply = box.client.ask("GET", f"/local/mailbox/{image}/parts/{number}")
    assert (reply.body, reply.headers["content-type"]) == (PNG, "image/png")
    assert reply.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    svg = box.mailbox.add("", "a@b.test", b"Content-Type: image/svg+xml\r\n\r\n<svg onload=x()>")
    reply = box.client.ask("GET", f"/local/mailbox/{svg}/parts/0")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"].startswith("attachment;")
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_html_is_a_page_in_which_nothing_runs_and_nothing_is_loaded(box: Box) -> None:
    message_id = box.add_rich()
    reply = box.client.ask("GET", f"/local/mailbox/{message_id}/html")
    policy = reply.headers["content-security-policy"]
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    directives = dict(each.strip().partition(" ")[::2] for each in policy.split(";"))
    assert "allow-scripts" not in directives["sandbox"]
    assert "allow-same-origin" not in directives["sandbox"]
    assert "allow-forms" not in directives["sandbox"]
    assert directives["default-src"] == directives["form-action"] == "'none'"
    assert directives["img-src"] == "data:"
    assert directives["frame-ancestors"] == "'self'"
    assert b'<img src="data:image/png;base64,iVBOR' in reply.body
    remote = box.client.ask("GET", f"/local/mailbox/{message_id}/html?images=remote")
    assert "img-src data: http: https:" in remote.headers["content-security-policy"]
    assert "script-src" not in remote.headers["content-security-policy"]


def test_amp_is_shown_like_html(box: Box) -> None:
    message_id = box.add_rich()
    reply = box.client.ask("GET", f"/local/mailbox/{message_id}/amp")
    assert reply.headers["content-security-policy"].startswith("sandbox")
    assert b"amp4email" in reply.body
    assert box.client.ask("GET", f"/local/mailbox/{box.add()}/amp").status == 404


def test_the_source_is_a_download(box: Box) -> None:
    message_id = box.add()
    reply = box.client.ask("GET", f"/local/mailbox/{message_id}")
    assert reply.body == box.mailbox.read(message_id)
    assert reply.headers["content-type"] == "message/rfc822"
    assert reply.headers["content-disposition"].startswith("attachment;")
    head = box.client.ask("HEAD", f"/local/mailbox/{message_id}")
    assert (head.body, head.headers["content-length"]) == (b"", str(len(reply.body)))


def test_messages_are_flagged_one_by_one_and_all_at_once(box: Box) -> None:
    first = box.add("first")
    box.add("second")
    reply = box.client.ask("PUT", f"/local/mailbox/{first}", {"unread": False})
    assert reply.results == {"id": first, "unread": False}
    assert box.subjects("q=is:unread") == ["second"]
    assert box.client.ask("PUT", "/local/mailbox", {"unread": False}).results["unread"] == 0
    assert box.client.ask("PUT", "/local/mailbox", {"unread": True}).results["unread"] == 2
    for body in ({}, {"unread": 1}, [True], b"{"):
        assert box.client.ask("PUT", "/local/mailbox", body).status in (400, 422)


def test_messages_are_deleted_one_by_one_and_all_at_once(box: Box) -> None:
    first = box.add("first")
    box.add_rich()
    box.add("third")
    box.list("details=true")
    assert box.client.ask("DELETE", f"/local/mailbox/{first}").results == {"deleted": 1}
    assert box.subjects() == ["third", "Grüße"]
    assert box.client.ask("DELETE", "/local/mailbox").results == {"deleted": 2}
    assert box.list()["counts"] == {"messages": 0, "unread": 0}


def test_only_messages_that_match_are_flagged_or_deleted(box: Box) -> None:
    for number in range(250):  # more than are detailed at a time
        box.add(str(number))
    box.add_rich()
    counts = box.client.ask("PUT", "/local/mailbox?subaccount=7", {"unread": False}).results
    assert counts == {"messages": 251, "unread": 250}
    assert box.subjects("q=is:read") == ["Grüße"]
    assert box.client.ask("DELETE", "/local/mailbox?subaccount=8").results == {"deleted": 0}
    assert box.client.ask("DELETE", "/local/mailbox?subaccount=7").results == {"deleted": 1}
    path = "/local/mailbox?q=" + quote("subject:24")
    assert box.client.ask("DELETE", path).results == {"deleted": 13}  # 24, 124, 224, 240 to 249
    assert box.list()["counts"] == {"messages": 237, "unread": 237}


def test_the_mail_of_a_subaccount_is_an_inbox(box: Box) -> None:
    first = box.add_rich()
    box.add("other")
    box.list("q=tag:vip")  # so the details are there
    name = "subaccount:7"
    assert box.client.ask("GET", "/local/inboxes").results == [
        {"name": "", "messages": 2, "unread": 2},
        {"name": name, "messages": 1, "unread": 1},
    ]
    assert box.subjects(f"inbox={name}") == box.subjects(f"q=inbox:{name}") == ["Grüße"]
    box.client.ask("PUT", f"/local/mailbox/{first}", {"unread": False})
    assert box.client.ask("GET", "/local/inboxes").results[1]["unread"] == 0
    assert box.client.ask("DELETE", f"/local/mailbox?inbox={name}").results == {"deleted": 1}
    assert [each["name"] for each in box.client.ask("GET", "/local/inboxes").results] == [""]
    assert box.subjects() == ["other"]


def test_one_inbox_is_emptied_and_the_others_stay(box: Box) -> None:
    for inbox in ("a", "a", "b", ""):
        trace = Trace("", ("ann@b.test",), inbox=inbox)
        box.mailbox.store(trace, f"Subject: {inbox or 'none'}\r\n\r\n".encode())
    path = "/local/mailbox?inbox=a&q=" + quote("subject:b")
    assert box.client.ask("DELETE", path).results == {"deleted": 0}
    assert box.client.ask("DELETE", "/local/mailbox?inbox=a").results == {"deleted": 2}
    assert box.subjects() == ["none", "b"]
    assert box.client.ask("DELETE", "/local/mailbox?inbox=").results == {"deleted": 1}
    assert box.subjects() == ["b"]


@pytest.mark.parametrize("query", ["q=is:old", "subaccount=x"])
def test_a_malformed_filter_flags_and_deletes_nothing(box: Box, query: str) -> None:
    box.add()
    assert box.client.ask("DELETE", f"/local/mailbox?{query}").status == 400
    assert box.client.ask("PUT", f"/local/mailbox?{query}", {"unread": False}).status == 400
    assert box.list()["counts"] == {"messages": 1, "unread": 1}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("path", ["", "/content", "/html", "/parts/0"])
def test_a_message_that_is_not_there_gives_404(box: Box, method: str, path: str) -> None:
    target = f"/local/mailbox/1700000000.M000000P1.postfinch{path}"
    status = 405 if path and method != "GET" else 404
    assert box.client.ask(method, target, {"unread": True}).status == status


def test_other_methods_and_paths_are_refused(box: Box) -> None:
    assert box.client.ask("POST", "/local/mailbox").status == 405
    assert box.client.ask("GET", "/local/nothing").status == 404


def test_a_change_is_refused_while_the_disk_is_full(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id = box.mailbox.add("me@a.test", "you@b.test", b"Subject: s\r\n\r\n")

    errors = [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Broken")]

    def fail(*_: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(box.mailbox.index, "set_unread", fail)
    change = box.client.ask("PUT", f"/local/mailbox/{message_id}", {"unread": False})
    assert change.status == 507
    assert change.json == {"errors": [{"message": "the disk of the mailbox is full"}]}
    with pytest.raises(OSError, match="Broken"):
        box.client.ask("PUT", f"/local/mailbox/{message_id}", {"unread": False})
