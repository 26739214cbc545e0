"""Events go on to each kind of target, all of them, and again if they were refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto import mock_aws

from chalicelib.core import queues
from chalicelib.core.caches import clear_caches
from chalicelib.core.settings import load
from chalicelib.event_export import targets, writers
from chalicelib.event_export.collect import QUEUE, collect
from chalicelib.event_export.worker import export_batch
from chalicelib.events import stream
from chalicelib.recording.worker import record_batch
from chalicelib.webhooks import payload
from tests.fake_cloud import create_resources, queued, sqs_event
from tests.unit.event_export.aws_targets import (
    ARNS,
    events_at,
    kinesis_records,
    make_targets,
    messages,
)
from tests.unit.events.examples import event_at

NOW = 1_800_000_000_000
EVENTS = [
    event_at(NOW + n, n, "bounce", bounce_class="10") if n % 2 else event_at(NOW + n, n)
    for n in range(12)
]

Use = Callable[..., None]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    """Set the targets by the names of their services, and the types."""

    def use(*services: str, types: str = "") -> None:
        monkeypatch.setenv("EVENT_TARGETS", ",".join(ARNS[each] for each in services))
        monkeypatch.setenv("EVENT_TARGET_TYPES", types)
        monkeypatch.setenv("REDELIVERY_BASE", "0")
        clear_caches()

    with mock_aws():
        clear_caches()
        create_resources()
        make_targets()
        yield use
    clear_caches()


def work_off() -> list[Any]:
    """Call the consumer with what is queued; return the failures."""
    return list(export_batch(sqs_event(queued(QUEUE)))["batchItemFailures"])


@pytest.mark.parametrize("service", ARNS)
def test_all_events_come_to_a_target_as_webhooks_show_them(use: Use, service: str) -> None:
    use(service)
    collect(EVENTS)
    assert work_off() == []
    received = sorted(events_at(service), key=lambda event: str(event["event_id"]))
    public = [json.loads(payload.message(payload.public_form(event))) for event in EVENTS]
    assert received == sorted(public, key=lambda event: str(event["event_id"]))


def test_recording_sends_events_on_to_all_targets(use: Use) -> None:
    use("sqs", "kinesis")
    stream.emit(EVENTS)
    assert record_batch(sqs_event(queued(stream.QUEUE))) == {"batchItemFailures": []}
    assert work_off() == []
    assert len(events_at("sqs")) == len(events_at("kinesis")) == len(EVENTS)


def test_only_the_types_that_are_set_are_sent_on(use: Use) -> None:
    use("sqs", types="bounce,open")
    collect(EVENTS)
    work_off()
    assert {event["type"] for event in events_at("sqs")} == {"bounce"}


def test_nothing_is_queued_without_targets(use: Use) -> None:
    use()
    collect(EVENTS)
    assert queued(QUEUE) == []


def test_filters_see_type_and_subaccount(use: Use) -> None:
    use("sqs")
    collect([event_at(NOW) | {"subaccount_id": "7"}])
    work_off()
    (message,) = messages("mail")
    values = {name: each["StringValue"] for name, each in message["MessageAttributes"].items()}
    assert values == {"type": "delivery", "customer_id": "1", "subaccount_id": "7"}


def test_events_of_a_message_keep_their_order_in_a_stream(use: Use) -> None:
    use("kinesis")
    collect(EVENTS)
    work_off()
    keys = [record["PartitionKey"] for record in kinesis_records()]
    assert keys == [event["message_id"] for event in EVENTS]


def test_a_message_is_shown_again_when_its_target_takes_nothing(use: Use) -> None:
    use("sqs", "sns")
    collect(EVENTS)
    bodies = queued(QUEUE)
    aws_topic_is_deleted()
    failures = export_batch(sqs_event(bodies))["batchItemFailures"]
    assert len(failures) == 1
    assert len(events_at("sqs")) == len(EVENTS)


def aws_topic_is_deleted() -> None:
    import boto3

    boto3.client("sns", region_name="us-east-1").delete_topic(TopicArn=ARNS["sns"])


def test_events_that_a_target_refuses_are_queued_again_without_the_others(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use("sqs")
    collect(EVENTS)
    original = writers._SERVICES["sqs"]

    def refuse_every_third(client: Any, target: Any, entries: Any) -> list[bool]:
        chosen_entries = [entry for n, entry in enumerate(entries) if n % 3]
        original.send(client, target, chosen_entries)
        return [n % 3 == 0 for n in range(len(entries))]

    monkeypatch.setitem(writers._SERVICES, "sqs", original._replace(send=refuse_every_third))
    bodies = queued(QUEUE)
    assert export_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert len(events_at("sqs")) == 7
    monkeypatch.setitem(writers._SERVICES, "sqs", original)
    (again,) = (queues.read(body) for body in queued(QUEUE) if body not in bodies)
    assert again.head["count"] == len(again.payload().split(b"\n")) == 5


def test_events_for_a_former_target_are_dropped(use: Use) -> None:
    use("sqs")
    collect(EVENTS)
    use("sns")
    assert work_off() == []
    assert events_at("sqs") == []


def test_requests_keep_the_limits_of_their_service(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[list[bytes]] = []

    def take(client: Any, target: Any, entries: Any) -> list[bool]:
        requests.append([line for entry in entries for line in entry.lines])
        return [False] * len(entries)

    monkeypatch.setattr(writers, "_client", lambda *_: None)
    lines = [b"{%s}" % (b"x" * size) for size in (100_000, 100_000, 100_000, *[10] * 30)]
    for service, counts in (("sns", [2, 10, 10, 10, 1]), ("firehose", [33]), ("kinesis", [33])):
        requests.clear()
        changed = writers._SERVICES[service]._replace(send=take)
        monkeypatch.setitem(writers._SERVICES, service, changed)
        assert writers.write(targets.ExportTarget("", service, "", "", ""), lines) == []
        assert [len(request) for request in requests] == counts
        assert [line for request in requests for line in request] == lines


@pytest.mark.parametrize(
    "text",
    [
        "mail",
        "arn:aws:s3:::bucket",
        f"{ARNS['sns']}, {ARNS['sqs']}",
        f"{ARNS['sns']},",
        "arn:aws:sns:us-east-1:1:mail",
    ],
)
def test_a_setting_that_names_no_targets_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="EVENT_TARGETS"):
        load({"EVENT_TARGETS": text})
