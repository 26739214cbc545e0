"""A cursor leads on only in the list, the account and the filters that it comes from."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import app
from chalicelib.core import clock, cursors, signing
from chalicelib.core.cursors import BadCursor
from chalicelib.core.message_event import Event
from chalicelib.events import service as events
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.openapi.document import document
from tests.unit.calling import Client
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.received_mail.examples import stored

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
API = "/api/v1"
#: list → the query of its first page, and other filters with which its cursor is refused
LISTS: dict[str, tuple[str, list[str]]] = {
    "/suppression-list": (
        "domain=x.test",
        [
            *("domain=y.test", "domain=x.test,y.test", "sources=Compliance", "types=transactional"),
            *("description=a", "description=a&description_strict=true", "list_id=", "sort=asc"),
            *("recipient=a@x.test", "from=2026-01-01", "to=2026-01-01"),
        ],
    ),
    "/suppression-list/{recipient}": ("types=transactional", ["", "types=non_transactional"]),
    "/subaccounts": (
        "name=sender",
        [
            *("", "name=other", "status=active", "ip_pool=fast", "option=deliverability"),
            *("ids=1,2", "sort_by=name", "order=asc"),
        ],
    ),
    "/events/message": (
        "events=injection",
        ["", "events=open", "recipients=a@x.test", "from=2026-01-01T00:00:00Z", "campaigns=a"],
    ),
    "/audit-log": ("actor=key", ["", "actor=user", "resource=subaccounts", "outcome=refused"]),
    "/inbound-messages": (
        "domain=tickets.test",
        [
            *("", "domain=other.test", "domain=tickets.test&subject=a", "sender=a@x.test"),
            *("recipient=a@x.test", "action=store", "from=2026-01-01T00:00:00Z"),
        ],
    ),
    "/events/ingest": ("retryable=false", ["", "retryable=true", "events=error", "batch_ids=a"]),
}


def test_every_list_with_a_cursor_is_here() -> None:
    openapi = document(app)
    with_cursor = {
        path.removeprefix(API)
        for path, operations in openapi["paths"].items()
        for operation in operations.values()
        if {"$ref": "#/components/parameters/cursor"} in operation.get("parameters", [])
    }
    assert with_cursor == LISTS.keys()


@pytest.fixture
def client(cloud: None) -> Client:
    """The key of an account with three of everything that is listed in pages."""
    make_account()
    client = make_key()
    for number in range(3):
        make_subaccount(name=f"Sender {number}")
        entry = {"type": "transactional", "list_id": f"list-{number}"}
        for recipient in ("a@x.test", f"{number}@x.test"):
            assert client.put(f"{API}/suppression-list/{recipient}", entry).status == 200
    for number in range(3):
        events.put_all(_events(number))
        stored(number)
    return client


def _events(number: int) -> list[Event]:
    """Return the injection of a message, and the outcome of a batch of ingested events."""
    sender = Sender(1, None, "191930000000000001", "rest")
    about = recipient_fields(f"{number}@x.test", metadata={}, tags=[])
    moment = clock.now_ms() - 3_600_000
    injection = make_event("injection", sender.fields() | about, moment, nonce=str(number))
    shared = {name: injection[name] for name in ("customer_id", "timestamp")}
    own = {"type": "success", "event_id": f"9{injection['event_id'][1:]}", "retryable": False}
    return [injection, shared | own]


def first_link(client: Client, path: str, query: str) -> str:
    """Return the cursor in the link of the first page."""
    response = client.get(f"{path}?{query}&cursor=initial&per_page=1")
    assert response.status == 200, response
    links = response.body["links"]
    rows = {each["rel"]: each["href"] for each in links} if isinstance(links, list) else links
    return str(rows["next"]).partition("cursor=")[2].partition("&")[0]


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_is_refused_with_other_filters(client: Client, name: str) -> None:
    path, (query, others) = API + name.format(recipient="a@x.test"), LISTS[name]
    with moving_clock(time.time()):
        cursor = first_link(client, path, query)
        for per_page in ("1", "1000" if name != "/subaccounts" else "100"):
            response = client.get(f"{path}?{query}&cursor={cursor}&per_page={per_page}")
            assert (response.status, len(response.body["results"]) > 0) == (200, True)
        for other in others:
            response = client.get(f"{path}?{other}&cursor={cursor}")
            assert response.status == 400, other
            text = response.error.get("description") or response.error["message"]
            assert text == "cursor belongs to a search with other filters"


@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_is_refused_in_another_account(client: Client, name: str) -> None:
    path, query = API + name.format(recipient="a@x.test"), LISTS[name][0]
    cursor = first_link(client, path, query)
    make_account(2)
    other = make_key(2)
    assert other.put(f"{API}/suppression-list/a@x.test", {"type": "transactional"}).status == 200
    assert other.get(f"{path}?{query}&cursor={cursor}").status == 400


@pytest.mark.parametrize("name", ["/suppression-list", "/suppression-list/a@x.test"])
def test_a_cursor_is_refused_for_another_part_of_the_account(client: Client, name: str) -> None:
    query = "types=transactional"
    cursor = first_link(client, API + name, query)
    assert client.on_behalf_of(0).get(f"{API}{name}?{query}&cursor={cursor}").status == 400


@given(st.lists(JSON, max_size=3), JSON)
def test_a_cursor_is_read_as_it_was_written(position: list[Any], binding: Any) -> None:
    text = cursors.encode(position, "list", binding)
    assert cursors.decode(text, "list", binding) == position
    assert quote(text, safe="") == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "initial", "é", cursors.encode([1], "other list", "binding")),
        cursors.encode([1], "list", "other binding"),
        *(signing.to_token(each, "list") for each in (None, 5, "text", [], {}, ["x"])),
    ],
)
def test_what_is_no_cursor_of_the_list_is_refused(text: str) -> None:
    with pytest.raises(BadCursor, match=r"^cursor "):
        cursors.decode(text, "list", "binding")
