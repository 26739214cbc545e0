from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import aws, clock
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.delivery import units
from chalicelib.delivery.units import Claim, Generated, Unit
from tests.fake_cloud import aws_requests

UNIT = Unit("191930000000000001", "0")
LEASE = settings().delivery_lease


class Time:
    """A clock that stands still until it is moved."""

    now = 1_769_850_000.25

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(cloud: None) -> Iterator[Time]:
    moving = Time()
    with clock.use(moving):
        yield moving


def claim(unit: Unit) -> Claim:
    return units.claim(unit, generated=(3, 1))


def record(unit: Unit = UNIT) -> dict[str, Any]:
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


def test_the_first_beginning_gives_the_time_and_a_later_one_gets_it(time: Time) -> None:
    assert units.begin(UNIT, 1000) == 1000
    assert units.begin(UNIT, 2000) == 1000
    assert units.begin(Unit(UNIT.transmission_id, "1"), 2000) == 2000


def test_generation_begun_again_during_delivery_gets_the_time_of_the_first(time: Time) -> None:
    units.begin(UNIT, 1000)
    claim(UNIT)
    assert units.begin(UNIT, 2000) == 1000


def test_a_unit_that_is_finished_is_not_begun_again(time: Time) -> None:
    units.begin(UNIT, 1000)
    claim(UNIT)
    units.finish(UNIT)
    assert units.begin(UNIT, 2000) is None


@pytest.mark.parametrize("begun", [True, False])
def test_the_first_claim_is_the_first_whether_the_unit_was_generated_or_deferred(
    begun: bool, time: Time
) -> None:
    if begun:
        units.begin(UNIT, 1000)
    assert claim(UNIT) is Claim.FIRST


def test_a_claimed_unit_is_busy_until_the_lease_ends(time: Time) -> None:
    claim(UNIT)
    assert claim(UNIT) is Claim.BUSY
    time.now += LEASE - 0.01
    assert claim(UNIT) is Claim.BUSY
    time.now += 0.01
    assert claim(UNIT) is Claim.TAKEN_OVER


def test_one_who_takes_over_has_the_unit_for_a_lease(time: Time) -> None:
    claim(UNIT)
    time.now += LEASE
    assert claim(UNIT) is Claim.TAKEN_OVER
    assert claim(UNIT) is Claim.BUSY
    time.now += LEASE
    assert claim(UNIT) is Claim.TAKEN_OVER


def test_of_two_who_would_take_over_at_once_one_does(time: Time) -> None:
    claim(UNIT)
    time.now += LEASE
    answers: list[Claim] = []

    def compete(**_: Any) -> None:
        # between the second one's look at the lease and its write
        if len(made) == 1 and not answers:
            answers.append(Claim.BUSY)
            answers[0] = claim(UNIT)

    events: Any = aws.dynamodb().meta.events
    with aws_requests() as made:
        events.register("before-call.dynamodb.UpdateItem", compete)
        try:
            mine = claim(UNIT)
        finally:
            events.unregister("before-call.dynamodb.UpdateItem", compete)
    assert (answers, mine) == ([Claim.TAKEN_OVER], Claim.BUSY)


@pytest.mark.parametrize("later", [0.0, LEASE, 1e6])
def test_a_finished_unit_is_done_for_good(later: float, time: Time) -> None:
    claim(UNIT)
    units.finish(UNIT)
    time.now += later
    assert claim(UNIT) is Claim.DONE


def test_units_are_claimed_apart(time: Time) -> None:
    claim(UNIT)
    assert claim(UNIT.deferred) is Claim.FIRST
    assert claim(Unit("191930000000000002", "0")) is Claim.FIRST


def test_a_claim_and_its_end_cost_two_requests(time: Time) -> None:
    with aws_requests() as made:
        claim(UNIT)
        units.finish(UNIT)
    assert [request.operation for request in made] == ["UpdateItem"] * 2


def test_the_record_goes_away_after_the_time_that_messages_are_kept(time: Time) -> None:
    units.begin(UNIT, 1000)
    kept = int(time.now) + settings().messages_retention
    assert record()["expires"] == kept
    time.now += 5000
    claim(UNIT)
    assert record()["expires"] == kept + 5000
    claim(UNIT.deferred)
    assert record(UNIT.deferred)["expires"] == kept + 5000


def test_what_was_generated_is_known_of_the_chunks_that_delivery_has_met(time: Time) -> None:
    second = Unit(UNIT.transmission_id, "1")
    for number, unit in enumerate((UNIT, second, Unit(UNIT.transmission_id, "2"))):
        units.begin(unit, 1000 + number)
    claim(UNIT)
    claim(UNIT.deferred)
    units.finish_without_messages(second, failed=4)
    found = units.generated(UNIT.transmission_id)
    assert found == [Generated(1000, 3, 1), Generated(1001, 0, 4)]
    assert claim(second) is Claim.DONE
