"""The consumer of the delivery queue leases, attempts, emits events and completes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core import aws, clock, queues, shutdown
from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import attempts, delivery_batch, delivery_results, departures, worker
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.outcome import to_dict
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.journal import TableJournal
from chalicelib.delivery.store.journal_files import FileJournal
from chalicelib.delivery.store.work_units import (
    ChunkRecord,
    Generation,
    LeaseStatus,
    UnitLease,
    WorkUnit,
)
from chalicelib.delivery.transports import OutboundMessage
from chalicelib.delivery.worker import deliver_at_once, deliver_batch, deliver_unit
from chalicelib.events import stream
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
    """Attempt the messages in their order, over one connection."""
    executor = PerKeyExecutor(1, 1)
    monkeypatch.setattr(attempts, "_executor", lambda: executor)


@pytest.fixture(params=["file", "table"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use each kind of journal."""
    if request.param == "file":
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
    return str(request.param)


def batch_from(count: int = 3, unit: WorkUnit = UNIT, attempt: int = 1) -> DeliveryBatch:
    batch = batch_of(count, attempt, unit)
    return replace(batch, event=batch.event | {"ip_pool": "default"}, failed=1)


def body(batch: DeliveryBatch | None = None) -> str:
    """Return the queue message of a batch."""
    queues.send("delivery", [delivery_batch.to_work(batch or batch_from())])
    (text,) = queued("delivery")
    return text


def received(batch: DeliveryBatch | None = None) -> Received:
    return queues.read(body(batch))


def queued_events() -> list[Event]:
    """Take the events off their queue."""
    return [event for body_ in queued("events") for event in stream.decode(queues.read(body_))]


def events() -> list[tuple[str, str]]:
    """Take the events off their queue; return types and recipients of those of attempts."""
    return [each for each in all_events() if each[0] != "injection"]


def all_events() -> list[tuple[str, str]]:
    return sorted((event["type"], event["rcpt_to"]) for event in queued_events())


def injected(*numbers: int) -> list[tuple[str, str]]:
    return [("injection", f"r{number}@example.test") for number in numbers]


def delivered(*numbers: int) -> list[tuple[str, str]]:
    return [("delivery", f"r{number}@example.test") for number in numbers]


