from __future__ import annotations

import pytest

from chalicelib.core import audit, clock
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor
from tests.unit.calling import Client
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/audit-log"


def note(resource_id: str, outcome: str) -> None:
    author = Author(1, Actor("key", "k1", "Shop"), "PUT", "/api/v1/templates/{id}", "templates")
    audit.note(resource_id, of=author, outcome=outcome)


def ids(client: Client, query: str) -> list[str]:
    return [line["resource_id"] for line in client.get(f"{PATH}?{query}").results]


def test_done_and_refused_changes_are_found_each_by_themselves() -> None:
    make_account()
    client = make_key()
    with moving_clock(clock.now() - 60) as now:
        for each in (("a", "done"), ("b", "refused"), ("c", "done"), ("a", "refused")):
            note(*each)
            now.now += 1
    assert ids(client, "outcome=refused") == ["a", "b"]
    assert ids(client, "outcome=done") == ["c", "a"]
    assert ids(client, "resource=templates&resource_id=a&outcome=done&per_page=1") == ["a"]
    first = client.get(f"{PATH}?outcome=done&per_page=1").body
    rest = client.get(first["links"]["next"])
    assert [line["resource_id"] for line in rest.results] == ["a"]
    refusal = client.get(f"{PATH}?outcome=maybe")
    assert (refusal.status, refusal.body["errors"][0]["param"]) == (400, "outcome")
