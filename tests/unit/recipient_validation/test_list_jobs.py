"""A list is validated step by step, and the good recipients are copied to a new list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from chalicelib.core import clock, due
from chalicelib.events import service as events
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import contents, lists
from chalicelib.recipient_lists.stored_form import encode
from chalicelib.recipient_validation import list_jobs, service, store
from tests.client_calls import after_each_call
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import told
from tests.unit.calling import Client
from tests.unit.events.examples import event_at
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.recipient_lists.examples import emails
from tests.unit.zones import Zone

PATH = "/api/v1/recipient-validation/list"
START = 1_769_850_000
MIXED = {
    "valid": ["ann@inbox.test", "proven@plain.test", "bob@xn--bcher-kva.test"],
    "neutral": ["ann@plain.test", "ann@broken.test"],
    "risky": ["info@inbox.test", "ann@mailinator.com"],
    "undeliverable": ["ann@nowhere.test", "ann@null.test", "gone@inbox.test"],
    "typo": ["ann@gmial.com"],
}


def store_list(addresses: Iterable[str], list_id: str = "readers", account: int = 1) -> None:
    recipients = ({"email": address, "metadata": {"of": address}} for address in addresses)
    version = contents.write(account, list_id, (encode(each) for each in recipients))  # type: ignore[arg-type]
    parts = (version.name, version.count, version.parts)
    assert lists.create(RecipientList(account, list_id, list_id.title(), *parts))


def list_of(list_id: str) -> RecipientList:
    recipient_list = lists.get(1, list_id)
    assert recipient_list
    return recipient_list


@pytest.fixture
def mixed(client: Client) -> Client:
    client.put("/api/v1/suppression-list/gone@inbox.test", {"type": "transactional"})
    events.put_all([event_at(clock.now_ms(), recipient="proven@plain.test")])
    store_list(address for addresses in MIXED.values() for address in addresses)
    return client


@pytest.fixture
def time(client: Client) -> Iterator[Clock]:
    with moving_clock(START) as moving:
        yield moving


def test_a_small_list_is_done_in_the_response(mixed: Client) -> None:
    results = mixed.post(f"{PATH}/readers", None).results
    assert results["status"] == "completed"
    assert results["counts"] == {name: len(each) for name, each in MIXED.items()}
    assert results["checked"] == results["total"] == sum(map(len, MIXED.values()))
    assert "copy" not in results
    assert mixed.get(f"{PATH}/readers").results == results
    assert due.find(store.CONCERN, clock.now_ms() + 60_000) == []


def test_the_results_are_those_of_single_addresses(mixed: Client) -> None:
    for result, addresses in MIXED.items():
        for address in addresses:
            path = f"/api/v1/recipient-validation/single/{address}"
            assert mixed.get(path).results["result"] == result, address


@pytest.mark.parametrize(
    ("keep", "results"),
    [
        (None, ["valid", "neutral", "risky"]),
        (["valid"], ["valid"]),
        (["undeliverable", "typo"], ["undeliverable", "typo"]),
    ],
)
def test_a_copy_has_the_recipients_with_the_results_to_keep(
    mixed: Client, keep: list[str] | None, results: list[str]
) -> None:
    body: dict[str, Any] = {"copy": {"id": "good", "name": "Good readers"}}
    if keep:
        body["copy"]["keep"] = keep
    view = mixed.post(f"{PATH}/readers", body).results
    expected = [address for result in results for address in MIXED[result]]
    assert view["copy"]["total_accepted_recipients"] == len(expected)
    copy = list_of("good")
    assert emails(copy) == expected
    assert copy.name == "Good readers"
    [part] = [list(each) for each in lists.parts(copy)]
    assert all(each.get("metadata") == {"of": each["email"]} for each in part)
    assert len(emails(list_of("readers"))) == sum(map(len, MIXED.values()))


def test_a_copy_of_nobody_is_not_made(client: Client) -> None:
    store_list(["ann@nowhere.test"])
    view = client.post(f"{PATH}/readers", {"copy": {"id": "good"}}).results
    assert (view["status"], "total_accepted_recipients" in view["copy"]) == ("completed", False)
    assert "no recipient" in view["problem"]
    assert lists.get(1, "good") is None


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("unknown", None, 404, "1600"),
        ("readers", {"copy": {"id": "readers"}}, 400, "5001"),
        ("readers", {"copy": {}}, 422, "1400"),
        ("readers", {"copy": {"id": "a b"}}, 422, "1300"),
        ("readers", {"copy": {"id": "rcptlist_a"}}, 422, "1300"),
        ("readers", {"copy": {"id": "a", "name": "n" * 65}}, 422, "1300"),
        ("readers", {"copy": {"id": "a", "keep": []}}, 422, "1300"),
        ("readers", {"copy": {"id": "a", "keep": ["good"]}}, 422, "1300"),
        ("readers", {"copy": 7}, 422, "1300"),
    ],
)
def test_a_bad_request_is_refused(
    client: Client, path: str, body: Any, status: int, code: str
) -> None:
    store_list(["ann@inbox.test"])
    response = client.post(f"{PATH}/{path}", body)
    assert (response.status, response.error["code"]) == (status, code)
    view = client.get(f"{PATH}/{path}")
    assert view.status == 404 if path == "unknown" else view.results["status"] == "none"


def test_a_list_that_was_not_validated_says_so(client: Client) -> None:
    store_list(["ann@inbox.test"])
    assert client.get(f"{PATH}/readers").results == {
        "list_id": "readers",
        "status": "none",
        "total": 1,
        "checked": 0,
        "counts": dict.fromkeys(MIXED, 0),
    }


def test_lists_belong_to_the_account(client: Client) -> None:
    store_list(["ann@inbox.test"])
    one = client.on_behalf_of(make_subaccount(1).id)
    assert one.post(f"{PATH}/readers", None).status == one.get(f"{PATH}/readers").status == 403
    make_account(2)
    assert make_key(2).post(f"{PATH}/readers", None).status == 404
    assert make_key(2).get(f"{PATH}/readers").status == 404


def test_a_validation_with_a_copy_is_one_line_of_the_audit_log(mixed: Client) -> None:
    assert told()[1] == "suppression-list"
    mixed.post(f"{PATH}/readers", {"copy": {"id": "good"}})
    action, resource, resource_id, changes = told()
    assert (action, resource, resource_id) == ("POST", "recipient-validation", "readers")
    assert changes["copy"]["to"] == "good"


def test_a_large_list_goes_on_at_the_ticks(
    time: Clock, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_list(f"r{number}@inbox.test" for number in range(2100))
    checked = slow(monkeypatch, time, seconds=3)
    view = client.post(f"{PATH}/readers", {"copy": {"id": "good"}}).results
    assert (view["status"], view["checked"]) == ("running", 500)
    assert client.post(f"{PATH}/readers", None).error["code"] == "1602"
    list_jobs.carry_out_due()  # too early: the request may still be at work
    assert client.get(f"{PATH}/readers").results["checked"] == 500
    time.passes(60)
    list_jobs.carry_out_due()
    view = client.get(f"{PATH}/readers").results
    assert (view["status"], view["counts"]["valid"]) == ("completed", 2100)
    assert emails(list_of("good")) == emails(list_of("readers")) == checked
    assert client.post(f"{PATH}/readers", None).results["status"] == "running"


def slow(monkeypatch: pytest.MonkeyPatch, time: Clock, seconds: float) -> list[str]:
    """Let a step take so many seconds; return the addresses that were checked."""
    checked: list[str] = []
    results_of = service.results_of

    def take_time(account_id: int, addresses: list[str]) -> list[str]:
        time.passes(seconds)
        checked.extend(addresses)
        return results_of(account_id, addresses)

    monkeypatch.setattr(service, "results_of", take_time)
    return checked


def test_a_process_that_dies_anywhere_loses_and_doubles_nothing(
    time: Clock, client: Client
) -> None:
    class Death(BaseException):
        pass

    for step in range(1, 60):
        list_id = f"readers{step}"
        store_list((f"r{number}@inbox.test" for number in range(260)), list_id)
        requests: list[str] = []

        def die(operation: str, seen: list[str] = requests, last: int = step) -> None:
            seen.append(operation)
            if len(seen) == last:
                raise Death

        job = list_jobs.new_job(list_of(list_id), list_jobs.CopyRequest(id=f"copy{step}"))
        assert store.create(job, list_jobs.due_entry(job))
        time.passes(60)
        try:
            with after_each_call(die):
                list_jobs.carry_out_due()
        except Death:
            list_jobs.carry_out_due()
        ended = store.get(1, list_id)
        assert ended
        assert (ended.status, ended.counts, ended.copied) == ("completed", {"valid": 260}, 260)
        assert emails(list_of(f"copy{step}")) == emails(list_of(list_id))
        assert due.find(store.CONCERN, clock.now_ms()) == []
        if len(requests) < step:
            return
    raise AssertionError("it never came to an end")


def test_a_list_that_changes_meanwhile_is_not_checked_any_further(
    time: Clock, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_list(f"r{number}@inbox.test" for number in range(1500))
    slow(monkeypatch, time, seconds=10)
    assert client.post(f"{PATH}/readers", {"copy": {"id": "good"}}).results["status"] == "running"
    body = {"recipients": [{"address": "new@inbox.test"}]}
    assert client.put("/api/v1/recipient-lists/readers", body).status == 200
    time.passes(60)
    list_jobs.carry_out_due()
    view = client.get(f"{PATH}/readers").results
    assert view["status"] == "failed"
    assert view["problem"] == "the list was changed while it was checked"
    assert lists.get(1, "good") is None
    assert client.post(f"{PATH}/readers", None).results["status"] == "completed"


def test_a_list_that_took_the_id_of_the_copy_meanwhile_stays(
    time: Clock, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_list(f"r{number}@inbox.test" for number in range(500))
    slow(monkeypatch, time, seconds=10)
    client.post(f"{PATH}/readers", {"copy": {"id": "good"}})
    store_list(["other@inbox.test"], "good")
    time.passes(60)
    list_jobs.carry_out_due()
    view = client.get(f"{PATH}/readers").results
    assert view["status"] == "completed"
    assert "created meanwhile" in view["problem"]
    assert emails(list_of("good")) == ["other@inbox.test"]


def test_a_validation_that_keeps_failing_ends(
    time: Clock, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_list(["ann@inbox.test"])
    job = list_jobs.new_job(list_of("readers"), None)
    assert store.create(job, list_jobs.due_entry(job))

    def fail(account_id: int, addresses: list[str]) -> list[str]:
        raise RuntimeError

    monkeypatch.setattr(service, "results_of", fail)
    for _ in range(14):
        time.passes(4000)
        list_jobs.carry_out_due()
    assert client.get(f"{PATH}/readers").results["status"] == "failed"
    assert due.find(store.CONCERN, clock.now_ms() + 10_000_000) == []


@pytest.mark.cost
def test_a_thousand_recipients_take_few_requests(client: Client, zone: Zone) -> None:
    store_list(f"r{number}@inbox.test" for number in range(1000))
    with aws_requests() as requests:
        client.post(f"{PATH}/readers", None)
    operations = [each.operation for each in requests]
    assert operations.count("BatchGetItem") <= 21
    assert operations.count("TransactWriteItems") == 6
    assert operations.count("Query") == 0
    assert len(operations) <= 34
    assert zone.queries == ["inbox.test"]
