"""The consumer of the generation queue makes finished messages for recipients."""

from __future__ import annotations

import email
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.core import ids, queues
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_batch, delivery_results
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.journal import open_journal
from chalicelib.delivery.store.work_units import ChunkRecord, WorkUnit
from chalicelib.events import stream
from chalicelib.generation import worker
from chalicelib.generation_queue import generate_batch
from chalicelib.suppression import service as suppression
from chalicelib.tracking import tokens
from chalicelib.tracking.store import message_context
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.recipients import Recipients
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.submit import queue_chunks, submit
from tests.fake_cloud import aws_requests, queued, queued_work, sqs_event
from tests.unit.delivery.mail_host import MailHost
from tests.unit.generation.examples import make_sender
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.suppression.examples import entry
from tests.unit.transmissions.examples import (
    CREATED,
    body,
    make_transmission,
    meter,
    recipients,
    records,
    request_recipients,
)

UNIT = WorkUnit(make_transmission().id, "0")
SINGLE = WorkUnit(UNIT.transmission_id, "single")


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(CREATED / 1000 + 5) as moving:
        make_sender()
        yield moving


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> MailHost:
    return MailHost().install(monkeypatch)


def generate(bodies: list[str] | None = None) -> list[str]:
    """Generate what is queued; return which messages failed."""
    response = generate_batch(sqs_event(queued_work() if bodies is None else bodies))
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def batches() -> list[DeliveryBatch]:
    return [delivery_batch.from_received(queues.read(each)) for each in queued("delivery")]


def events() -> list[dict[str, Any]]:
    return [one for each in queued("events") for one in stream.decode(queues.read(each))]


def kinds(result: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["rcpt_to"]) for event in result]


def submit_bulk(transmission: Transmission, to: Recipients) -> None:
    """Submit a transmission in chunks of three."""
    transmissions.put(_new(to.count, transmission), meter())
    queue_chunks(transmission, to, 3)


def test_a_chunk_becomes_one_batch_with_an_event_for_each_message() -> None:
    submit_bulk(make_transmission(campaign_id="spring"), recipients(4))
    assert generate() == []
    batch = min(batches(), key=lambda each: each.unit.name)
    assert (batch.unit, batch.attempt, batch.injected_ms, batch.failed) == (
        UNIT,
        1,
        CREATED + 5000,
        0,
    )
    assert [message.index for message in batch.messages] == [0, 1, 2]
    assert [message.recipient for message in batch.messages] == [
        "r0@example.test",
        "r1@example.test",
        "r2@example.test",
    ]
    assert events() == []  # delivery emits them
    injections = delivery_results.injections_of(batch)
    assert {event["type"] for event in injections} == {"injection"}
    for event, message in zip(injections, batch.messages, strict=True):
        assert event.items() >= (batch.event | message.event).items()
        assert (event["timestamp"], event["campaign_id"]) == (CREATED + 5000, "spring")


def test_the_indexes_of_a_later_chunk_go_on() -> None:
    transmissions.put(_new(4), meter())
    queue_chunks(make_transmission(), recipients(4), 2)
    generate()
    assert sorted(one.index for each in batches() for one in each.messages) == [0, 1, 2, 3]


def test_the_events_are_queued_before_the_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    suppression.put_all(1, None, [entry("r1@example.test")])
    submit(make_transmission(), recipients(2), meter())
    monkeypatch.setattr(stream, "emit", lambda _: 1 / 0)
    assert generate() == ["m-0"]
    assert batches() == []


@pytest.mark.parametrize("journal", ["file", "table"])
def test_a_message_that_was_attempted_is_not_held_back_when_it_is_generated_again(
    journal: str, time: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path) if journal == "file" else "")
    settings.cache_clear()
    submit(make_transmission(), recipients(4), meter())
    bodies = queued_work()
    with monkeypatch.context() as patch:
        patch.setattr(worker, "deliver_at_once", lambda *_: 1 / 0)
        assert generate(bodies) == ["m-0"]
    time.now += 1
    entries = open_journal(UNIT)
    for index in (0, 2):
        entries.record(index, {"at": CREATED, "outcome": {}, "route": {}})
    entries.close(completed=False)
    suppression.put_all(1, None, [entry(f"r{number}@example.test") for number in (0, 1, 2)])
    with aws_requests() as requests:
        assert generate(bodies) == []
    (batch,) = batches()
    assert [message.index for message in batch.messages] == [0, 2, 3]
    suppressed = "r1@example.test"
    assert kinds(events()) == [("injection", suppressed), ("bounce", suppressed)]
    journal_queries = [each for each in requests if each.operation == "Query"]
    assert len(journal_queries) == (journal == "table")


