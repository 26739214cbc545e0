from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import aws, dynamo
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.delivery import work_units
from chalicelib.delivery.work_units import Begun, Claim, Generated, LeaseLost, Standing, WorkUnit
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock

UNIT = WorkUnit("191930000000000001", "0")
SECOND = WorkUnit(UNIT.transmission_id, "1")
LEASE = settings().delivery_lease


@pytest.fixture
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(1_769_850_000.25, step=1e-5) as moving:
        yield moving


def claim(unit: WorkUnit = UNIT) -> Claim:
    return work_units.claim(unit, generated=(3, 1))


def standing(unit: WorkUnit = UNIT) -> Standing:
    return claim(unit).standing


def finish(unit: WorkUnit = UNIT) -> None:
    work_units.finish(unit, generated=(3, 1))


def record(unit: WorkUnit = UNIT) -> dict[str, Any]:
    found = Table("messages").get(f"transmission#{unit.transmission_id}", f"unit#{unit.name}")
    assert found is not None
    return found


def test_the_units_that_follow_from_a_unit_have_names_of_their_own() -> None:
    assert str(UNIT) == "191930000000000001-0"
    names = {UNIT.name}
    for unit in (UNIT, UNIT.deferred, UNIT.continued, UNIT.deferred.deferred):
        names |= {unit.deferred.name, unit.continued.name}
    assert names == {"0", "0d", "0c", "0dd", "0dc", "0cd", "0cc", "0ddd", "0ddc"}
    assert UNIT.deferred.transmission_id == UNIT.transmission_id


def test_units_that_follow_from_one_have_its_origin_in_common() -> None:
    for unit in (UNIT, UNIT.deferred, UNIT.continued.deferred.deferred):
        assert unit.origin == "191930000000000001-0"
    assert SECOND.deferred.origin == "191930000000000001-1"


class TestBeginning:
    def test_the_first_gives_the_time_and_a_later_one_gets_it(self, time: Clock) -> None:
        assert work_units.begin(UNIT, 1000) == Begun(1000)
        assert work_units.begin(UNIT, 2000) == Begun(1000)
        assert work_units.begin(SECOND, 2000) == Begun(2000)

    def test_during_delivery_it_gets_the_time_of_the_first(self, time: Clock) -> None:
        work_units.begin(UNIT, 1000)
        claim()
        assert work_units.begin(UNIT, 2000) == Begun(1000)

    def test_a_unit_that_is_finished_is_not_begun_again(self, time: Clock) -> None:
        work_units.begin(UNIT, 1000)
        claim()
        finish()
        assert work_units.begin(UNIT, 2000) is None

    def test_what_belongs_to_it_is_written_with_it_or_not_at_all(self, time: Clock) -> None:
        table = Table("messages")
        first, second = ({"pk": "along", "sk": "1", "n": n} for n in (1, 2))
        with aws_requests() as made:
            assert work_units.begin(UNIT, 1000, along=[dynamo.put(table, first)]) == Begun(1000)
        assert [each.operation for each in made] == ["TransactWriteItems"]
        assert work_units.begin(UNIT, 2000, along=[dynamo.put(table, second)]) == Begun(1000)
        assert table.get("along", "1") == first
        finish()
        assert work_units.begin(UNIT, 3000, along=[dynamo.put(table, second)]) is None

    def test_the_first_may_claim_the_unit_in_the_same_request(self, time: Clock) -> None:
        with aws_requests() as made:
            begun = work_units.begin(UNIT, 1000, to_deliver=True)
        assert len(made) == 1
        assert begun is not None
        assert begun.at_ms == 1000
        assert begun.claim is not None
        assert begun.claim.standing is Standing.FIRST
        assert begun.claim.lease == pytest.approx(time.now + LEASE, abs=0.001)
        assert standing() is Standing.BUSY
        time.now += LEASE
        assert standing() is Standing.TAKEN_OVER

    @pytest.mark.parametrize("to_deliver", [True, False])
    def test_who_begins_again_has_no_claim(self, time: Clock, to_deliver: bool) -> None:
        work_units.begin(UNIT, 1000, to_deliver=to_deliver)
        time.now += 2 * LEASE
        assert work_units.begin(UNIT, 2000, to_deliver=True) == Begun(1000)
        assert standing() is (Standing.TAKEN_OVER if to_deliver else Standing.FIRST)


