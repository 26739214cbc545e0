from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.plan import Limits
from chalicelib.accounts.store import usage
from chalicelib.accounts.store.allowance import Unlimited
from chalicelib.core import due, queues
from chalicelib.core.errors import ServiceError
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.transmissions.recipients import ListRecipients
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import NotSubmitted
from chalicelib.transmissions.submit import queue_chunks, submit
from tests.client_calls import before_calls_of
from tests.fake_cloud import aws_requests, queued, queued_work, stored_objects
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.transmissions.examples import (
    CREATED,
    make_transmission,
    meter,
    recipients,
    records,
)


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(CREATED / 1000) as moving:
        yield moving


@pytest.fixture
def chunks_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_RECIPIENTS", "2")
    settings.cache_clear()


def transmission() -> list[Received]:
    messages = [queues.read(body) for body in queued_work()]
    return sorted(messages, key=lambda message: int(message.head["chunk"]))


def chunks() -> list[Chunk]:
    return [read_chunk(message) for message in transmission()]


@pytest.mark.cost
def test_one_chunk_costs_exactly_two_requests() -> None:
    queues.send("small-sends", [queues.Work({})])  # finds the queue's address
    with aws_requests() as requests:
        submit(make_transmission(), recipients(settings().chunk_recipients), meter())
    assert [request.operation for request in requests] == ["TransactWriteItems", "SendMessage"]


def test_the_record_is_stored_before_the_chunk_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transmissions, "put", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        submit(make_transmission(), recipients(1), meter())
    assert queued_work() == []


@pytest.mark.cost
def test_a_single_chunk_carries_its_transmission() -> None:
    submit(make_transmission(metadata={"k": "é"}), recipients(3), meter())
    (message,) = transmission()
    assert message.head["created_ms"] == CREATED
    with aws_requests() as requests:
        chunk = read_chunk(message)
    assert requests == []
    assert chunk.transmission == make_transmission(metadata={"k": "é"})
    assert (str(chunk.unit), chunk.first_index) == (f"{make_transmission().id}-0", 0)
    assert chunk.recipients == records(recipients(3))


@pytest.mark.parametrize(
    ("size", "count", "queue"),
    [
        (10, 1, "small-sends"),
        (10, 2, "small-sends"),
        (10, 3, "generation"),
        (600_000, 1, "small-sends"),
        (600_000, 2, "generation"),
        (1_100_000, 1, "generation"),
    ],
)
@pytest.mark.usefixtures("chunks_of_two")
def test_what_fits_one_small_chunk_does_not_wait_behind_bulk_mail(
    size: int, count: int, queue: str
) -> None:
    submit(make_transmission(raw=b"x" * size, content={}), recipients(count), meter())
    for name in ("small-sends", "generation"):
        assert bool(queued(name)) is (name == queue)


def test_the_only_chunk_of_a_transmission_that_starts_later_goes_ahead_too() -> None:
    queue_chunks(make_transmission(), recipients(3), 3)
    assert queued("generation") == []
    (message,) = [queues.read(body) for body in queued("small-sends")]
    assert read_chunk(message).is_small


@pytest.mark.usefixtures("chunks_of_two")
def test_several_chunks_hold_every_recipient_once_with_its_index() -> None:
    submit(make_transmission(), recipients(5), meter())
    queued_chunks = chunks()
    assert [(each.unit.name, each.first_index, len(each.recipients)) for each in queued_chunks] == [
        ("0", 0, 2),
        ("1", 2, 2),
        ("2", 4, 1),
    ]
    assert [recipient for each in queued_chunks for recipient in each.recipients] == records(
        recipients(5)
    )
    assert {id(each.transmission) for each in queued_chunks} == {
        id(queued_chunks[0].transmission)
    }  # read once
    assert queued_chunks[0].transmission == make_transmission()


@pytest.mark.usefixtures("chunks_of_two")
def test_several_chunks_are_not_visible_to_generation_until_all_are_queued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[type[Exception]] = []

    def look_first(transmission_id: str) -> None:
        for message in transmission():
            with pytest.raises(NotSubmitted) as hidden:
                read_chunk(message)
            seen.append(hidden.type)

    monkeypatch.setattr(transmissions, "commit", look_first)
    submit(make_transmission(), recipients(5), meter())
    assert len(seen) == 3


