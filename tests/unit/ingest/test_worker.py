from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import aws, blobs, clock
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.events import stream
from chalicelib.events.ingest_search import search_ingests
from chalicelib.events.message_search import search_messages
from chalicelib.events.model import Event
from chalicelib.ingest import batches, failures, store
from chalicelib.ingest.worker import ingest_batch
from chalicelib.recording.worker import record_batch
from tests.fake_cloud import aws_requests, queued, sqs_event, stored_objects
from tests.unit.events.examples import NINE
from tests.unit.ingest.examples import NOW, given, large_events, take, work_off

FIELDS = ("type", "number_succeeded", "number_failed", "number_duplicates")


@pytest.fixture(autouse=True)
def _at_ten_past_nine(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


def told(event: Event) -> tuple[Any, ...]:
    return tuple(event[name] for name in FIELDS)


def recorded(bodies: list[str]) -> None:
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}


def test_the_events_of_a_batch_go_the_way_of_all_events() -> None:
    *events, outcome = work_off(take(given(), given(1, "bounce")))
    assert [event["type"] for event in events] == ["delivery", "bounce"]
    assert events[0]["mailbox_provider"]
    assert told(outcome) == ("success", 2, 0, 0)
    stream.emit([*events, outcome])
    recorded(queued("events"))
    assert search_messages(1, {}).total == 2
    assert search_messages(1, {"recipients": "ann1@inbox.test"}).events[0]["type"] == "bounce"
    (shown,) = search_ingests(1, {}).events
    assert shown["batch_id"] == outcome["batch_id"]


def test_a_provider_that_an_event_names_is_kept() -> None:
    event, _ = work_off(take(given(mailbox_provider="Mine")))
    assert (event["mailbox_provider"], "mailbox_provider_region" in event) == ("Mine", False)


def test_what_cannot_be_taken_is_told_and_stops_nothing_else() -> None:
    bad = [given(2, "opened"), "no json", "[]", "", "  ", given(4, customer_id="2")]
    event, outcome = work_off(take(bad[0], given(), *bad[1:]))
    assert event["rcpt_to"] == "ann0@inbox.test"
    assert told(outcome) == ("error", 1, 4, 0)
    assert (outcome["error_type"], outcome["retryable"]) == ("validation", False)
    token = outcome["href"].rpartition("/")[2]
    lines = [json.loads(line) for line in failures.read(token).splitlines()]
    assert [each["line"] for each in lines] == [1, 3, 4, 7]
    assert "'opened'" in lines[0]["error"]
    assert json.loads(lines[0]["event"]) == bad[0]
    assert "json" in lines[1]["error"]


def test_an_event_is_taken_once() -> None:
    first = work_off(take(given(), given(1, subject="first"), given(1)))
    assert told(first[-1]) == ("success", 2, 0, 1)
    assert [event.get("subject") for event in first[:-1]] == [None, "first"]
    second = work_off(take(given(), given(1, subject="other"), given(2)))
    assert told(second[-1]) == ("success", 1, 0, 2)
    assert [event["rcpt_to"] for event in second[:-1]] == ["ann2@inbox.test"]


def test_other_accounts_may_have_events_of_the_same_ids() -> None:
    work_off(take(given()))
    event, outcome = work_off(take(given(), scope=Scope(2, 0)))
    assert (event["customer_id"], outcome["customer_id"]) == ("2", "2")
    assert told(outcome) == ("success", 1, 0, 0)


def test_a_batch_of_a_subaccount_is_told_to_it() -> None:
    event, outcome = work_off(take(given(), scope=Scope(1, 7)))
    assert event["subaccount_id"] == outcome["subaccount_id"] == "7"
    stream.emit([event, outcome])
    recorded(queued("events"))
    assert search_ingests(1, {}, 7).total == 1
    assert search_ingests(1, {}, 8).total == 0


def test_working_a_batch_off_again_tells_and_records_the_same() -> None:
    body = take(*(given(n) for n in range(130)), given(3), "junk")
    first = work_off(body)
    assert told(first[-1]) == ("error", 130, 1, 1)
    with clock.use(lambda: NOW / 1000 + 500):
        assert work_off(body) == first
        for _ in range(2):
            stream.emit(first)
            recorded(queued("events"))
        found = search_messages(1, {"per_page": "50"})
        assert (found.total, len(found.events)) == (130, 50)
        assert search_ingests(1, {}).total == 1


def test_a_worker_that_dies_anywhere_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    monkeypatch.setattr(store, "MOST_TOGETHER", 10)
    body = take(*(given(n) for n in range(21)), "junk")
    deaths, steps = 0, iter(range(1, 100))
    while True:
        kill_at, made = next(steps), Counter[str]()

        def step(made: Counter[str] = made, kill_at: int = kill_at, **_: Any) -> None:
            made["all"] += 1
            if made["all"] == kill_at:
                raise Killed

        for client in (aws.dynamodb(), aws.sqs(), aws.s3()):
            client.meta.events.register("after-call", step, unique_id="step")
        try:
            ingest_batch(sqs_event([body]))
            break
        except Killed:
            deaths += 1
        finally:
            for client in (aws.dynamodb(), aws.sqs(), aws.s3()):
                client.meta.events.unregister("after-call", unique_id="step")
    assert deaths > 5
    recorded(queued("events"))
    assert search_messages(1, {"per_page": "1"}).total == 21
    (outcome,) = search_ingests(1, {}).events
    assert told(outcome) == ("error", 21, 1, 0)


def test_a_batch_whose_bytes_are_gone_may_be_sent_again() -> None:
    body = take(*large_events())
    (name,) = stored_objects("queue/ingest/")
    blobs.delete(name)
    (outcome,) = work_off(body)
    assert told(outcome) == ("error", 0, 0, 0)
    assert (outcome["error_type"], outcome["retryable"]) == ("expired", True)
    assert "href" not in outcome


def test_a_hundred_events_cost_two_requests() -> None:
    work_off(take(given(1000)))
    body = take(*(given(n) for n in range(300)))
    with aws_requests() as made:
        ingest_batch(sqs_event([body]))
    counted = Counter(each.operation for each in made)
    assert counted == {"TransactWriteItems": 3, "SendMessage": 4}
    assert store.MOST_TOGETHER == 100


def test_an_event_is_known_for_as_long_as_it_could_come_again() -> None:
    work_off(take(given()))
    answer = aws.dynamodb().scan(TableName=settings().table("events"))
    (mark,) = answer["Items"]
    assert int(mark["expires"]["N"]) >= NINE // 1000 + 86_400


def test_plain_lines_are_taken_as_well() -> None:
    batches.take(Scope(1, 0), json.dumps(given()).encode() + b"\r\n")
    (body,) = queued("ingest")
    assert told(work_off(body)[-1]) == ("success", 1, 0, 0)
