"""The consumer of the delivery queue: claimed, attempted, accounted for, finished."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import attempts, delivery_batch, delivery_results, worker
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.outcome import to_dict
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.journal import FileJournal, TableJournal
from chalicelib.delivery.store.work_units import (
    ChunkRecord,
    Lease,
    LeaseLost,
    LeaseStatus,
    WorkUnit,
)
from chalicelib.delivery.transports import OutboundMessage
from chalicelib.delivery.worker import deliver, deliver_at_once, deliver_batch
from chalicelib.events import stream
from chalicelib.events.model import Event
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.delivery.examples import DEFERRED, INJECTED, REFUSED, TRANSMISSION, UNIT, batch_of
from tests.unit.delivery.mail_host import OK, MailHost
from tests.unit.moving_clock import Clock, moving_clock

LEASE = settings().delivery_lease


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(INJECTED / 1000, step=1e-5) as moving:
        yield moving


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> MailHost:
    return MailHost().install(monkeypatch)


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one connection attempt the messages in their order."""
    one = PerKeyExecutor(1, 1)
    monkeypatch.setattr(attempts, "_executor", lambda: one)


@pytest.fixture(params=["file", "table"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either kind of journal."""
    if request.param == "file":
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
    return str(request.param)


def whole(count: int = 3, unit: WorkUnit = UNIT, attempt: int = 1) -> DeliveryBatch:
    made = batch_of(count, attempt, unit)
    return replace(made, event=made.event | {"ip_pool": "default"}, failed=1)


def body(batch: DeliveryBatch | None = None) -> str:
    """Return the queue message of a batch."""
    queues.send("delivery", [delivery_batch.to_work(batch or whole())])
    (text,) = queued("delivery")
    return text


def received(batch: DeliveryBatch | None = None) -> Received:
    return queues.read(body(batch))


def events() -> list[tuple[str, str]]:
    """Take the events off their queue; return their kinds and recipients."""
    found = [one for each in queued("events") for one in stream.decode(queues.read(each))]
    return sorted((event["type"], event["rcpt_to"]) for event in found)


def delivered(*numbers: int) -> list[tuple[str, str]]:
    return [("delivery", f"r{number}@example.test") for number in numbers]


class TestDelivering:
    def test_each_message_is_attempted_once_and_told(self, host: MailHost) -> None:
        deliver(received())
        assert sorted(host.taken) == [f"R{number}@example.test" for number in range(3)]
        assert events() == delivered(0, 1, 2)
        assert queued("delivery") == []
        work_units.record_generation(UNIT, INJECTED)
        assert work_units.acquire(UNIT, counts=(0, 0)).status is LeaseStatus.COMPLETED

    def test_the_record_knows_what_was_generated(self) -> None:
        work_units.record_generation(UNIT, INJECTED)
        deliver(received())
        assert work_units.generated_chunks(TRANSMISSION) == [ChunkRecord(INJECTED, 3, 1)]

    def test_what_was_deferred_goes_on_later_in_a_unit_of_its_own(
        self, host: MailHost, time: Clock
    ) -> None:
        host.answers = {"R1@example.test": [DEFERRED], "R2@example.test": [REFUSED]}
        message = received()
        with aws_requests() as made:
            deliver(message)
        assert events() == [
            ("bounce", "r2@example.test"),
            ("delay", "r1@example.test"),
            *delivered(0),
        ]
        sent = [each for each in made if "delivery" in each.parameters.get("QueueUrl", "")]
        (only,) = sent
        rest = queues.read(only.parameters["MessageBody"])
        assert rest.head["not_before"] == pytest.approx(time.now + 1200, rel=0, abs=121)
        assert only.parameters["DelaySeconds"] == 900  # as long as the queue can
        going = delivery_batch.from_received(rest)
        assert (going.unit, going.attempt) == (UNIT.deferred, 2)
        assert [each.index for each in going.messages] == [1]
        time.now += 1400
        deliver(rest)
        assert events() == delivered(1)
        assert host.counts["R1@example.test"] == 1

    def test_what_is_deferred_for_72_hours_bounces(
        self, host: MailHost, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queues, "_whole_seconds", lambda _: 0)
        host.answers = {"R0@example.test": [DEFERRED] * 99}
        made = received(whole(1))
        waits: list[float] = []
        told: list[Event] = []
        while not told or told[-1]["type"] == "delay":
            deliver(made)
            told += [one for each in queued("events") for one in stream.decode(queues.read(each))]
            for each in queued("delivery"):
                made = queues.read(each)
                waits.append(made.head["not_before"] - time.now)
                time.now = made.head["not_before"]
        doubling = [min(1200 * 2.0**n, 12 * 3600) for n in range(len(waits) - 1)]
        assert waits[:-1] == [pytest.approx(plain, rel=0.1) for plain in doubling]
        assert sum(waits) == pytest.approx(72 * 3600, abs=1)
        assert [each["num_retries"] for each in told] == [str(n) for n in range(len(told))]
        assert [each["type"] for each in told[:-1]] == ["delay"] * (len(told) - 1)
        assert {"queue_time", "outbound_tls", "error_code", "raw_reason"} < set(told[0])
        last = told[-1]
        assert (last["type"], last["error_code"], last["bounce_class"]) == ("bounce", "554", "24")
        assert "message timeout" in last["reason"]
        assert not host.taken

    def test_what_was_not_reached_in_time_goes_on_at_once(
        self, host: MailHost, time: Clock, one_at_a_time: None
    ) -> None:
        def takes_long(_: OutboundMessage) -> None:
            time.now += LEASE / 8 + 1

        host.after = takes_long
        deliver(received(whole(5)))
        assert len(host.taken) == 2
        (text,) = queued("delivery")
        rest = delivery_batch.from_received(queues.read(text))
        assert (rest.unit, rest.attempt) == (UNIT.continued, 1)
        assert [each.index for each in rest.messages] == [2, 3, 4]
        assert events() == delivered(0, 1)

    def test_a_unit_that_is_finished_is_dropped(self, host: MailHost) -> None:
        message = received()
        deliver(message)
        events()
        deliver(message)
        assert len(host.taken) == 3
        assert (events(), queued("delivery")) == ([], [])

    def test_a_unit_that_another_works_on_is_looked_at_again_later(self, host: MailHost) -> None:
        work_units.acquire(UNIT, counts=(3, 0))
        text = body()
        with aws_requests() as made:
            deliver(queues.read(text))
        (again,) = [each for each in made if each.operation == "SendMessage"]
        assert again.parameters["MessageBody"] == text
        assert again.parameters["DelaySeconds"] == LEASE / 4
        assert (host.taken, events()) == ([], [])

    def test_a_batch_tells_which_messages_failed(
        self, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = WorkUnit("191930000000000002", "0")
        bodies = ["nonsense", body(), body(whole(2, other))]
        real = worker.open_journal

        def broken(unit: WorkUnit) -> Any:
            return 1 / 0 if unit == UNIT else real(unit)

        monkeypatch.setattr(worker, "open_journal", broken)
        failed = deliver_batch(sqs_event(bodies))["batchItemFailures"]
        assert [each["itemIdentifier"] for each in failed] == ["m-0", "m-1"]
        assert events() == delivered(0, 1)

    def test_a_batch_that_was_just_generated_is_delivered_with_its_events(
        self, host: MailHost
    ) -> None:
        begun = work_units.record_generation(UNIT, INJECTED, to_deliver=True)
        assert begun is not None
        assert begun.lease is not None
        injection = {"type": "injection", "rcpt_to": "r0@example.test"}
        with aws_requests() as made:
            deliver_at_once(whole(1), begun.lease, [injection])
        assert [each.operation for each in made].count("SendMessage") == 1
        assert events() == [*delivered(0), ("injection", "r0@example.test")]
        assert host.taken == ["R0@example.test"]

    def test_a_batch_costs_four_requests_and_one_for_each_entry(self) -> None:
        message = received(whole(10))
        queues._url("events")
        with aws_requests() as made:
            deliver(message)
        operations = [each.operation for each in made]
        assert operations.count("PutItem") == 10  # the journal in the table
        assert len(operations) <= 10 + 4 + 1, operations

    def test_with_a_journal_on_disk_an_entry_costs_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
        message = received(whole(10))
        queues._url("events")
        with aws_requests() as made:
            deliver(message)
        assert len(made) <= 4, [each.operation for each in made]
        assert list(tmp_path.glob("*.jsonl")) == []


class TestTakingOver:
    """Who takes a unit over attempts nothing: its predecessor may have sent the rest on."""

    def died(self, attempted: int, journal: str) -> None:
        """Leave a unit as a worker does that died after some attempts."""
        work_units.acquire(UNIT, counts=(3, 0))
        kept = (
            FileJournal(Path(settings().delivery_journal), UNIT)
            if journal == "file"
            else TableJournal(UNIT)
        )
        for index in range(attempted):
            kept.record(index, {"at": INJECTED + index, "outcome": to_dict(OK), "route": {}})
        kept.close(completed=False)

    @pytest.mark.parametrize("attempted", [0, 1, 3])
    def test_the_attempts_are_told_and_the_rest_goes_on_under_the_derived_name(
        self, attempted: int, journal: str, host: MailHost, time: Clock
    ) -> None:
        self.died(attempted, journal)
        time.now += LEASE
        deliver(received())
        assert host.taken == []
        assert events() == delivered(*range(attempted))
        rest = [delivery_batch.from_received(queues.read(each)) for each in queued("delivery")]
        expected = [] if attempted == 3 else [list(range(attempted, 3))]
        assert [[each.index for each in one.messages] for one in rest] == expected
        assert [one.unit for one in rest] == [UNIT.continued][: len(rest)]
        assert work_units.acquire(UNIT, counts=(3, 0)).status is LeaseStatus.COMPLETED

    def test_a_rest_that_had_been_sent_on_before_is_sent_once(
        self,
        journal: str,
        host: MailHost,
        time: Clock,
        one_at_a_time: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def takes_long(_: OutboundMessage) -> None:
            time.now += LEASE / 2 + 1

        host.after = takes_long
        text = body(whole(4))
        with monkeypatch.context() as broken:
            broken.setattr(work_units, "complete", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                deliver(queues.read(text))
        assert len(host.taken) == 1
        pending = [text]
        for _ in range(30):
            time.now += LEASE
            pending += queued("delivery")
            if not pending:
                break
            deliver(queues.read(pending.pop(0)))
        assert pending == []
        assert host.counts == {f"R{number}@example.test": 1 for number in range(4)}

    def test_a_journal_on_disk_counts_even_where_the_table_knows_of_nobody(
        self, tmp_path: Path, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # a local cloud that was killed loses its last seconds, the disk does not
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
        kept = FileJournal(tmp_path, UNIT)
        kept.record(1, {"at": INJECTED, "outcome": to_dict(REFUSED), "route": {}})
        deliver(received())
        assert sorted(host.taken) == ["R0@example.test", "R2@example.test"]
        assert events() == [("bounce", "r1@example.test"), *delivered(0, 2)]
        assert list(tmp_path.glob("*.jsonl")) == []


class TestLosingTheLease:
    def test_the_message_fails_and_nothing_is_accounted(
        self, host: MailHost, time: Clock, journal: str
    ) -> None:
        standings: list[Lease] = []

        def overtaken(_: OutboundMessage) -> None:
            if not standings:
                time.now += LEASE
                standings.append(work_units.acquire(UNIT, counts=(1, 0)))

        host.after = overtaken
        text = body(whole(1))
        with pytest.raises(LeaseLost):
            deliver(queues.read(text))
        assert standings[0].status is LeaseStatus.TAKEN_OVER
        assert (events(), queued("delivery")) == ([], [])
        failed = deliver_batch(sqs_event([text]))  # shown again: the other is at it
        assert failed == {"batchItemFailures": []}
        assert host.taken == ["R0@example.test"]

    def test_a_batch_reports_it_so_that_the_message_is_shown_again(
        self, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lost(unit: WorkUnit, _: Lease) -> None:
            raise LeaseLost(str(unit))

        monkeypatch.setattr(work_units, "renew", lost)
        answer = deliver_batch(sqs_event([body()]))
        assert answer == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}

    def test_a_worker_that_was_slow_and_not_overtaken_finishes(
        self, host: MailHost, time: Clock, journal: str
    ) -> None:
        def slow(_: OutboundMessage) -> None:
            time.now += 3 * LEASE

        host.after = slow
        deliver(received(whole(1)))
        assert events() == delivered(0)


def test_the_journal_outlives_a_failure_and_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
    settings.cache_clear()
    message = received()
    with monkeypatch.context() as broken:
        broken.setattr(delivery_results, "results_of", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            deliver(message)
    (path,) = tmp_path.iterdir()
    assert path.read_text().count("\n") == 3
