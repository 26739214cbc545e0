from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.http import Reply, Request
from chalicelib.recipient_lists import routes
from chalicelib.recipient_lists.store import lists
from tests.fake_cloud import stored_objects
from tests.unit.recipient_lists.examples import given, request, saved
from tests.unit.refusals import refusal_code

pytestmark = pytest.mark.usefixtures("cloud")


def body(**fields: Any) -> bytes:
    return json.dumps({"id": "friends", "recipients": given(2)} | fields).encode()


def shown(list_id: str = "friends", **query: str) -> Any:
    reply = routes.show_list(request(**query), list_id)
    return json.loads(reply.body) if isinstance(reply.body, bytes) else reply.body


def test_creating_a_list_says_how_many_recipients_were_accepted() -> None:
    reply = routes.create_list(request(body(name="Friends")))
    assert (reply.status, reply.body) == (
        200,
        {
            "results": {
                "id": "friends",
                "name": "Friends",
                "total_accepted_recipients": 2,
                "total_rejected_recipients": 0,
            }
        },
    )


def test_bad_recipients_are_reported() -> None:
    mixed = body(recipients=[*given(1), {}, {"address": "nobody"}])
    reply = routes.create_list(request(mixed))
    assert reply.status == 200
    results = reply.body["results"]
    assert results["total_rejected_recipients"] == 2
    assert [error["code"] for error in results["rcpt_to_errors"]] == ["1400", "1300"]
    assert [error["code"] for error in reply.body["errors"]] == ["5000"]


@pytest.mark.parametrize(("expected", "text"), [("0", 0), ("1", 1), ("9", 2)])
def test_the_number_of_errors_may_be_limited(expected: str, text: int) -> None:
    mixed = body(recipients=[*given(1), {}, {}])
    reply = routes.create_list(request(mixed, num_rcpt_errors=expected))
    assert len(reply.body["results"]["rcpt_to_errors"]) == text
    assert reply.body["results"]["total_rejected_recipients"] == 2


def test_a_limit_that_is_no_number_is_refused() -> None:
    assert refusal_code(routes.create_list, request(body(), num_rcpt_errors="x")) == (400, "1200")
    assert refusal_code(routes.update_list, request(body(), num_rcpt_errors="-1"), "friends") == (
        400,
        "1200",
    )


def test_a_list_is_shown_without_recipients_unless_they_are_asked_for() -> None:
    routes.create_list(request(body(description="All", attributes={"n": 1})))
    summary = {
        "id": "friends",
        "name": "friends",
        "description": "All",
        "attributes": {"n": 1},
        "total_accepted_recipients": 2,
    }
    assert shown() == shown(show_recipients="false") == {"results": summary}
    assert shown(show_recipients="true")["results"].keys() - summary.keys() == {"recipients"}
    assert refusal_code(routes.show_list, request(show_recipients="1"), "friends") == (400, "1200")


def test_recipients_are_shown_as_they_were_given() -> None:
    full = {
        "address": {"email": "a@b.test", "name": "Änn", "header_to": "c@d.test"},
        "tags": ["x"],
        "metadata": {"k": 1},
        "substitution_data": {"s": "</script>"},
        "return_path": "bounce@b.test",
    }
    routes.create_list(request(body(recipients=[full, {"address": "e@f.test"}])))
    assert shown(show_recipients="true")["results"]["recipients"] == [
        full,
        {"address": {"email": "e@f.test"}},
    ]


def test_all_recipients_of_a_long_list_are_shown() -> None:
    saved("long", 2500)
    recipients = shown("long", show_recipients="true")["results"]["recipients"]
    assert [each["address"]["email"] for each in recipients] == [
        f"r{number}@example.test" for number in range(2500)
    ]


def test_a_list_that_no_reply_could_hold_is_refused_whole(monkeypatch: Any) -> None:
    saved("long", 2500)
    size = len(routes.show_list(request(show_recipients="true"), "long").body)
    monkeypatch.setenv("MAX_BODY_BYTES", str(size))
    from chalicelib.core.settings import settings

    settings.cache_clear()
    assert refusal_code(routes.show_list, request(show_recipients="true"), "long") == (400, "1200")


def test_lists_are_listed_without_recipients() -> None:
    saved("a", 1), saved("b", 2), saved("c", account_id=2)
    for part in (None, 0):
        results = routes.list_lists(request(part=part)).body["results"]
        assert [each["id"] for each in results] == ["a", "b"]
        assert all("recipients" not in each for each in results)


def test_a_list_is_replaced_by_the_body() -> None:
    saved("friends", 3)
    reply = routes.update_list(request(body(name="New", recipients=given(1))), "friends")
    assert reply.body["results"]["total_accepted_recipients"] == 1
    assert shown()["results"]["name"] == "New"
    assert refusal_code(routes.update_list, request(body(id="other")), "friends") == (422, "1300")


def test_a_deleted_list_is_gone() -> None:
    saved("friends")
    reply = routes.delete_list(request(), "friends")
    assert (reply.status, reply.body) == (200, {})
    assert stored_objects() == []
    for view in (routes.show_list, routes.delete_list):
        assert refusal_code(view, request(), "friends") == (404, "1600")
    assert refusal_code(routes.show_list, request(show_recipients="true"), "friends") == (
        404,
        "1600",
    )


def test_a_leased_list_is_neither_replaced_nor_deleted() -> None:
    saved("friends")
    now = clock.now()
    lists.acquire_lease(1, "friends", "t1", starts=now, until=now + 60)
    assert refusal_code(routes.update_list, request(body()), "friends") == (409, "1602")
    assert refusal_code(routes.delete_list, request(), "friends") == (409, "1602")
    assert shown()["results"]["id"] == "friends"


@pytest.mark.spec("5-r5")
@pytest.mark.parametrize(
    "view",
    [
        routes.create_list,
        routes.list_lists,
        lambda options: routes.show_list(options, "friends"),
        lambda options: routes.update_list(options, "friends"),
        lambda options: routes.delete_list(options, "friends"),
    ],
)
def test_a_subaccount_has_no_lists(view: Callable[[Request], Reply]) -> None:
    saved("friends")
    assert refusal_code(view, request(body(), part=7)) == (403, None)
    assert lists.get(1, "friends") is not None


def test_a_reader_whose_recipients_are_replaced_sees_the_new_ones(monkeypatch: Any) -> None:
    saved("friends", 3)
    parts = lists.parts

    def replaced_meanwhile(result: Any, start: int = 0) -> Any:
        monkeypatch.setattr(lists, "parts", parts)
        routes.update_list(request(body(recipients=given(1))), "friends")
        return parts(result, start)

    monkeypatch.setattr(lists, "parts", replaced_meanwhile)
    results = shown(show_recipients="true")["results"]
    assert results["total_accepted_recipients"] == len(results["recipients"]) == 1