class TestClaiming:
    @pytest.mark.parametrize("begun", [True, False])
    def test_the_first_is_the_first_whether_the_unit_was_generated_or_deferred(
        self, begun: bool, time: Clock
    ) -> None:
        if begun:
            work_units.begin(UNIT, 1000)
        mine = claim()
        assert mine.standing is Standing.FIRST
        assert mine.lease == record()["lease"]
        assert mine.lease == pytest.approx(time.now + LEASE, abs=0.001)

    def test_a_claimed_unit_is_busy_until_the_lease_ends(self, time: Clock) -> None:
        claim()
        assert standing() is Standing.BUSY
        time.now += LEASE - 0.01
        assert standing() is Standing.BUSY
        time.now += 0.01
        assert standing() is Standing.TAKEN_OVER

    def test_one_who_takes_over_has_the_unit_for_a_lease(self, time: Clock) -> None:
        claim()
        time.now += LEASE
        mine = claim()
        assert mine.standing is Standing.TAKEN_OVER
        assert mine.lease == record()["lease"]
        assert standing() is Standing.BUSY
        time.now += LEASE
        assert standing() is Standing.TAKEN_OVER

    def test_of_two_who_would_take_over_at_once_one_does(self, time: Clock) -> None:
        claim()
        time.now += LEASE
        answers: list[Standing] = []

        def compete(**_: Any) -> None:
            # between the second one's look at the lease and its write
            if len(made) == 1 and not answers:
                answers.append(Standing.BUSY)
                answers[0] = standing()

        events: Any = aws.dynamodb().meta.events
        with aws_requests() as made:
            events.register("before-call.dynamodb.UpdateItem", compete)
            try:
                mine = standing()
            finally:
                events.unregister("before-call.dynamodb.UpdateItem", compete)
        assert (answers, mine) == ([Standing.TAKEN_OVER], Standing.BUSY)

    @pytest.mark.parametrize("taken_over", [True, False])
    def test_a_write_that_the_client_made_again_as_its_answer_was_lost_is_its_own(
        self, time: Clock, taken_over: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if taken_over:
            claim()
            time.now += LEASE
        real = work_units._messages.update

        def twice(*arguments: Any, **options: Any) -> Any:
            real(*arguments, **options)
            return real(*arguments, **options)

        monkeypatch.setattr(work_units._messages, "update", twice)
        mine = claim()
        assert mine.standing is (Standing.TAKEN_OVER if taken_over else Standing.FIRST)
        assert mine.lease == record()["lease"]

    @pytest.mark.parametrize("later", [0.0, LEASE, 1e6])
    def test_a_finished_unit_is_done_for_good(self, later: float, time: Clock) -> None:
        claim()
        finish()
        time.now += later
        assert standing() is Standing.DONE

    def test_units_are_claimed_apart(self, time: Clock) -> None:
        claim()
        assert standing(UNIT.deferred) is Standing.FIRST
        assert standing(WorkUnit("191930000000000002", "0")) is Standing.FIRST


class TestHolding:
    def test_a_claim_that_is_young_is_sure_without_a_request(self, time: Clock) -> None:
        mine = claim()
        time.now += LEASE / 2 - 0.01
        with aws_requests() as made:
            work_units.hold(UNIT, mine)
        assert made == []

    def test_an_older_one_is_lengthened(self, time: Clock) -> None:
        mine = claim()
        time.now += LEASE - 0.01
        work_units.hold(UNIT, mine)
        time.now += LEASE - 0.01
        assert standing() is Standing.BUSY

    def test_one_that_ended_and_that_nobody_took_over_is_held(self, time: Clock) -> None:
        mine = claim()
        time.now += 5 * LEASE
        work_units.hold(UNIT, mine)
        assert standing() is Standing.BUSY

    @pytest.mark.parametrize("finished", [True, False])
    def test_one_that_was_taken_over_is_lost(self, time: Clock, finished: bool) -> None:
        mine = claim()
        time.now += LEASE
        claim()
        if finished:
            finish()
        with pytest.raises(LeaseLost, match="191930000000000001-0"):
            work_units.hold(UNIT, mine)


def test_a_claim_and_its_end_cost_two_requests(time: Clock) -> None:
    with aws_requests() as made:
        mine = claim()
        work_units.hold(UNIT, mine)
        finish()
    assert [request.operation for request in made] == ["UpdateItem"] * 2


def test_the_record_goes_away_after_the_time_that_messages_are_kept(time: Clock) -> None:
    work_units.begin(UNIT, 1000)
    kept = int(time.now) + settings().messages_retention
    assert record()["expires"] == kept
    time.now += 5000
    claim()
    assert record()["expires"] == kept + 5000
    claim(UNIT.deferred)
    assert record(UNIT.deferred)["expires"] == kept + 5000


def test_what_was_generated_is_known_of_the_chunks_that_delivery_has_met(time: Clock) -> None:
    for number, unit in enumerate((UNIT, SECOND, WorkUnit(UNIT.transmission_id, "2"))):
        work_units.begin(unit, 1000 + number)
    claim()
    claim(UNIT.deferred)
    work_units.finish(SECOND, generated=(0, 4))
    found = work_units.generated(UNIT.transmission_id)
    assert found == [Generated(1000, 3, 1), Generated(1001, 0, 4)]
    assert standing(SECOND) is Standing.DONE


def test_what_was_delivered_where_it_was_generated_is_known_at_its_end(time: Clock) -> None:
    work_units.begin(UNIT, 1000, to_deliver=True)
    assert work_units.generated(UNIT.transmission_id) == []
    work_units.finish(UNIT, generated=(1, 0))
    assert work_units.generated(UNIT.transmission_id) == [Generated(1000, 1, 0)]
