from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import (
    ChunkRecord,
    Generation,
    LeaseLost,
    LeaseStatus,
    UnitLease,
    WorkUnit,
)
from tests.client_calls import before_calls_of
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock

UNIT = WorkUnit("191930000000000001", "0")
SECOND = WorkUnit(UNIT.transmission_id, "1")
LEASE = settings().delivery_lease


@pytest.fixture
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(1_769_850_000.25, step=1e-5) as current:
        yield current


def acquire(unit: WorkUnit = UNIT) -> UnitLease:
    return work_units.acquire(unit, counts=(3, 1))


def status(unit: WorkUnit = UNIT) -> LeaseStatus:
    return acquire(unit).status


def complete(unit: WorkUnit = UNIT) -> None:
    work_units.complete(unit, counts=(3, 1))


def record(unit: WorkUnit = UNIT) -> dict[str, Any]:
    item = Table("messages").get(f"transmission#{unit.transmission_id}", f"unit#{unit.name}")
    assert item is not None
    return item


def test_units_that_continue_a_unit_have_names_of_their_own() -> None:
    assert str(UNIT) == "191930000000000001-0"
    names = {UNIT.name}
    for unit in (UNIT, UNIT.deferred, UNIT.continued, UNIT.deferred.deferred):
        names |= {unit.deferred.name, unit.continued.name}
    assert names == {"0", "0d", "0c", "0dd", "0dc", "0cd", "0cc", "0ddd", "0ddc"}
    assert UNIT.deferred.transmission_id == UNIT.transmission_id


def test_units_that_continue_a_unit_share_its_origin() -> None:
    for unit in (UNIT, UNIT.deferred, UNIT.continued.deferred.deferred):
        assert unit.origin == "191930000000000001-0"
    assert SECOND.deferred.origin == "191930000000000001-1"


class TestRecordingAGeneration:
    def test_the_time_of_the_first_generation_counts(self, time: Clock) -> None:
        assert work_units.record_generation(UNIT, 1000) == Generation(1000)
        assert work_units.record_generation(UNIT, 2000) == Generation(1000)
        assert work_units.record_generation(SECOND, 2000) == Generation(2000)

    def test_the_time_of_the_first_generation_counts_during_delivery_as_well(
        self, time: Clock
    ) -> None:
        work_units.record_generation(UNIT, 1000)
        acquire()
        assert work_units.record_generation(UNIT, 2000) == Generation(1000)

    def test_a_completed_unit_is_not_generated_again(self, time: Clock) -> None:
        work_units.record_generation(UNIT, 1000)
        acquire()
        complete()
        assert work_units.record_generation(UNIT, 2000) is None

    @pytest.mark.cost
    def test_the_context_of_the_messages_is_stored_in_the_same_transaction(
        self, time: Clock
    ) -> None:
        first, second = ({"pk": "along", "sk": "1", "n": n} for n in (1, 2))
        with aws_requests() as requests:
            assert work_units.record_generation(UNIT, 1000, context=first) == Generation(1000)
        assert [each.operation for each in requests] == ["TransactWriteItems"]
        assert work_units.record_generation(UNIT, 2000, context=second) == Generation(1000)
        assert Table("messages").get("along", "1") == first
        complete()
        assert work_units.record_generation(UNIT, 3000, context=second) is None

    @pytest.mark.cost
    def test_generation_may_acquire_the_lease_in_the_same_request(self, time: Clock) -> None:
        with aws_requests() as requests:
            generation = work_units.record_generation(UNIT, 1000, to_deliver=True)
        assert len(requests) == 1
        assert generation is not None
        assert generation.injected_ms == 1000
        assert generation.lease is not None
        assert generation.lease.status is LeaseStatus.FIRST
        assert generation.lease.expires_at == pytest.approx(time.now + LEASE, abs=0.001)
        assert status() is LeaseStatus.BUSY
        time.now += LEASE
        assert status() is LeaseStatus.TAKEN_OVER

    @pytest.mark.parametrize("to_deliver", [True, False])
    def test_a_repeated_generation_gets_no_lease(self, time: Clock, to_deliver: bool) -> None:
        work_units.record_generation(UNIT, 1000, to_deliver=to_deliver)
        time.now += 2 * LEASE
        assert work_units.record_generation(UNIT, 2000, to_deliver=True) == Generation(1000)
        assert status() is (LeaseStatus.TAKEN_OVER if to_deliver else LeaseStatus.FIRST)


