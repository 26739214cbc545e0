"""Lists, searches, flags, deletion and tags are those of Mailpit."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.local.gateway.waiting_calls import WaitingCalls
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.mailpit.router import MailpitRoute, MailpitRouter, ok
from tests.unit.infrastructure.local.mailpit.mailpit_client import MailpitClient
from tests.unit.infrastructure.local.mailpit.published_fields import PAGE, faults

MESSAGES, SEARCH, TAGS = "/api/v1/messages", "/api/v1/search", "/api/v1/tags"


@pytest.fixture
def client(tmp_path: Path) -> MailpitClient:
    return MailpitClient(tmp_path)


def subjects(page: Any) -> list[str]:
    return [each["Subject"] for each in page["messages"]]


def test_a_list_has_the_published_fields(client: MailpitClient) -> None:
    trace = Trace("b@shop.test", ("ann@inbox.test", "hidden@x.test"), login="shop", tags=("red",))
    client.add(trace=trace, Cc="Cy <c@x.test>", Message_ID="<1@x>")
    page = client.get(MESSAGES)
    assert faults(page, PAGE) == []
    (message,) = page["messages"]
    assert message["MessageID"] == "1@x"
    assert message["From"] == {"Name": "Bob", "Address": "bob@shop.test"}
    assert message["Cc"] == [{"Name": "Cy", "Address": "c@x.test"}]
    assert message["Bcc"] == [{"Name": "", "Address": "hidden@x.test"}]
    assert message["ReplyTo"] == []
    assert (message["Username"], message["Tags"], message["Snippet"]) == (
        "shop",
        ["red"],
        "It works.",
    )
    assert message["Created"].endswith("Z")
    assert page["tags"] == ["red"]


def test_fifty_messages_are_listed_from_a_start_on(client: MailpitClient) -> None:
    for number in range(52):
        client.add(f"m{number}")
    page = client.get(MESSAGES)
    assert subjects(page) == [f"m{number}" for number in range(51, 1, -1)]
    assert (page["total"], page["messages_count"], page["count"]) == (52, 52, 50)
    second_page = client.get(f"{MESSAGES}?start=50")
    assert (subjects(second_page), second_page["start"]) == (["m1", "m0"], 50)
    assert len(client.get(f"{MESSAGES}?limit=0")["messages"]) == 52
    assert len(client.get(f"{MESSAGES}?limit=-1")["messages"]) == 50
    assert client.get(f"{SEARCH}?query=hello&limit=0")["messages"] == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(max_size=30), st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_no_parameter_causes_an_error(
    client: MailpitClient, query: str, start: str, limit: str, before: str
) -> None:
    from urllib.parse import urlencode

    values = {"query": query, "start": start, "limit": limit, "before": before, "tz": query}
    for path in (MESSAGES, SEARCH):
        assert client.ask("GET", f"{path}?{urlencode(values)}").status in (200, 400)


def test_a_search_counts_what_it_finds(client: MailpitClient) -> None:
    client.add("spring sale")
    client.add("winter sale")
    read_id = client.add("summer sale")
    client.add("news")
    client.mailbox.set_unread([read_id], False)
    page = client.get(f"{SEARCH}?query=subject:sale&limit=2")
    assert subjects(page) == ["summer sale", "winter sale"]
    assert (page["total"], page["unread"]) == (4, 3)
    assert (page["messages_count"], page["messages_unread"]) == (3, 2)
    assert faults(page, PAGE) == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_search_needs_a_query(client: MailpitClient, method: str) -> None:
    client.add()
    response = client.ask(method, f"{SEARCH}?query=%20")
    assert (response.status, response.body) == (400, b"Error: no search query")
    assert client.get(MESSAGES)["total"] == 1


def test_a_time_before_bounds_lists(client: MailpitClient) -> None:
    client.add()
    assert client.get(f"{MESSAGES}?before=2001-01-01")["messages"] == []
    assert len(client.get(f"{MESSAGES}?before=nonsense")["messages"]) == 1


def unread(client: MailpitClient) -> list[str]:
    page = client.get(MESSAGES)
    return [each["Subject"] for each in page["messages"] if not each["Read"]]


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ({"Read": True}, []),
        ({"read": True, "ids": []}, []),
        ({"Read": True, "Search": "subject:one"}, ["two"]),
        ({}, ["two", "one"]),
        ({"Read": None}, ["two", "one"]),
    ],
)
def test_messages_are_flagged(client: MailpitClient, body: Any, rest: list[str]) -> None:
    client.add("one")
    client.add("two")
    response = client.ask("PUT", MESSAGES, body)
    assert (response.status, response.body) == (200, b"ok")
    assert response.headers["content-type"] == "text/plain"
    assert unread(client) == rest


def test_messages_are_flagged_by_their_ids(client: MailpitClient) -> None:
    first_id = client.add("one")
    client.add("two")
    client.ask("PUT", MESSAGES, {"IDs": [first_id, "no such"], "Read": True})
    assert unread(client) == ["two"]
    client.ask("PUT", MESSAGES, {"IDs": [first_id], "Read": False})
    assert unread(client) == ["two", "one"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", b"EOF"),
        (b"{", b"the body is no JSON"),
        (b"[]", b"the body must be a JSON object"),
        (b'{"IDs": "x"}', b"ids has another type than expected"),
        (b'{"IDs": [1]}', b"ids must be an array of texts"),
        (b'{"IDs": ["x"], "Search": "y"}', b"You may specify either IDs or a search query"),
    ],
)
def test_a_body_that_cannot_be_read_flags_nothing(
    client: MailpitClient, body: bytes, reason: bytes
) -> None:
    response = client.ask("PUT", MESSAGES, body)
    assert response.status == 400
    assert response.body.startswith(reason)
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("body", [None, {}, {"IDs": []}, {"IDs": None}, b"no json"])
def test_without_ids_all_messages_are_deleted(client: MailpitClient, body: Any) -> None:
    client.add("one")
    client.add("two")
    assert client.ask("DELETE", MESSAGES, body).body == b"ok"
    assert client.get(MESSAGES)["total"] == 0


def test_messages_are_deleted_by_their_ids_and_by_a_search(client: MailpitClient) -> None:
    first_id = client.add("one")
    client.add("two")
    client.add("three")
    assert client.ask("DELETE", MESSAGES, {"IDs": [first_id, "no such"]}).body == b"ok"
    assert client.ask("DELETE", f"{SEARCH}?query=subject:two").body == b"ok"
    assert subjects(client.get(MESSAGES)) == ["three"]


def test_tags_are_set_renamed_and_deleted(client: MailpitClient) -> None:
    first_id, second_id = client.add("one"), client.add("two")
    body = {"IDs": [first_id, second_id, "no such"], "Tags": ["b c", "alpha", "Alpha", "", "x!y"]}
    assert client.ask("PUT", TAGS, body).body == b"ok"
    assert client.get(TAGS) == ["alpha", "b c", "x y"]
    client.ask("PUT", TAGS, {"IDs": [second_id], "Tags": []})
    assert client.ask("PUT", f"{TAGS}/b%20c", {"Name": "beta"}).body == b"ok"
    assert client.ask("DELETE", f"{TAGS}/x%20y").body == b"ok"
    tags = {each["Subject"]: each["Tags"] for each in client.get(MESSAGES)["messages"]}
    assert tags == {"one": ["alpha", "beta"], "two": []}


@pytest.mark.parametrize(
    ("method", "tag", "body", "reason"),
    [
        ("PUT", "none", {"Name": "x"}, b"tag not found: none"),
        ("PUT", "a", {"Name": "!"}, b"invalid tag name: "),
        ("PUT", "a", {"Name": "B"}, b"tag already exists: B"),
        ("DELETE", "none", None, b"tag not found: none"),
    ],
)
def test_a_tag_that_cannot_be_changed_is_left(
    client: MailpitClient, method: str, tag: str, body: Any, reason: bytes
) -> None:
    client.add(trace=Trace("", ("x@x.test",), tags=("a", "b")))
    response = client.ask(method, f"{TAGS}/{tag}", body)
    assert (response.status, response.body) == (400, reason)
    assert client.get(TAGS) == ["a", "b"]


def test_rules_tag_what_comes_before_it_is_looked_at(tmp_path: Path) -> None:
    rules = 'Sales,big=subject:sale; Bob="Bob" -subject:sale; t=subject:";"'
    client = MailpitClient(tmp_path, {"MAILBOX_TAGS": rules})
    client.add("spring sale", trace=Trace("", ("x@x.test",), tags=("own",)))
    client.add("news")
    tags = {each["Subject"]: each["Tags"] for each in client.get(MESSAGES)["messages"]}
    assert tags == {"spring sale": ["big", "own", "Sales"], "news": ["Bob"]}


@pytest.mark.parametrize("term", ["larger:999999999999999g", "smaller:1e9 -larger:9999999999gb"])
def test_a_search_for_any_size_is_answered(client: MailpitClient, term: str) -> None:
    client.add()
    assert client.ask("GET", f"{SEARCH}?query={term.replace(' ', '%20')}").status == 200


def test_half_a_character_names_no_message_and_no_tag(client: MailpitClient) -> None:
    message_id = client.add()
    half = b"\\ud800"
    assert client.ask("PUT", MESSAGES, b'{"IDs": ["%b"], "Read": true}' % half).status == 200
    assert client.ask("PUT", MESSAGES, b'{"Search": "%b", "Read": true}' % half).status == 200
    body = b'{"IDs": ["%b", "%b"], "Tags": ["a%b"]}' % (half, message_id.encode(), half)
    assert client.ask("PUT", TAGS, body).status == 200
    assert client.get(TAGS) == ["a"]


def test_short_lists_do_not_wait_for_long_requests(client: MailpitClient) -> None:
    release = threading.Event()
    router = MailpitRouter(
        [
            MailpitRoute(
                "GET", "/slow", lambda _: release.wait(60) and ok(), is_slow=lambda _: True
            ),
            MailpitRoute("GET", "/short", lambda _: ok()),
        ]
    )

    async def asked() -> list[int]:
        statuses: list[int] = []

        async def send(message: Any) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        def scope(path: str) -> Any:
            common = {"method": "GET", "headers": [], "query_string": b""}
            return {**common, "raw_path": path.encode()}

        slow = [
            asyncio.create_task(router.answer(scope("/slow"), receive, send)) for _ in range(50)
        ]
        await asyncio.wait_for(router.answer(scope("/short"), receive, send), 50)
        early = list(statuses)
        release.set()
        await asyncio.gather(*slow)
        return early

    assert asyncio.run(asked()) == [200]


@pytest.mark.parametrize(
    ("query", "is_slow"),
    [("", False), ("?limit=200", False), ("?limit=201", True), ("?limit=0", True)],
)
def test_a_list_of_many_messages_is_a_long_request(
    client: MailpitClient, monkeypatch: pytest.MonkeyPatch, query: str, is_slow: bool
) -> None:
    calls: list[str] = []

    async def run(_: WaitingCalls, caller: str, call: Any) -> Any:
        calls.append(caller)
        return call()

    monkeypatch.setattr(WaitingCalls, "run", run)
    client.get(MESSAGES + query)
    assert bool(calls) == is_slow
