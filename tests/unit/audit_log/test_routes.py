from __future__ import annotations

import base64
import csv
import io

import pytest

from app import app
from chalicelib.audit_log import search
from chalicelib.core import audit, clock
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/audit-log"
USER = Actor("user", "u1", "Ann@acme.example")
KEY = Actor("key", "k1", "Website")
DAY = 86_400
#: The id of every request of ``calling.Client``
REQUEST_ID = "request-1"


def note(
    resource_id: str,
    *,
    actor: Actor = USER,
    resource: str = "templates",
    account: int = 1,
    subaccount: int | None = None,
) -> None:
    author = Author(
        account,
        actor,
        "PUT",
        f"/api/v1/{resource}/{{id}}",
        resource,
        "192.0.2.7",
        f"r-{resource_id}",
        subaccount,
    )
    audit.note(resource_id, of=author, after={"name": resource_id})


def ids(client: Client, query: str = "") -> list[str]:
    response = client.get(f"{PATH}?{query}")
    assert response.status == 200, response
    return [line["resource_id"] for line in response.results]


def all_pages(client: Client, query: str) -> tuple[list[str], int]:
    path, all_ids, pages = f"{PATH}?{query}", [], 0
    while path:
        response = client.get(path)
        all_ids += [line["resource_id"] for line in response.results]
        path, pages = response.body["links"].get("next", ""), pages + 1
    return all_ids, pages


