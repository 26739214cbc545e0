from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import aws, blobs, clock
from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.events.ingest_search import search_ingests
from chalicelib.events.message_search import search_messages
from chalicelib.ingest import batches, failures, store
from chalicelib.ingest.worker import ingest_batch
from chalicelib.recording.worker import record_batch
from tests.client_calls import after_each_call
from tests.fake_cloud import aws_requests, queued, sqs_event, stored_objects
from tests.unit.events.examples import NINE
from tests.unit.ingest.examples import NOW, accept, large_events, outside_event, process

FIELDS = ("type", "number_succeeded", "number_failed", "number_duplicates")


@pytest.fixture(autouse=True)
def _at_ten_past_nine(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


def summary(event: Event) -> tuple[Any, ...]:
    return tuple(event[name] for name in FIELDS)


def record(bodies: list[str]) -> None:
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}


def test_the_events_of_a_batch_are_recorded_and_found_like_all_others() -> None:
    *events, result = process(accept(outside_event(), outside_event(1, "bounce")))
    assert [event["type"] for event in events] == ["delivery", "bounce"]
    assert events[0]["mailbox_provider"]
    assert summary(result) == ("success", 2, 0, 0)
    stream.emit([*events, result])
    record(queued("events"))
    assert search_messages(1, {}).total == 2
    assert search_messages(1, {"recipients": "ann1@inbox.test"}).events[0]["type"] == "bounce"
    (view,) = search_ingests(1, {}).events
    assert view["batch_id"] == result["batch_id"]


def test_the_mailbox_provider_of_an_event_stays() -> None:
    event, _ = process(accept(outside_event(mailbox_provider="Mine")))
    assert (event["mailbox_provider"], "mailbox_provider_region" in event) == ("Mine", False)


def test_events_that_cannot_be_ingested_are_reported_and_stop_no_others() -> None:
    bad = [outside_event(2, "opened"), "no json", "[]", "", "  ", outside_event(4, customer_id="2")]
    event, result = process(accept(bad[0], outside_event(), *bad[1:]))
    assert event["rcpt_to"] == "ann0@inbox.test"
    assert summary(result) == ("error", 1, 4, 0)
    assert (result["error_type"], result["retryable"]) == ("validation", False)
    token = result["href"].rpartition("/")[2]
    lines = [json.loads(line) for line in failures.read(token).splitlines()]
    assert [each["line"] for each in lines] == [1, 3, 4, 7]
    assert "'opened'" in lines[0]["error"]
    assert json.loads(lines[0]["event"]) == bad[0]
    assert "json" in lines[1]["error"]


def test_an_event_nested_without_end_stops_no_others() -> None:
    deep = ['{"a":' * 20_000, "[" * 20_000]
    event, result = process(accept(deep[0], outside_event(), deep[1]))
    assert event["rcpt_to"] == "ann0@inbox.test"
    assert summary(result) == ("error", 1, 2, 0)


def test_an_event_is_ingested_once() -> None:
    first = process(accept(outside_event(), outside_event(1, subject="first"), outside_event(1)))
    assert summary(first[-1]) == ("success", 2, 0, 1)
    assert [event.get("subject") for event in first[:-1]] == [None, "first"]
    second = process(accept(outside_event(), outside_event(1, subject="other"), outside_event(2)))
    assert summary(second[-1]) == ("success", 1, 0, 2)
    assert [event["rcpt_to"] for event in second[:-1]] == ["ann2@inbox.test"]


def test_other_accounts_may_have_events_of_the_same_ids() -> None:
    process(accept(outside_event()))
    event, result = process(accept(outside_event(), scope=Scope(2, 0)))
    assert (event["customer_id"], result["customer_id"]) == ("2", "2")
    assert summary(result) == ("success", 1, 0, 0)


def test_the_result_of_a_subaccounts_batch_belongs_to_it() -> None:
    event, result = process(accept(outside_event(), scope=Scope(1, 7)))
    assert event["subaccount_id"] == result["subaccount_id"] == "7"
    stream.emit([event, result])
    record(queued("events"))
    assert search_ingests(1, {}, 7).total == 1
    assert search_ingests(1, {}, 8).total == 0


def test_processing_a_batch_again_emits_and_records_the_same_events() -> None:
    body = accept(*(outside_event(n) for n in range(130)), outside_event(3), "junk")
    first = process(body)
    assert summary(first[-1]) == ("error", 130, 1, 1)
    with clock.use(lambda: NOW / 1000 + 500):
        assert process(body) == first
        for _ in range(2):
            stream.emit(first)
            record(queued("events"))
        page = search_messages(1, {"per_page": "50"})
        assert (page.total, len(page.events)) == (130, 50)
        assert search_ingests(1, {}).total == 1


def test_a_worker_that_dies_anywhere_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    monkeypatch.setattr(store, "MOST_TOGETHER", 10)
    body = accept(*(outside_event(n) for n in range(21)), "junk")
    deaths, steps = 0, iter(range(1, 100))
    while True:
        kill_at, requests = next(steps), Counter[str]()

        def step(_: str, requests: Counter[str] = requests, kill_at: int = kill_at) -> None:
            requests["all"] += 1
            if requests["all"] == kill_at:
                raise Killed

        try:
            with after_each_call(step):
                ingest_batch(sqs_event([body]))
            break
        except Killed:
            deaths += 1
    assert deaths > 5
    record(queued("events"))
    assert search_messages(1, {"per_page": "1"}).total == 21
    (result,) = search_ingests(1, {}).events
    assert summary(result) == ("error", 21, 1, 0)


def test_a_batch_whose_payload_is_lost_may_be_sent_again() -> None:
    body = accept(*large_events())
    (name,) = stored_objects("queue/ingest/")
    blobs.delete(name)
    (result,) = process(body)
    assert summary(result) == ("error", 0, 0, 0)
    assert (result["error_type"], result["retryable"]) == ("expired", True)
    assert "href" not in result


def test_a_hundred_events_cost_two_requests() -> None:
    process(accept(outside_event(1000)))
    body = accept(*(outside_event(n) for n in range(300)))
    with aws_requests() as requests:
        ingest_batch(sqs_event([body]))
    operations = Counter(request.operation for request in requests)
    assert operations == {"TransactWriteItems": 3, "SendMessage": 4}
    assert store.MOST_TOGETHER == 100


def test_an_events_mark_lasts_as_long_as_the_event_can_be_ingested_again() -> None:
    process(accept(outside_event()))
    (mark,) = aws.dynamodb().scan(TableName=settings().table("events"))["Items"]
    assert int(mark["expires"]["N"]) >= NINE // 1000 + 86_400


def test_a_plain_batch_is_accepted_as_well() -> None:
    batches.accept(Scope(1, 0), json.dumps(outside_event()).encode() + b"\r\n")
    (body,) = queued("ingest")
    assert summary(process(body)[-1]) == ("success", 1, 0, 0)
