from __future__ import annotations

import pytest

from chalicelib.core import clock, dynamo, leases
from chalicelib.core.dynamo import ConditionFailed, Table
from chalicelib.core.leases import Record, Use
from tests.fake_cloud import aws_requests

pytestmark = pytest.mark.usefixtures("cloud")

RECORD = Record("thing#1", "thing")
TABLE = Table("config")
HOUR = 3600.0


def stored() -> str:
    """Store the record; return its revision."""
    revision = dynamo.draw_revision()
    TABLE.put({"pk": RECORD.pk, "sk": RECORD.sk, "colour": "red", "stamp": revision})
    return revision


def from_now_on(user: str = "t1", *, since: float = 0.0, until: float = HOUR) -> Use:
    return Use(user, clock.now() + since, clock.now() + until)


def test_a_resource_is_in_use_from_its_begin_to_its_end() -> None:
    stored()
    assert not leases.in_use(RECORD)
    item = leases.begin(RECORD, from_now_on())
    assert item is not None
    assert item["colour"] == "red"
    assert leases.in_use(RECORD)
    leases.end(RECORD, "t1")
    leases.end(RECORD, "t1")
    assert not leases.in_use(RECORD)


def test_it_is_in_use_as_long_as_anybody_uses_it() -> None:
    stored()
    leases.begin(RECORD, from_now_on("t1"))
    leases.begin(RECORD, from_now_on("t2"))
    leases.end(RECORD, "t1")
    assert leases.in_use(RECORD)


def test_a_use_counts_within_its_time_only() -> None:
    stored()
    now = clock.now()
    leases.begin(RECORD, Use("t1", now + 60, now + 120))
    for later, used in ((0, False), (59, False), (60, True), (119, True), (120, False)):
        with clock.use(lambda later=later: now + later):  # type: ignore[misc]
            assert leases.in_use(RECORD) is used, later


def test_a_use_that_nobody_ended_is_dropped_by_the_table() -> None:
    stored()
    use = from_now_on()
    leases.begin(RECORD, use)
    item = TABLE.get(RECORD.pk, "use#t1")
    assert item is not None
    assert item["expires"] > use.until


def test_beginning_again_moves_the_use() -> None:
    stored()
    leases.begin(RECORD, from_now_on(since=60))
    assert not leases.in_use(RECORD)
    leases.begin(RECORD, from_now_on())
    assert leases.in_use(RECORD)


def test_what_is_not_there_cannot_be_used() -> None:
    assert leases.begin(RECORD, from_now_on()) is None
    assert not leases.in_use(RECORD)


def test_a_change_that_did_not_see_a_use_is_refused() -> None:
    seen = stored()
    assert not leases.in_use(RECORD)
    leases.begin(RECORD, from_now_on())
    with pytest.raises(ConditionFailed):
        TABLE.delete(RECORD.pk, RECORD.sk, **leases.unchanged(seen))
    with pytest.raises(ConditionFailed):
        TABLE.put({"pk": RECORD.pk, "sk": RECORD.sk}, **leases.unchanged(seen))


def test_a_change_after_the_use_was_seen_is_made() -> None:
    stored()
    item = leases.begin(RECORD, from_now_on(since=60))
    assert item is not None
    assert TABLE.delete(RECORD.pk, RECORD.sk, **leases.unchanged(item["stamp"]))
    assert leases.begin(RECORD, from_now_on()) is None


@pytest.mark.cost
def test_asking_costs_one_request() -> None:
    stored()
    for number in range(3):
        leases.begin(RECORD, from_now_on(f"t{number}"))
    with aws_requests() as made:
        assert leases.in_use(RECORD)
    assert [each.operation for each in made] == ["Query"]
