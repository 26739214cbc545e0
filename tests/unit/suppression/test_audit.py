"""The audit log has one line for each request about suppression entries, however many there are."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import audit, dynamo
from chalicelib.core.audit import Author
from chalicelib.core.dynamo import TransactionFailed, Write
from chalicelib.core.request import Actor
from chalicelib.suppression import removal, service
from chalicelib.suppression.model import BLOCKING
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, only_line, told
from tests.unit.people import make_account, make_key
from tests.unit.suppression.examples import entry, summary

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/suppression-list"
AUTHOR = Author(1, Actor("key", "k1", "Website"), "PUT", PATH, "suppression-list")


def test_an_entry_is_a_line_when_it_is_made_changed_and_removed() -> None:
    make_account()
    client, path = make_key(), f"{PATH}/ann@x.test"
    assert client.put(path, {"type": "transactional", "description": "asked"}).status == 200
    action, resource, name, changes = told()
    assert (action, resource, name) == ("PUT", "suppression-list", "ann@x.test")
    assert changes["transactional"]["to"] == {"source": "Manually Added", "description": "asked"}
    assert client.put(path, {"type": "transactional", "description": "twice"}).status == 200
    assert told()[3]["transactional"]["from"]["description"] == "asked"
    assert client.put(path, {"type": "other"}).status == 400
    assert lines() == []
    assert client.delete(path).status == 204
    assert told()[3]["transactional"]["to"] is None
    assert client.delete(path).status == 404
    assert lines() == []


def test_a_load_is_one_line_with_the_number_and_the_first_addresses() -> None:
    make_account()
    many = [{"recipient": f"user-{n}@x.test", "type": "transactional"} for n in range(250)]
    assert make_key().put(PATH, {"recipients": many}).status == 200
    line = only_line()
    assert "resource_id" not in line
    assert line["changes"]["recipients"] == {"from": None, "to": 250}
    assert line["changes"]["first"]["to"] == [f"user-{n}@x.test" for n in range(5)]


@pytest.mark.parametrize("failures", [1, 3])
def test_a_change_that_others_overtake_is_one_line_still(
    monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    make_account()
    transact, remaining = dynamo.transact, [failures]

    def fail_first(writes: list[Write], **options: Any) -> None:
        if remaining[0]:
            remaining[0] -= 1
            raise TransactionFailed([0])
        transact(writes, **options)

    monkeypatch.setattr(dynamo, "transact", fail_first)
    with audit.bound(AUTHOR):
        service.load_all(1, None, [entry(f"user-{n}@x.test") for n in range(250)])
    assert only_line()["changes"]["recipients"]["to"] == 250
    remaining[0] = failures
    with audit.bound(AUTHOR):
        removal.remove(1, None, "user-1@x.test", BLOCKING)
    assert only_line()["resource_id"] == "user-1@x.test"
    assert summary(1)["total"] == 249


@pytest.mark.cost
def test_a_line_costs_no_request() -> None:
    make_account()
    counts = []
    for domain, author in (("x.test", None), ("y.test", AUTHOR)):
        with audit.bound(author), aws_requests() as requests:
            service.put_all(1, None, [entry(f"ann@{domain}")])
            service.load_all(1, None, [entry(f"user-{n}@{domain}") for n in range(1000)])
            removal.remove(1, None, f"ann@{domain}", BLOCKING)
        counts.append([each.operation for each in requests])
    assert counts[0] == counts[1]