def read_csv(key: str, query: dict[str, list[str]]) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return the headers and the rows of a page."""
    headers = {"Authorization": key, "Accept": "text/csv, */*;q=0.1"}
    response = app(event(app, "GET", PATH, query=query, headers=headers), None)
    text = base64.b64decode(response["body"]).decode()
    return response["headers"], [*csv.DictReader(io.StringIO(text))]


def test_a_line_says_who_changed_what_from_where() -> None:
    make_account()
    user = make_user(email="ann@acme.example")
    browser = sign_in(user)
    created = browser.post("/api/labs/snippets", {"id": "s1", "content": {"text": "Hello"}})
    assert created.status == 200
    (line,) = browser.get(PATH).results
    assert line["actor"] == {
        "type": "user",
        "id": user.id,
        "label": "ann@acme.example",
    }
    assert (line["action"], line["path"]) == ("POST", "/api/labs/snippets")
    assert (line["resource"], line["resource_id"], line["outcome"]) == ("snippets", "s1", "done")
    assert line["changes"]["name"] == {"from": None, "to": "s1"}
    assert line["changes"]["text"]["to"].startswith("5 bytes, SHA-256 ")
    assert line["ts"].endswith("Z")
    assert (line["ip"], line["request_id"]) == (browser.source_ip, REQUEST_ID)


def test_filters_narrow_by_actor_resource_and_time() -> None:
    make_account()
    make_user(email=USER.label, id=USER.id)
    client = make_key()
    with moving_clock(1_800_000_000.0) as now:
        for number, (actor, resource) in enumerate(
            [(USER, "templates"), (KEY, "templates"), (USER, "webhooks")]
        ):
            note(f"r{number}", actor=actor, resource=resource)
            now.now += 60
        assert ids(client) == ["r2", "r1", "r0"]
        for query, expected in {
            "actor=u1": ["r2", "r0"],
            "actor=ann@ACME.example": ["r2", "r0"],
            "actor=key": ["r1"],
            "actor=Website&resource=templates": ["r1"],
            "resource=templates": ["r1", "r0"],
            "outcome=done": ["r2", "r1", "r0"],
            "outcome=refused": [],
            "resource=templates&resource_id=r0": ["r0"],
            "resource=webhooks&resource_id=r0": [],
            f"from={clock.iso_offset(1_800_000_060).replace('+', '%2B')}": ["r2", "r1"],
            f"to={clock.iso_offset(1_800_000_060).replace('+', '%2B')}": ["r1", "r0"],
            f"to={clock.iso_ms(1_800_000_059_999)}": ["r0"],
        }.items():
            assert ids(client, query) == expected, query


def test_pages_lead_from_the_newest_line_to_the_oldest_over_months() -> None:
    make_account()
    with moving_clock(1_800_000_000.0) as now:
        for number in range(12):
            note(f"r{number}", resource="webhooks" if number % 3 else "templates")
            now.now += 1 + 9 * DAY * (number % 2)
        client, since = make_key(), "from=2020-01-01"
        newest_first = [f"r{number}" for number in range(11, -1, -1)]
        templates = ["r9", "r6", "r3", "r0"]
        for per_page in (1, 3, 6, 12, 100):
            all_ids, _ = all_pages(client, f"{since}&per_page={per_page}")
            assert all_ids == newest_first, per_page
            all_ids, _ = all_pages(client, f"{since}&per_page={per_page}&resource=templates")
            assert all_ids == templates, per_page
        assert len(ids(client)) < 12, "the default is the last 30 days"


def test_a_full_page_at_the_end_has_no_next() -> None:
    make_account()
    for number in range(2):
        note(f"r{number}")
    response = make_key().get(f"{PATH}?per_page=2")
    assert (len(response.results), response.body["links"]) == (2, {})


@pytest.mark.cost
def test_a_page_takes_a_bounded_number_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_OF_MONTH", 2)
    make_account()
    client = make_key()
    with moving_clock(1_800_000_000.0) as now:
        for number in range(50):
            note(f"r{number}", actor=USER if number == 0 else KEY)
            now.now += 1
        assert client.get(PATH).status == 200  # the account and the key are cached now
        with aws_requests() as requests:
            first = client.get(f"{PATH}?actor=user")
        assert len(requests) <= search.MOST_REQUESTS
        assert first.results == []
        assert first.body["links"]["next"]
        all_ids, pages = all_pages(client, "actor=user")
    assert all_ids == ["r0"]
    assert pages > 1


def test_the_future_has_no_pages() -> None:
    make_account()
    note("t1")
    assert all_pages(make_key(), "to=2999-01-01") == (["t1"], 1)
    assert all_pages(make_key(), "from=2998-01-01&to=2999-01-01") == ([], 1)


@pytest.mark.cost
def test_the_last_change_of_a_resource_takes_one_request() -> None:
    make_account()
    client = make_key()
    for _ in range(5):
        note("t1", actor=KEY)
    note("t2", actor=KEY)
    client.get(PATH)
    with aws_requests() as requests:
        (line,) = client.get(f"{PATH}?resource=templates&resource_id=t1&per_page=1").results
    assert line["resource_id"] == "t1"
    assert [each.operation for each in requests] == ["Query"]


@pytest.mark.cost
def test_users_are_named_by_their_address_until_they_are_erased() -> None:
    make_account()
    client = make_key()
    make_user(email=USER.label, id=USER.id, role="developer")
    note("t1")
    client.get(PATH)
    with aws_requests() as requests:
        (line,) = client.get(f"{PATH}?resource=templates&resource_id=t1").results
    assert [each.operation for each in requests] == ["Query", "BatchGetItem"]
    assert line["actor"]["label"] == USER.label
    assert client.delete(f"/api/v1/users/{USER.id}").status == 204
    erased, line = client.get(PATH).results
    assert line["actor"] == {"type": "user", "id": "u1", "label": "user u1"}
    assert erased["resource_id"] == "u1"
    assert "acme.example" not in str([erased, line]).lower()


def test_a_subaccount_sees_the_lines_about_itself_only() -> None:
    make_account()
    make_account(2)
    one, two = make_subaccount().id, make_subaccount().id
    note("account")
    note("one", subaccount=one)
    note("two", subaccount=two)
    note("foreign", account=2)
    primary = make_key()
    assert sorted(ids(primary)) == ["account", "one", "two"]
    assert ids(primary.on_behalf_of(one)) == ["one"]
    assert ids(primary.on_behalf_of(0)) == ["account"]
    assert ids(primary.on_behalf_of(one), "resource=templates&resource_id=two") == []
    link = primary.get(f"{PATH}?per_page=1").body["links"]["next"]
    assert primary.on_behalf_of(one).get(link).status == 400


def test_csv_has_the_same_lines_and_no_formulas() -> None:
    make_account()
    with moving_clock(clock.now() - 60):
        note("\n=HYPERLINK(1)", actor=Actor("key", "k1", "+label, with a comma"))
    note("t2")
    key = make_key().key
    headers, first = read_csv(key, {"per_page": ["1"]})
    assert headers["Content-Type"] == "text/csv; charset=utf-8"
    headers, rest = read_csv(key, {"per_page": ["1"], "cursor": [headers["X-Next-Cursor"]]})
    assert "X-Next-Cursor" not in headers
    rows = [*first, *rest]
    assert [row["resource_id"] for row in rows] == ["t2", "'\n=HYPERLINK(1)"]
    assert rows[1]["actor_label"] == "'+label, with a comma"
    assert rows[0]["changes"] == '{"name":{"from":null,"to":"t2"}}'


@pytest.mark.parametrize(
    "query",
    [
        "per_page=0",
        "outcome=other",
        "per_page=1001",
        "per_page=x",
        "from=yesterday",
        "to=2026-13-01",
        "from=2026-02-01&to=2026-01-01",
        "cursor=abc",
        "resource_id=t1",
        "actor=a&actor=b",
    ],
)
def test_a_bad_query_is_refused(query: str) -> None:
    make_account()
    response = make_key().get(f"{PATH}?{query}")
    assert (response.status, response.error["code"]) == (400, "1200")
    assert query.partition("=")[0] in response.error["description"]


def test_it_needs_its_grant() -> None:
    make_account()
    assert make_key(grants=["templates/view"]).get(PATH).status == 403
    assert sign_in(make_user(role="developer")).get(PATH).status == 403
