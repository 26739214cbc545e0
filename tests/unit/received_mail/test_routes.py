"""Received messages are read, fetched and deleted by API."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import pytest

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.received_mail import attachment_urls
from tests.fake_cloud import stored_objects
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key
from tests.unit.received_mail.examples import BOB, mail, octets_of, stored

PATH = "/api/v1/inbound-messages"


@pytest.fixture
def client(cloud: None) -> Client:
    make_account()
    return make_key()


def with_file(name: str = "grü\u00dfe.txt", content: bytes = b"<script>1</script>") -> bytes:
    message = mail("Yes!\n\nOn Monday, Bob <bob@tickets.test> wrote:\n> Do you agree?\n")
    message.add_attachment(content, maintype="text", subtype="html", filename=name)
    return octets_of(message)


def ids(client: Client, query: str) -> list[str]:
    return [each["id"] for each in client.get(f"{PATH}?{query}").results]


def test_a_message_is_shown_with_its_content_and_what_became_of_it(client: Client) -> None:
    message = stored(raw=with_file(), webhook_id="7", action="webhook", tag="x")
    view = client.get(f"{PATH}/{message.id}").results
    assert view["content"]["subject"] == "Hi"
    assert view["content"]["to"] == [BOB]
    assert {"Subject": "Hi"} in view["content"]["headers"]
    assert view["reply_text"] == "Yes!"
    assert (view["action"], view["tag"], view["msg_from"]) == ("webhook", "x", "ann@inbox.test")
    assert view["verdicts"] == {"spf": {"result": "pass"}}
    assert view["relay"]["batch"] == f"/api/v1/relay-webhooks/7/batches/{message.id}"
    (attachment,) = view["attachments"]
    assert (attachment["name"], attachment["type"]) == ("grüße.txt", "text/html")
    assert (attachment["size"], attachment["inline"]) == (18, False)
    assert not view["is_cut"]


def test_an_attachment_is_a_file_for_who_has_its_url(client: Client) -> None:
    message = stored(raw=with_file())
    (attachment,) = client.get(f"{PATH}/{message.id}").results["attachments"]
    for response in (
        Client("").get(urlsplit(attachment["url"]).path),
        client.get(f"{PATH}/{message.id}/attachments/{attachment['number']}"),
    ):
        assert (response.status, response.body) == (200, "<script>1</script>")
        disposition = response.headers["Content-Disposition"]
        assert disposition.startswith("attachment; filename*=utf-8''gr%C3%BC%C3%9Fe.txt")
        assert response.headers["Content-Security-Policy"].startswith("sandbox;")
        assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_a_url_ends_with_the_message(client: Client) -> None:
    message = stored(raw=with_file())
    url = attachment_urls.url_of(message.id, 1, clock.now_ms() + 60_000)
    path = urlsplit(url).path
    stranger = Client("")
    assert stranger.get(path).status == 200
    assert stranger.get(path[:-1] + ("A" if path[-1] != "A" else "B")).status == 404
    for number in (0, 2, 10**9):
        other = urlsplit(attachment_urls.url_of(message.id, number, clock.now_ms() + 60_000)).path
        assert stranger.get(other).status == 404
    assert client.delete(f"{PATH}/{message.id}").status == 204
    assert stranger.get(path).status == 404
    again = urlsplit(attachment_urls.url_of(stored(1, with_file()).id, 1, clock.now_ms())).path
    assert stranger.get(again).status == 404


def test_the_raw_message_is_what_came_in(client: Client) -> None:
    raw = with_file()
    response = client.get(f"{PATH}/{stored(raw=raw).id}/raw")
    assert response.body.encode() == raw
    assert response.headers["Content-Type"] == "message/rfc822"


def test_what_no_reply_can_hold_is_fetched_from_the_bucket(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAX_REPLY_BYTES", "100000")
    settings.cache_clear()
    message = stored(raw=with_file("a.bin", os.urandom(1_500_000)))
    raw = client.get(f"{PATH}/{message.id}/raw")
    file = client.get(f"{PATH}/{message.id}/attachments/1")
    for response, name in ((raw, f"{message.id[:-2]}?"), (file, f"{message.id}/1?")):
        assert response.status == 302
        assert f"/received/{name}" in response.headers["Location"]
    assert len(stored_objects()) == 2
    assert client.delete(f"{PATH}/{message.id}").status == 204
    assert not stored_objects()


def test_long_texts_are_cut_where_a_reply_has_no_room(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAX_REPLY_BYTES", "200000")
    settings.cache_clear()
    message = stored(raw=octets_of(mail("ü" * 60 + "\n" + "word\n" * 50_000)))
    view = client.get(f"{PATH}/{message.id}").results
    assert (view["is_cut"], len(view["content"]["text"])) == (True, 100_000)


def test_messages_are_listed_newest_first_by_filters(client: Client) -> None:
    first = stored(1, octets_of(mail(Subject="Re: Grüße an Ann")), action="webhook")
    second = stored(2, mail_from="carl@x.test", domain="other.test", rcpt_to="Eve@other.test")
    assert ids(client, "") == [second.id, first.id]
    assert ids(client, "subject=ann+GRÜSSE") == ids(client, "action=webhook") == [first.id]
    assert ids(client, "domain=OTHER.test") == ids(client, "recipient=eve@other.test")
    assert ids(client, "sender=Carl@x.test") == [second.id]
    assert ids(client, "sender=ann@inbox.test") == [second.id, first.id]
    assert ids(client, f"from={clock.iso_ms(second.received_ms)}") == [second.id]
    assert ids(client, f"to={clock.iso_ms(first.received_ms)}") == [first.id]
    assert ids(client, "subject=none") == []


@pytest.mark.parametrize("query", ["action=drop", "from=x", "from=2027&to=2026", "per_page=0"])
def test_unusable_filters_are_refused(client: Client, query: str) -> None:
    assert client.get(f"{PATH}?{query}").status == 400


@pytest.mark.parametrize("query", ["per_page=7", "per_page=7&domain=tickets.test"])
def test_pages_have_every_message_once(client: Client, query: str) -> None:
    messages = [stored(number) for number in range(30)]
    seen: list[str] = []
    target = f"{PATH}?{query}"
    while target:
        response = client.get(target)
        seen += [each["id"] for each in response.results]
        target = response.body["links"].get("next", "")
    assert seen == [each.id for each in reversed(messages)]


def test_an_unknown_message_is_not_found(client: Client) -> None:
    for name in ("x", "0" * 26):
        assert client.get(f"{PATH}/{name}").status == 404
        assert client.get(f"{PATH}/{name}/raw").status == 404
        assert client.delete(f"{PATH}/{name}").status == 404