class TestAcquiringALease:
    @pytest.mark.parametrize("is_generated", [True, False])
    def test_the_first_lease_is_granted_whether_the_unit_was_generated_or_deferred(
        self, is_generated: bool, time: Clock
    ) -> None:
        if is_generated:
            work_units.record_generation(UNIT, 1000)
        lease = acquire()
        assert lease.status is LeaseStatus.FIRST
        assert lease.expires_at == record()["lease"]
        assert lease.expires_at == pytest.approx(time.now + LEASE, abs=0.001)

    def test_a_unit_is_busy_until_its_lease_expires(self, time: Clock) -> None:
        acquire()
        assert status() is LeaseStatus.BUSY
        time.now += LEASE - 0.01
        assert status() is LeaseStatus.BUSY
        time.now += 0.01
        assert status() is LeaseStatus.TAKEN_OVER

    def test_a_worker_that_takes_over_gets_a_lease_of_full_length(self, time: Clock) -> None:
        acquire()
        time.now += LEASE
        lease = acquire()
        assert lease.status is LeaseStatus.TAKEN_OVER
        assert lease.expires_at == record()["lease"]
        assert status() is LeaseStatus.BUSY
        time.now += LEASE
        assert status() is LeaseStatus.TAKEN_OVER

    def test_of_two_workers_that_take_over_at_once_one_gets_the_lease(self, time: Clock) -> None:
        acquire()
        time.now += LEASE
        answers: list[LeaseStatus] = []

        def compete() -> None:
            # After the second worker has read the lease, and before it writes
            if len(requests) == 1 and not answers:
                answers.append(LeaseStatus.BUSY)
                answers[0] = status()

        with aws_requests() as requests, before_calls_of("UpdateItem", compete):
            second = status()
        assert (answers, second) == ([LeaseStatus.TAKEN_OVER], LeaseStatus.BUSY)

    @pytest.mark.parametrize("taken_over", [True, False])
    def test_a_write_that_the_aws_client_repeats_is_granted(
        self, time: Clock, taken_over: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if taken_over:
            acquire()
            time.now += LEASE
        update = work_units._messages.update

        def twice(*arguments: Any, **options: Any) -> Any:
            update(*arguments, **options)
            return update(*arguments, **options)

        monkeypatch.setattr(work_units._messages, "update", twice)
        lease = acquire()
        assert lease.status is (LeaseStatus.TAKEN_OVER if taken_over else LeaseStatus.FIRST)
        assert lease.expires_at == record()["lease"]

    @pytest.mark.parametrize("later", [0.0, LEASE, 1e6])
    def test_a_completed_unit_stays_completed(self, later: float, time: Clock) -> None:
        acquire()
        complete()
        time.now += later
        assert status() is LeaseStatus.COMPLETED

    def test_each_unit_has_a_lease_of_its_own(self, time: Clock) -> None:
        acquire()
        assert status(UNIT.deferred) is LeaseStatus.FIRST
        assert status(WorkUnit("191930000000000002", "0")) is LeaseStatus.FIRST


class TestRenewingALease:
    @pytest.mark.cost
    def test_a_lease_in_its_first_half_costs_no_request(self, time: Clock) -> None:
        lease = acquire()
        time.now += LEASE / 2 - 0.01
        with aws_requests() as requests:
            work_units.renew(UNIT, lease)
        assert requests == []

    def test_a_lease_in_its_second_half_is_extended(self, time: Clock) -> None:
        lease = acquire()
        time.now += LEASE - 0.01
        work_units.renew(UNIT, lease)
        time.now += LEASE - 0.01
        assert status() is LeaseStatus.BUSY

    def test_an_expired_lease_that_nobody_took_over_is_extended(self, time: Clock) -> None:
        lease = acquire()
        time.now += 5 * LEASE
        work_units.renew(UNIT, lease)
        assert status() is LeaseStatus.BUSY

    @pytest.mark.parametrize("completed", [True, False])
    def test_a_lease_that_was_taken_over_is_lost(self, time: Clock, completed: bool) -> None:
        lease = acquire()
        time.now += LEASE
        acquire()
        if completed:
            complete()
        with pytest.raises(LeaseLost, match="191930000000000001-0"):
            work_units.renew(UNIT, lease)


@pytest.mark.cost
def test_a_lease_and_its_completion_cost_two_requests(time: Clock) -> None:
    with aws_requests() as requests:
        lease = acquire()
        work_units.renew(UNIT, lease)
        complete()
    assert [request.operation for request in requests] == ["UpdateItem"] * 2


def test_the_record_expires_with_the_retention_of_messages(time: Clock) -> None:
    work_units.record_generation(UNIT, 1000)
    expires = int(time.now) + settings().messages_retention
    assert record()["expires"] == expires
    time.now += 5000
    acquire()
    assert record()["expires"] == expires + 5000
    acquire(UNIT.deferred)
    assert record(UNIT.deferred)["expires"] == expires + 5000


def test_a_chunk_counts_as_generated_when_its_unit_was_acquired_or_completed(
    time: Clock,
) -> None:
    for number, unit in enumerate((UNIT, SECOND, WorkUnit(UNIT.transmission_id, "2"))):
        work_units.record_generation(unit, 1000 + number)
    acquire()
    acquire(UNIT.deferred)
    work_units.complete(SECOND, counts=(0, 4))
    chunks = work_units.generated_chunks(UNIT.transmission_id)
    assert chunks == [ChunkRecord(1000, 3, 1), ChunkRecord(1001, 0, 4)]
    assert status(SECOND) is LeaseStatus.COMPLETED


def test_a_chunk_delivered_by_its_generator_counts_as_generated_when_completed(time: Clock) -> None:
    work_units.record_generation(UNIT, 1000, to_deliver=True)
    assert work_units.generated_chunks(UNIT.transmission_id) == []
    work_units.complete(UNIT, counts=(1, 0))
    assert work_units.generated_chunks(UNIT.transmission_id) == [ChunkRecord(1000, 1, 0)]
