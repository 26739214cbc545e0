from __future__ import annotations

import pytest

from chalicelib.core import clock, dynamo, leases
from chalicelib.core.dynamo import ConditionFailed, Table
from chalicelib.core.leases import Record, ResourceLease
from tests.fake_cloud import aws_requests

pytestmark = pytest.mark.usefixtures("cloud")

RECORD = Record("thing#1", "thing")
TABLE = Table("config")
HOUR = 3600.0


def put_record() -> str:
    """Store the record; return its revision."""
    revision = dynamo.draw_revision()
    TABLE.put({"pk": RECORD.pk, "sk": RECORD.sk, "colour": "red", "stamp": revision})
    return revision


def lease_from_now(holder: str = "t1", *, since: float = 0.0, until: float = HOUR) -> ResourceLease:
    return ResourceLease(holder, clock.now() + since, clock.now() + until)


def test_a_resource_is_leased_until_the_lease_is_released() -> None:
    put_record()
    assert not leases.is_leased(RECORD)
    item = leases.acquire(RECORD, lease_from_now())
    assert item is not None
    assert item["colour"] == "red"
    assert leases.is_leased(RECORD)
    leases.release(RECORD, "t1")
    leases.release(RECORD, "t1")
    assert not leases.is_leased(RECORD)


def test_a_resource_is_leased_until_all_its_leases_are_released() -> None:
    put_record()
    leases.acquire(RECORD, lease_from_now("t1"))
    leases.acquire(RECORD, lease_from_now("t2"))
    leases.release(RECORD, "t1")
    assert leases.is_leased(RECORD)


def test_a_lease_counts_within_its_time_only() -> None:
    put_record()
    now = clock.now()
    leases.acquire(RECORD, ResourceLease("t1", now + 60, now + 120))
    for later, leased in ((0, False), (59, False), (60, True), (119, True), (120, False)):
        with clock.use(lambda later=later: now + later):  # type: ignore[misc]
            assert leases.is_leased(RECORD) is leased, later


def test_the_table_drops_a_lease_that_nobody_released() -> None:
    put_record()
    lease = lease_from_now()
    leases.acquire(RECORD, lease)
    item = TABLE.get(RECORD.pk, "use#t1")
    assert item is not None
    assert item["expires"] > lease.until


def test_acquiring_again_replaces_the_lease_of_the_same_holder() -> None:
    put_record()
    leases.acquire(RECORD, lease_from_now(since=60))
    assert not leases.is_leased(RECORD)
    leases.acquire(RECORD, lease_from_now())
    assert leases.is_leased(RECORD)


def test_there_is_no_lease_on_a_resource_that_does_not_exist() -> None:
    assert leases.acquire(RECORD, lease_from_now()) is None
    assert not leases.is_leased(RECORD)


def test_a_change_that_did_not_see_a_lease_is_refused() -> None:
    revision = put_record()
    assert not leases.is_leased(RECORD)
    leases.acquire(RECORD, lease_from_now())
    with pytest.raises(ConditionFailed):
        TABLE.delete(RECORD.pk, RECORD.sk, **leases.unchanged(revision))
    with pytest.raises(ConditionFailed):
        TABLE.put({"pk": RECORD.pk, "sk": RECORD.sk}, **leases.unchanged(revision))


def test_a_change_that_has_seen_the_lease_is_made() -> None:
    put_record()
    item = leases.acquire(RECORD, lease_from_now(since=60))
    assert item is not None
    assert TABLE.delete(RECORD.pk, RECORD.sk, **leases.unchanged(item["stamp"]))
    assert leases.acquire(RECORD, lease_from_now()) is None


@pytest.mark.cost
def test_one_request_tells_whether_a_resource_is_leased() -> None:
    put_record()
    for number in range(3):
        leases.acquire(RECORD, lease_from_now(f"t{number}"))
    with aws_requests() as requests:
        assert leases.is_leased(RECORD)
    assert [each.operation for each in requests] == ["Query"]


def test_holders_are_those_who_have_not_released_their_lease() -> None:
    put_record()
    leases.acquire(RECORD, lease_from_now("t1", since=60))
    leases.acquire(RECORD, lease_from_now("t2"))
    leases.acquire(RECORD, lease_from_now("t3"))
    leases.release(RECORD, "t3")
    assert leases.holders(RECORD) == ["t1", "t2"]


@pytest.fixture
def active(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The holders who are active."""
    names: set[str] = set()
    monkeypatch.setattr(leases, "_activities", [names.__contains__])
    return names


def test_a_lease_that_ran_out_counts_while_its_holder_is_active(active: set[str]) -> None:
    put_record()
    lease = lease_from_now()
    leases.acquire(RECORD, lease)
    active.add("t1")
    for after, leased in ((0, True), (86_300, True), (86_401, False)):
        with clock.use(lambda after=after: lease.until + after):  # type: ignore[misc]
            assert leases.is_leased(RECORD) is leased, after


def test_a_lease_that_is_not_needed_counts_while_its_holder_is_active(active: set[str]) -> None:
    put_record()
    leases.acquire(RECORD, lease_from_now())
    active.add("t1")
    leases.release_when_inactive(RECORD, "t1")
    assert leases.is_leased(RECORD)
    assert leases.holders(RECORD) == []
    active.clear()
    assert not leases.is_leased(RECORD)