class TestMessageContexts:
    """The context of a message is stored before any event of the message can come."""

    def test_every_message_that_is_delivered_has_a_context(self, host: MailHost) -> None:
        suppression.put_all(1, None, [entry("r1@example.test")])
        for transmission, count in ((make_transmission(campaign_id="spring"), 3), (other(), 1)):
            submit(transmission, recipients(count), meter())
            generate()
            for message in [message for each in batches() for message in each.messages]:
                context = message_context.of_message(message.event["message_id"])
                assert context is not None
                assert context.fields.items() >= message.event.items()
                assert context.fields["campaign_id"] == "spring"
                assert context.unit == UNIT.name
        assert message_context.of_message(ids.message_id(UNIT.transmission_id, 1)) is None
        assert message_context.of_message(ids.message_id(other().id, 0)) is not None

    @pytest.mark.parametrize(
        ("list_id", "stored_id"), [("News.1", "News.1"), ("a b", None), (None, None)]
    )
    def test_the_context_names_the_mailing_list_and_the_events_do_not(
        self, list_id: str | None, stored_id: str | None
    ) -> None:
        headers = {"List-Id": f"News <{list_id}>"} if list_id else {}
        content = body()["content"] | {"headers": headers}
        submit(make_transmission(content=content), recipients(2), meter())
        generate()
        for event in events():
            assert "list_id" not in event
            context = message_context.of_message(event["message_id"])
            assert context is not None
            assert context.fields.get("list_id") == stored_id

    @pytest.mark.parametrize("count", [1, 3])
    def test_nothing_is_handed_on_when_contexts_cannot_be_stored(
        self, count: int, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        submit(make_transmission(), recipients(count), meter())
        bodies = queued_work()
        with monkeypatch.context() as broken:
            broken.setattr(message_context, "item_of", lambda *_: 1 / 0)
            assert generate(bodies) == ["m-0"]
        assert (batches(), events(), host.recipients) == ([], [], [])
        assert generate(bodies) == []

    def test_the_contexts_of_the_first_generation_are_kept(self, time: Clock) -> None:
        submit(make_transmission(), recipients(2), meter())
        bodies = queued_work()
        generate(bodies)
        name = ids.message_id(UNIT.transmission_id, 0)
        before = message_context.of_message(name)
        time.now += 1000
        generate(bodies)
        assert message_context.of_message(name) == before

    def test_links_name_the_unit_of_their_context(self) -> None:
        transmissions.put(_new(4), meter())
        queue_chunks(make_transmission(), recipients(4), 2)
        generate()
        for message in [message for each in batches() for message in each.messages]:
            header = email.message_from_bytes(message.data)["List-Unsubscribe"]
            token = "".join(header.split(">")[0].split()).rpartition("/")[2]
            about, _ = tokens.read("t/u", token)
            assert about.first_index == message.index // 2 * 2
            place = (about.message_id, about.first_index)
            assert set(message_context.of_messages([place])) == {about.message_id}


class TestRepeating:
    def test_a_repeated_chunk_makes_the_same_messages_and_events(self, time: Clock) -> None:
        content = body()["content"] | {"text": "{{if n > 1}}x{{end}}"}
        to = records(recipients(4))
        for recipient in (to[0], to[2], to[3]):
            recipient["substitution_data"] = {"n": 2}
        submit_bulk(make_transmission(content=content), request_recipients(to))
        bodies = queued_work()
        first = (generate(bodies), batches(), events())
        time.now += 1000
        second = (generate(bodies), batches(), events())
        assert second == first
        assert kinds(first[2]) == [("generation_failure", "r1@example.test")]
        assert sorted(len(batch.messages) for batch in first[1]) == [1, 2]

    def test_a_chunk_that_has_been_delivered_makes_nothing(self) -> None:
        submit(make_transmission(), recipients(3), meter())
        bodies = queued_work()
        generate(bodies)
        work_units.complete(UNIT, counts=(3, 0))
        batches(), events()
        assert generate(bodies) == []
        assert (batches(), events()) == ([], [])

    def test_a_chunk_without_a_message_is_recorded_as_generated(self) -> None:
        submit(
            make_transmission(content=body()["content"] | {"text": "{{"}), recipients(2), meter()
        )
        bodies = queued_work()
        generate(bodies)
        assert kinds(events()) == [
            ("generation_failure", "r0@example.test"),
            ("generation_failure", "r1@example.test"),
        ]
        assert generate(bodies) == []
        assert (batches(), events()) == ([], [])
        assert work_units.generated_chunks(UNIT.transmission_id) == [
            ChunkRecord(CREATED + 5000, 0, 2)
        ]


class TestOneRecipient:
    """A single message is delivered where it was generated."""

    def test_a_single_message_is_delivered_at_once(self, host: MailHost) -> None:
        submit(make_transmission(), recipients(1), meter())
        assert generate() == []
        assert host.recipients == ["r0@example.test"]
        assert batches() == []
        assert kinds(events()) == [
            ("injection", "r0@example.test"),
            ("delivery", "r0@example.test"),
        ]
        assert work_units.generated_chunks(UNIT.transmission_id) == [
            ChunkRecord(CREATED + 5000, 1, 0)
        ]

    def test_a_repeated_single_message_is_not_delivered_again(self, host: MailHost) -> None:
        submit(make_transmission(), recipients(1), meter())
        bodies = queued_work()
        generate(bodies)
        first = events()
        for repeated_events in (first, []):
            assert generate(bodies) == []
            assert (host.recipients, batches()) == (["r0@example.test"], [])
            assert events() == repeated_events

    def test_a_single_message_that_an_earlier_version_began_goes_on_as_its_chunk(
        self, host: MailHost
    ) -> None:
        submit(make_transmission(), recipients(1), meter())
        context = {"pk": f"transmission#{UNIT.transmission_id}", "sk": "facts#00000000"}
        work_units.record_generation(UNIT, CREATED, to_deliver=True, context=context)
        assert generate() == []
        assert host.recipients == []
        (batch,) = batches()
        assert (batch.unit, batch.injected_ms) == (UNIT, CREATED)

    def test_a_single_message_whose_worker_died_is_handed_to_delivery(
        self, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        submit(make_transmission(), recipients(1), meter())
        bodies = queued_work()
        with monkeypatch.context() as broken:
            broken.setattr(worker, "deliver_at_once", lambda *_: 1 / 0)
            assert generate(bodies) == ["m-0"]
        assert generate(bodies) == []
        assert host.recipients == []
        (batch,) = batches()
        assert batch.unit == SINGLE
        assert events() == []

    @pytest.mark.cost
    def test_a_single_message_costs_four_requests_and_two_write_units(self) -> None:
        submit(make_transmission(), recipients(1), meter())
        bodies = queued_work()
        for queue in ("delivery", "events"):
            queues._url(queue)
        with aws_requests() as requests:
            generate(bodies)
        assert [each.operation for each in requests] == [
            "BatchGetItem",
            "PutItem",  # the record of the unit, with the context
            "UpdateItem",  # the outcome
            "SendMessage",
        ]
        (item,) = Table("messages").query_all(
            "#pk = :pk", {"pk": f"transmission#{UNIT.transmission_id}"}
        )
        assert sum(len(name) + len(_octets(value)) for name, value in item.items()) < 1024


class TestSuppressed:
    @pytest.mark.spec("2.9-t2")
    @pytest.mark.parametrize("count", [1, 3])
    def test_a_suppressed_recipient_is_injected_and_bounced_and_gets_no_message(
        self, count: int, host: MailHost
    ) -> None:
        suppression.put_all(1, None, [entry("r0@example.test")])
        submit(make_transmission(), recipients(count), meter())
        assert generate() == []
        recorded = events()
        assert kinds(recorded)[:2] == [
            ("injection", "r0@example.test"),
            ("bounce", "r0@example.test"),
        ]
        assert recorded[1]["bounce_class"] == "25"
        assert sorted(host.recipients) == ["r1@example.test", "r2@example.test"][: count - 1]
        assert batches() == []


class TestHolding:
    """A chunk of a request that is still being stored is delayed."""

    def bodies(self) -> list[str]:
        queue_chunks(make_transmission(), recipients(2), 1)
        return queued_work()[:1]

    def test_a_chunk_is_delayed_until_its_request_is_stored(self, time: Clock) -> None:
        bodies = self.bodies()
        with aws_requests() as requests:
            assert generate(bodies) == []
        (again,) = [each for each in requests if each.operation == "SendMessage"]
        assert again.parameters["DelaySeconds"] == 1
        assert again.parameters["MessageBody"] == bodies[0]

    def test_a_chunk_is_dropped_when_its_request_has_died(self, time: Clock) -> None:
        bodies = self.bodies()
        time.now = CREATED / 1000 + settings().accept_window
        assert generate(bodies) == []
        assert queued_work() == []
        assert (batches(), events()) == ([], [])


def test_a_start_message_has_the_chunks_queued(host: MailHost) -> None:
    transmission = make_transmission(start_ms=CREATED + 1000, resolved=False)
    submit(transmission, recipients(2), meter())
    queues.send("generation", [queues.Work({"kind": "start", "transmission": transmission.id})])
    assert generate() == []
    assert host.recipients == []
    assert generate() == []
    assert sorted(host.recipients) == ["r0@example.test", "r1@example.test"]


def test_a_bad_message_fails_alone(host: MailHost) -> None:
    submit(make_transmission(), recipients(2), meter())
    assert generate(["nonsense", *queued_work(), '{"head":{}}']) == ["m-0", "m-2"]
    assert sorted(host.recipients) == ["r0@example.test", "r1@example.test"]


def _octets(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def other() -> Transmission:
    return make_transmission(id="191930000000000002", campaign_id="spring")


def _new(count: int, transmission: Transmission | None = None) -> transmissions.NewRecord:
    transmission = transmission or make_transmission()
    return transmissions.NewRecord(transmission, transmission.pieces(), "submitted", count, 2)