@pytest.mark.usefixtures("chunks_of_two")
def test_a_partly_queued_transmission_is_never_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal() -> None:
        raise ConnectionError("the queue is gone")

    with before_calls_of("SendMessage", refusal), pytest.raises(ConnectionError):
        # ten chunks in a batch, and one alone
        submit(make_transmission(), recipients(21), meter())
    messages = transmission()
    assert len(messages) == 10
    for message in messages:
        with pytest.raises(NotSubmitted):
            read_chunk(message)


@pytest.mark.cost
@pytest.mark.usefixtures("chunks_of_two")
def test_several_chunks_cost_a_record_a_request_for_ten_and_a_commit() -> None:
    queues.send("generation", [queues.Work({})])
    with aws_requests() as requests:
        submit(make_transmission(), recipients(40), meter())
    assert [request.operation for request in requests] == [
        "TransactWriteItems",
        "SendMessageBatch",
        "SendMessageBatch",
        "UpdateItem",
    ]


@pytest.mark.usefixtures("chunks_of_two")
def test_a_request_that_takes_too_long_is_refused_and_not_sent(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # generation drops chunks that have waited for ACCEPT_WINDOW
    real = queues.send

    def slowly(queue: str, works: Any) -> None:
        real(queue, works)
        time.now += settings().accept_window / 2 + 1

    monkeypatch.setattr(queues, "send", slowly)
    with pytest.raises(ServiceError) as refusal:
        submit(make_transmission(), recipients(5), meter())
    assert refusal.value.status == 503
    with pytest.raises(NotSubmitted):
        transmissions.get_submitted(make_transmission().id)


def test_chunks_of_large_messages_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_BYTES", "100000")
    settings.cache_clear()
    raw = random.Random(1).randbytes(20_000)
    submit(make_transmission(raw=raw, content={}), recipients(10), meter())
    sizes = [len(each.recipients) for each in chunks()]
    assert sizes == [4, 4, 2]


def test_a_message_larger_than_a_chunk_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_BYTES", "1000")
    settings.cache_clear()
    submit(make_transmission(), recipients(3), meter())
    assert [len(each.recipients) for each in chunks()] == [1, 1, 1]


def test_content_that_does_not_fit_a_queue_message_travels_in_the_bucket() -> None:
    raw = random.Random(1).randbytes(400_000)
    submit(make_transmission(raw=raw, content={}), recipients(2), meter())
    assert len(stored_objects("transmissions/")) == 1
    assert len(stored_objects("queue/small-sends/")) == 1
    (queued_chunks,) = chunks()
    assert queued_chunks.transmission.raw == raw


class TestRepeating:
    """A request that is repeated under the same id continues from the stored state of the first."""

    def delivered(self) -> list[str]:
        """Return the recipients of all chunks as generation reads them: one chunk a number."""
        units = {each.unit.name: each for each in chunks()}
        return [one["email"] for each in units.values() for one in each.recipients]

    @pytest.mark.usefixtures("chunks_of_two")
    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_a_repeated_request_is_counted_once_and_makes_the_same_chunks(self, count: int) -> None:
        for _ in range(2):
            submit(make_transmission(), recipients(count), meter())
        queued_chunks = chunks()
        assert len(queued_chunks) == 2 * -(-count // 2)
        assert {each.unit.name: each for each in queued_chunks[::2]} == {
            each.unit.name: each for each in queued_chunks[1::2]
        }
        assert usage.get(1)[0].day == count

    @pytest.mark.usefixtures("chunks_of_two")
    @pytest.mark.parametrize("count", [1, 5])
    def test_a_repeat_counts_as_the_first_request_did_though_limits_have_changed(
        self, count: int
    ) -> None:
        for number, allowances in enumerate([(meter(), Unlimited()), (Unlimited(), meter())]):
            for allowance in allowances:
                transmission = make_transmission(id=f"19193000000000000{number}")
                submit(transmission, recipients(count), allowance)
        are_counted = {
            (each.unit.transmission_id[-1], each.transmission.counts_at_acceptance)
            for each in chunks()
        }
        assert are_counted == {("0", True), ("1", False)}
        assert usage.get(1)[0].day == count

    @pytest.mark.parametrize("count", [1, 5])
    def test_a_repeat_queues_the_chunk_after_a_crash_between_record_and_queue(
        self, count: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CHUNK_RECIPIENTS", "2")
        settings.cache_clear()
        with monkeypatch.context() as broken:
            broken.setattr(queues, "send", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                submit(make_transmission(), recipients(count), meter())
        submit(make_transmission(), recipients(count), meter())
        assert self.delivered() == [each["email"] for each in records(recipients(count))]
        assert transmissions.get_submitted(make_transmission().id) == make_transmission()

    @pytest.mark.usefixtures("chunks_of_two")
    def test_a_repeat_commits_after_a_crash_before_the_commit(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(transmissions, "commit", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                submit(make_transmission(), recipients(5), meter())
        submit(make_transmission(), recipients(5), meter())
        assert len(self.delivered()) == 5

    @pytest.mark.parametrize(("first", "second"), [("2", "3"), ("3", "2"), ("2", "9"), ("9", "2")])
    def test_chunks_are_cut_as_they_were_the_first_time(
        self, first: str, second: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # As if a template became larger in between, so that fewer messages fit into a chunk
        for size in (first, second):
            monkeypatch.setenv("CHUNK_RECIPIENTS", size)
            settings.cache_clear()
            submit(make_transmission(), recipients(5), meter())
        assert self.delivered() == [each["email"] for each in records(recipients(5))]

    def test_a_repeat_is_not_refused_for_the_recipients_that_it_counted_before(self) -> None:
        limited = replace(meter(), limits=Limits(daily=3))
        submit(make_transmission(), recipients(2), limited)
        full = replace(limited, counter=None)
        submit(make_transmission(), recipients(2), full)
        assert len(self.delivered()) == 2
        with pytest.raises(ServiceError):
            submit(make_transmission(id="191930000000000002"), recipients(2), full)


class TestLater:
    """A scheduled transmission is stored with all that its start needs, and only then due."""

    def test_a_scheduled_transmission_is_stored_and_due_and_not_queued(self) -> None:
        transmission = make_transmission(start_ms=CREATED + 1000, resolved=False)
        for _ in range(2):
            submit(transmission, recipients(3), meter())
        assert queued_work() == []
        assert [entry.key for entry in due.find("transmissions", CREATED + 1000)] == [
            transmission.id
        ]
        assert [*transmissions.get_recipients(transmission.id)] == [*recipients(3)]
        record = transmissions.get(transmission.id)
        assert record is not None
        assert (record.recipients, record.chunks, record.list_ref) == (3, 1, {})

    def test_the_recipients_are_stored_before_the_transmission(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transmissions, "put_recipients", lambda *_: 1 / 0)
        transmission = make_transmission(start_ms=CREATED + 1000, resolved=False)
        with pytest.raises(ZeroDivisionError):
            submit(transmission, recipients(3), meter())
        assert transmissions.get(transmission.id) is None
        assert due.find("transmissions", CREATED + 1000) == []

    @pytest.mark.parametrize("start_ms", [0, CREATED + 1000])
    def test_a_transmission_to_a_list_stores_the_name_of_the_list(self, start_ms: int) -> None:
        recipient_list = RecipientList(1, "friends", "Friends", "v1", 250, 1)
        submit(make_transmission(start_ms=start_ms), ListRecipients(recipient_list), meter())
        record = transmissions.get(make_transmission().id)
        assert record is not None
        identity = recipient_list.identity
        assert record.list_ref == {"id": "friends", "version": "v1", "identity": identity}
        assert (record.recipients, record.chunks) == (250, 3)
        heads = [queues.read(each).head for each in queued_work()]
        starts = [{"kind": "start", "transmission": make_transmission().id}]
        assert heads == ([] if start_ms else starts)
        assert len(due.find("transmissions", CREATED + 1000)) == (1 if start_ms else 0)

    @pytest.mark.cost
    def test_a_scheduled_transmission_costs_two_requests(self) -> None:
        transmission = make_transmission(start_ms=CREATED + 1000, resolved=False)
        with aws_requests() as requests:
            submit(transmission, recipients(3), meter())
        assert [each.operation for each in requests] == ["PutObject", "TransactWriteItems"]