class TestDelivering:
    def test_each_message_is_attempted_once_and_has_an_event(self, host: MailHost) -> None:
        deliver_unit(received())
        assert sorted(host.recipients) == [f"R{number}@example.test" for number in range(3)]
        assert events() == delivered(0, 1, 2)
        assert queued("delivery") == []
        work_units.record_generation(UNIT, INJECTED)
        assert work_units.acquire(UNIT, counts=(0, 0)).status is LeaseStatus.COMPLETED

    def test_the_record_holds_the_counts_of_the_batch(self) -> None:
        work_units.record_generation(UNIT, INJECTED)
        deliver_unit(received())
        assert work_units.generated_chunks(TRANSMISSION) == [ChunkRecord(INJECTED, 3, 1)]

    def test_deferred_messages_go_on_later_in_a_unit_of_their_own(
        self, host: MailHost, time: Clock
    ) -> None:
        host.answers = {"R1@example.test": [DEFERRED], "R2@example.test": [REFUSED]}
        message = received()
        with aws_requests() as requests:
            deliver_unit(message)
        assert events() == [
            ("bounce", "r2@example.test"),
            ("delay", "r1@example.test"),
            *delivered(0),
        ]
        (request,) = [
            each for each in requests if "delivery" in each.parameters.get("QueueUrl", "")
        ]
        rest = queues.read(request.parameters["MessageBody"])
        assert rest.rest == pytest.approx(300, rel=0, abs=121)
        assert request.parameters["DelaySeconds"] == 900  # as long as the queue can
        deferred = delivery_batch.from_received(rest)
        assert (deferred.unit, deferred.attempt) == (UNIT.deferred, 2)
        assert [each.index for each in deferred.messages] == [1]
        time.now += 1400
        deliver_unit(rest)
        assert events() == delivered(1)
        assert host.counts["R1@example.test"] == 1

    def test_a_message_deferred_for_72_hours_bounces(
        self, host: MailHost, time: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waits: list[float] = []

        def note(delay: float) -> int:
            if delay:
                waits.append(delay)
            return 0

        monkeypatch.setattr(queues, "_whole_seconds", note)
        host.answers = {"R0@example.test": [DEFERRED] * 99}
        message, start = received(batch_from(1)), time.now
        history: list[Event] = []
        while not history or history[-1]["type"] == "delay":
            deliver_unit(message)
            history += [each for each in queued_events() if each["type"] != "injection"]
            for each in queued("delivery"):
                message = queues.read(each)
                time.now = start + sum(waits)
        doubling = [min(1200 * 2.0**n, 12 * 3600) for n in range(len(waits) - 1)]
        assert waits[:-1] == [pytest.approx(plain, rel=0.1) for plain in doubling]
        assert sum(waits) == pytest.approx(72 * 3600, abs=1)
        assert [each["num_retries"] for each in history] == [str(n) for n in range(len(history))]
        assert [each["type"] for each in history[:-1]] == ["delay"] * (len(history) - 1)
        assert {"queue_time", "outbound_tls", "error_code", "raw_reason"} < set(history[0])
        last = history[-1]
        assert (last["type"], last["error_code"], last["bounce_class"]) == ("bounce", "554", "24")
        assert "message timeout" in last["reason"]
        assert not host.recipients

    def test_messages_that_were_not_attempted_in_time_go_on_at_once(
        self, host: MailHost, time: Clock, one_at_a_time: None
    ) -> None:
        def takes_long(_: OutboundMessage) -> None:
            time.now += LEASE / 8 + 1

        host.after = takes_long
        deliver_unit(received(batch_from(5)))
        assert len(host.recipients) == 2
        (text,) = queued("delivery")
        rest = delivery_batch.from_received(queues.read(text))
        assert (rest.unit, rest.attempt) == (UNIT.continued, 1)
        assert [each.index for each in rest.messages] == [2, 3, 4]
        assert events() == delivered(0, 1)

    def test_a_completed_unit_is_dropped(self, host: MailHost) -> None:
        message = received()
        deliver_unit(message)
        events()
        deliver_unit(message)
        assert len(host.recipients) == 3
        assert (events(), queued("delivery")) == ([], [])

    def test_a_unit_leased_by_another_worker_is_queued_again(self, host: MailHost) -> None:
        work_units.acquire(UNIT, counts=(3, 0))
        text = body()
        with aws_requests() as requests:
            deliver_unit(queues.read(text))
        (again,) = [each for each in requests if each.operation == "SendMessage"]
        head = queues.read(again.parameters["MessageBody"]).head
        assert head.items() > queues.read(text).head.items()
        assert again.parameters["DelaySeconds"] == LEASE / 4
        assert (host.recipients, events()) == ([], [])

    def test_the_response_names_the_messages_that_failed(
        self, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = WorkUnit("191930000000000002", "0")
        bodies = ["nonsense", body(), body(batch_from(2, other))]
        real = worker.open_journal

        def broken(unit: WorkUnit, write: Any) -> Any:
            return 1 / 0 if unit == UNIT else real(unit, write)

        monkeypatch.setattr(worker, "open_journal", broken)
        failed = deliver_batch(sqs_event(bodies))["batchItemFailures"]
        assert [each["itemIdentifier"] for each in failed] == ["m-0", "m-1"]
        assert events() == delivered(0, 1)

    def test_the_injections_of_a_unit_come_with_its_attempts_and_not_again(
        self, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queues, "_whole_seconds", lambda _: 0)
        host.answers = {"R1@example.test": [DEFERRED]}
        deliver_unit(received())
        assert [each for each in all_events() if each[0] == "injection"] == injected(0, 1, 2)
        (rest,) = queued("delivery")
        deliver_unit(replace(queues.read(rest), rest=0.0))
        assert all_events() == delivered(1)

    def test_the_injections_come_first_and_once_when_attempts_are_slow(
        self, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempts, "SLOW_SECONDS", 0.0)
        seen: list[list[tuple[str, str]]] = []
        ready = threading.Event()
        emit = stream.emit

        def emit_and_go_on(some: list[Event]) -> None:
            emit(some)
            seen.append([(event["type"], event["rcpt_to"]) for event in some])
            ready.set()

        monkeypatch.setattr(stream, "emit", emit_and_go_on)
        host.after = lambda _: ready.wait(10) and None
        deliver_unit(received())
        assert seen[0] == injected(0, 1, 2)
        assert [kind for kind, _ in seen[1]] == ["delivery"] * 3

    def test_injections_that_cannot_be_told_at_once_come_with_the_outcomes(
        self, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempts, "SLOW_SECONDS", 0.0)
        ready, emit = threading.Event(), stream.emit

        def fail_once(some: list[Event]) -> None:
            if not ready.is_set():
                ready.set()
                raise aws.Overloaded("the queue takes no messages")
            emit(some)

        monkeypatch.setattr(stream, "emit", fail_once)
        host.after = lambda _: ready.wait(10) and None
        deliver_unit(received())
        assert all_events() == [*delivered(0, 1, 2), *injected(0, 1, 2)]

    @pytest.mark.parametrize("fails", [(departures, "plan"), (delivery_batch, "from_received")])
    def test_a_unit_that_could_not_be_begun_is_free_for_the_next_try(
        self, fails: tuple[Any, str], host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        message = received()
        with monkeypatch.context() as broken:
            broken.setattr(*fails, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                deliver_unit(message)
        deliver_unit(message)
        assert all_events() == [*delivered(0, 1, 2), *injected(0, 1, 2)]
        assert len(host.recipients) == 3

    @pytest.mark.cost
    def test_a_batch_that_was_just_generated_is_delivered_with_its_events(
        self, host: MailHost
    ) -> None:
        generation = work_units.record_generation(UNIT, INJECTED, to_deliver=True)
        assert generation is not None
        assert generation.lease is not None
        with aws_requests() as requests:
            deliver_at_once(batch_from(1), generation.lease)
        assert [each.operation for each in requests].count("SendMessage") == 1
        assert all_events() == [*delivered(0), *injected(0)]
        assert host.recipients == ["R0@example.test"]

    def test_a_batch_costs_four_requests_and_one_for_each_entry(self) -> None:
        message = received(batch_from(10))
        queues._url("events")
        with aws_requests() as requests:
            deliver_unit(message)
        operations = [each.operation for each in requests]
        assert operations.count("PutItem") == 10  # the journal in the table
        assert len(operations) <= 10 + 4 + 1, operations

    @pytest.mark.cost
    def test_with_a_journal_on_disk_an_entry_costs_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
        message = received(batch_from(10))
        queues._url("events")
        with aws_requests() as requests:
            deliver_unit(message)
        assert len(requests) <= 4, [each.operation for each in requests]
        assert list(tmp_path.glob("*.jsonl")) == []


class TestTakingOver:
    """A worker that takes over sends nothing: the worker before may have queued the rest."""

    def die(self, attempted: int, journal: str) -> None:
        """Leave a unit in the state of a worker that died after some attempts."""
        work_units.acquire(UNIT, counts=(3, 0))
        journal_ = (
            FileJournal(Path(settings().delivery_journal), UNIT)
            if journal == "file"
            else TableJournal(UNIT)
        )
        for index in range(attempted):
            journal_.record(index, {"at": INJECTED + index, "outcome": to_dict(OK), "route": {}})
        journal_.close(completed=False)

    @pytest.mark.parametrize("attempted", [0, 1, 3])
    def test_attempts_get_their_events_and_the_rest_goes_on_under_the_derived_name(
        self, attempted: int, journal: str, host: MailHost, time: Clock
    ) -> None:
        self.die(attempted, journal)
        time.now += LEASE
        deliver_unit(received())
        assert host.recipients == []
        assert events() == delivered(*range(attempted))
        rest = [delivery_batch.from_received(queues.read(each)) for each in queued("delivery")]
        expected = [] if attempted == 3 else [list(range(attempted, 3))]
        assert [[each.index for each in one.messages] for one in rest] == expected
        assert [one.unit for one in rest] == [UNIT.continued][: len(rest)]
        assert work_units.acquire(UNIT, counts=(3, 0)).status is LeaseStatus.COMPLETED

    def test_a_rest_that_was_queued_before_is_sent_once(
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
        text = body(batch_from(4))
        with monkeypatch.context() as broken:
            broken.setattr(work_units, "complete", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                deliver_unit(queues.read(text))
        assert len(host.recipients) == 1
        pending = [text]
        for _ in range(30):
            time.now += LEASE
            pending += queued("delivery")
            if not pending:
                break
            deliver_unit(queues.read(pending.pop(0)))
        assert pending == []
        assert host.counts == {f"R{number}@example.test": 1 for number in range(4)}

    def test_a_journal_on_disk_counts_even_if_the_table_has_no_lease(
        self, tmp_path: Path, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A local cloud that is killed loses its last seconds; the disk does not
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
        journal_ = FileJournal(tmp_path, UNIT)
        journal_.record(1, {"at": INJECTED, "outcome": to_dict(REFUSED), "route": {}})
        deliver_unit(received())
        assert sorted(host.recipients) == ["R0@example.test", "R2@example.test"]
        assert events() == [("bounce", "r1@example.test"), *delivered(0, 2)]
        assert list(tmp_path.glob("*.jsonl")) == []


class TestLosingTheLease:
    def test_the_message_goes_back_to_the_queue_without_events(
        self, host: MailHost, time: Clock, journal: str
    ) -> None:
        leases: list[UnitLease] = []

        def overtaken(_: OutboundMessage) -> None:
            if not leases:
                time.now += LEASE
                leases.append(work_units.acquire(UNIT, counts=(1, 0)))

        host.after = overtaken
        with aws_requests() as requests:
            response = deliver_batch(sqs_event([body(batch_from(1))]))
        assert response == {"batchItemFailures": []}  # it would count as a try
        assert leases[0].status is LeaseStatus.TAKEN_OVER
        assert events() == []
        *_, again = [each for each in requests if each.operation == "SendMessage"]
        assert again.parameters["DelaySeconds"] == LEASE / 4
        deliver_unit(queues.read(again.parameters["MessageBody"]))  # the other worker has the lease
        assert host.recipients == ["R0@example.test"]

    @pytest.mark.parametrize("is_taken_over", [True, False])
    def test_a_worker_that_was_paused_notices_before_the_next_final_dot(
        self,
        is_taken_over: bool,
        host: MailHost,
        time: Clock,
        journal: str,
        one_at_a_time: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(queues, "_whole_seconds", lambda _: 0)
        text = body()

        def pause(outbound: OutboundMessage) -> None:
            if outbound.recipient == "R1@example.test":
                host.before_commit = lambda _: None
                time.now += LEASE
                if is_taken_over:
                    deliver_unit(queues.read(text))

        host.before_commit = pause
        deliver_unit(queues.read(text))
        assert host.counts["R1@example.test"] == (0 if is_taken_over else 1)
        for _ in range(5):
            for each in queued("delivery"):
                deliver_unit(queues.read(each))
            time.now += LEASE
        assert host.counts == {f"R{number}@example.test": 1 for number in range(3)}
        assert set(events()) == set(delivered(0, 1, 2))

    def test_the_lease_of_a_worker_that_died_ends_even_if_the_clock_is_set_back(
        self, journal: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queues, "_whole_seconds", lambda _: 0)
        text = body()
        now = INJECTED / 1000
        with clock.use(lambda: now):
            work_units.acquire(UNIT, counts=(3, 0))
        waits = 0
        with clock.use(lambda: now - 3600):
            while queues.read(text).head["unit"] == UNIT.name and waits < 9:
                deliver_unit(queues.read(text))
                (text,) = queued("delivery")
                waits += 1
        assert queues.read(text).head["unit"] == UNIT.continued.name
        assert waits == 6  # five quarters of a lease, and the takeover

    def test_a_slow_worker_that_was_not_overtaken_completes_the_unit(
        self, host: MailHost, time: Clock, journal: str
    ) -> None:
        def slow(_: OutboundMessage) -> None:
            time.now += 3 * LEASE

        host.after = slow
        deliver_unit(received(batch_from(1)))
        assert events() == delivered(0)


class TestAJournalThatCannotBeWritten:
    """No host gets a message that could not be recorded, and none gets a message again."""

    @pytest.fixture
    def fails_after(self, monkeypatch: pytest.MonkeyPatch, journal: str) -> Callable[[int], None]:
        """Let the journal fail after some records."""

        def install(records: int) -> None:
            kind = FileJournal if journal == "file" else TableJournal
            real, done = kind.record, [0]

            def record(self: Any, index: int, entry: Any) -> None:
                done[0] += 1
                if done[0] > records:
                    raise OSError("No space left on device")
                real(self, index, entry)

            monkeypatch.setattr(kind, "record", record)

        return install

    def test_no_other_message_of_the_unit_is_sent_and_the_outcomes_are_reported(
        self, fails_after: Callable[[int], None], host: MailHost, one_at_a_time: None
    ) -> None:
        fails_after(1)
        message = received(batch_from(4))
        deliver_unit(message)
        assert len(host.recipients) == 2  # one is recorded and one is only known to this worker
        assert events() == delivered(0, 1)
        (text,) = queued("delivery")
        rest = delivery_batch.from_received(queues.read(text))
        assert [each.index for each in rest.messages] == [2, 3]
        deliver_unit(message)
        assert (len(host.recipients), events()) == (2, [])

    def test_an_outcome_in_memory_is_reported_whatever_another_attempt_meets(
        self, fails_after: Callable[[int], None], host: MailHost, one_at_a_time: None
    ) -> None:
        def raise_once(outbound: OutboundMessage) -> None:
            host.before_commit = lambda _: None
            raise OSError("no answer")

        host.before_commit = raise_once
        fails_after(0)
        message = received(batch_from(3))
        deliver_unit(message)
        assert events() == [("delay", "r0@example.test"), *delivered(1)]
        deliver_unit(message)
        assert host.recipients == ["R1@example.test"]

    def test_nobody_gets_a_message_twice_however_long_it_lasts(
        self, fails_after: Callable[[int], None], host: MailHost, time: Clock
    ) -> None:
        fails_after(0)
        texts = [body(batch_from(8))]
        for _ in range(20):
            for text in texts:
                assert deliver_batch(sqs_event([text])) == {"batchItemFailures": []}
            texts = queued("delivery")
            time.now += LEASE
        assert texts == []
        assert host.counts == {f"R{number}@example.test": 1 for number in range(8)}
        assert events() == delivered(*range(8))

    def test_an_outcome_in_memory_is_reported_as_soon_as_that_is_possible(
        self,
        fails_after: Callable[[int], None],
        host: MailHost,
        time: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        fails_after(0)
        failures = 3
        emit = stream.emit

        def overloaded(some: list[Event]) -> None:
            nonlocal failures
            failures -= 1
            if failures >= 0:
                raise aws.Overloaded("events")
            emit(some)

        monkeypatch.setattr(stream, "emit", overloaded)
        monkeypatch.setattr(worker, "_PAUSE_SECONDS", 0.0)
        deliver_unit(received(batch_from(1)))
        assert events() == delivered(0)
        assert host.recipients == ["R0@example.test"]

    def test_a_report_that_fails_until_the_lease_ends_fails_the_message(
        self,
        fails_after: Callable[[int], None],
        time: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def fail(_: list[Event]) -> None:
            time.passes(LEASE / 3)
            raise aws.Overloaded("events")

        fails_after(0)
        monkeypatch.setattr(stream, "emit", fail)
        monkeypatch.setattr(worker, "_PAUSE_SECONDS", 0.0)
        began = time.now
        response = deliver_batch(sqs_event([body(batch_from(1))]))
        assert response == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
        assert time.now - began >= LEASE

    def test_an_outcome_is_recorded_later_if_that_is_possible_again(
        self, host: MailHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
        real, failures = FileJournal.record, [1]

        def record(self: FileJournal, index: int, entry: Any) -> None:
            if failures:
                failures.pop()
                raise OSError("No space left on device")
            real(self, index, entry)

        monkeypatch.setattr(FileJournal, "record", record)
        monkeypatch.setattr(delivery_results, "results_of", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            deliver_unit(received(batch_from(1)))
        assert list(FileJournal(tmp_path, UNIT).entries(first=False)) == [0]

    def test_the_outcome_of_a_single_message_without_a_record_completes_its_unit(
        self, host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(work_units, "record_outcome", lambda *_: 1 / 0)
        unit = WorkUnit(TRANSMISSION, work_units.SINGLE)
        generation = work_units.record_generation(unit, INJECTED, to_deliver=True)
        assert generation is not None
        assert generation.lease is not None
        deliver_at_once(batch_from(1, unit), generation.lease)
        assert events() == delivered(0)
        assert work_units.record_generation(unit, INJECTED, to_deliver=True) is None


class TestAJournalWithoutRoom:
    """Nothing is sent, and the unit waits for the disk as if no worker had begun it."""

    @pytest.fixture
    def full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
        """Whether the disk is full: a list with one value."""
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
        real, full = os.fstatvfs, [True]

        def fstatvfs(file: int) -> Any:
            return SimpleNamespace(f_bavail=0, f_frsize=4096) if full[0] else real(file)

        monkeypatch.setattr(os, "fstatvfs", fstatvfs)
        return full

    def test_a_batch_of_the_queue_is_tried_again_later(
        self, full: list[bool], host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queues, "_whole_seconds", lambda _: 0)
        text = body()
        for _ in range(10):
            assert deliver_batch(sqs_event([text])) == {"batchItemFailures": []}
            assert queued("delivery") == [text]
        assert (host.recipients, all_events()) == ([], [])
        full[0] = False
        deliver_unit(queues.read(text))
        assert sorted(all_events()) == [*delivered(0, 1, 2), *injected(0, 1, 2)]

    def test_a_message_that_was_just_generated_goes_through_the_queue(
        self, full: list[bool], host: MailHost, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queues, "_whole_seconds", lambda _: 0)
        unit = WorkUnit(TRANSMISSION, work_units.SINGLE)
        generation = work_units.record_generation(unit, INJECTED, to_deliver=True)
        assert generation is not None
        assert generation.lease is not None
        deliver_at_once(batch_from(1, unit), generation.lease)
        assert (host.recipients, all_events()) == ([], [])
        again = work_units.record_generation(unit, INJECTED, to_deliver=True)
        assert again == Generation(INJECTED)  # it has not been delivered
        full[0] = False
        (text,) = queued("delivery")
        deliver_unit(queues.read(text))
        assert host.recipients == ["R0@example.test"]
        assert all_events() == [*delivered(0), *injected(0)]


def test_a_process_that_is_to_end_leaves_the_unit_to_another(host: MailHost) -> None:
    text = body()
    shutdown.request()
    try:
        deliver_unit(queues.read(text))
    finally:
        shutdown.withdraw()
    assert queued("delivery") == [text]
    deliver_unit(queues.read(text))
    assert host.counts == {f"R{number}@example.test": 1 for number in range(3)}


def test_the_journal_outlives_a_failure_but_not_the_completion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
    settings.cache_clear()
    message = received()
    with monkeypatch.context() as broken:
        broken.setattr(delivery_results, "results_of", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            deliver_unit(message)
    (path,) = tmp_path.iterdir()
    assert path.read_text().count("\n") == 3
