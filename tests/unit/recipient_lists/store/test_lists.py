from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ServiceError
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import lists
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.recipient_lists.examples import emails, saved

pytestmark = pytest.mark.usefixtures("cloud")

HOUR = 3600.0


def acquire_lease(list_id: str = "friends", *, starts: float = 0.0) -> RecipientList | None:
    now = clock.now()
    until = now + starts + HOUR
    return lists.acquire_lease(1, list_id, "t1", starts=now + starts, until=until)


def renamed(old: RecipientList) -> RecipientList:
    return replace(old, name="Foes")


def is_refused_as_used(list_id: str = "friends") -> bool:
    try:
        lists.change(1, list_id, renamed)
    except ServiceError as refusal:
        return (refusal.status, refusal.errors[0]["code"]) == (409, "1602")
    return False


def test_a_list_is_read_as_it_was_stored() -> None:
    odd = {"": None, "n": 1e-200, "deep": [[[{"x": "é"}]]]}
    new = RecipientList(1, "friends", "Friends", "v", 2, 1, "All of them", odd)
    assert lists.create(new)
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert replace(recipient_list, revision="") == new


def test_an_id_is_taken_once_in_an_account() -> None:
    saved("friends", 3)
    assert not lists.create(RecipientList(1, "friends", "Other", "v", 1, 1))
    assert lists.create(RecipientList(2, "friends", "Other", "v", 1, 1))
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert recipient_list.count == 3


def test_an_account_sees_its_own_lists_only() -> None:
    saved("mine"), saved("yours", account_id=2), saved("also-mine")
    assert [result.id for result in lists.in_account(1)] == ["also-mine", "mine"]
    assert lists.get(1, "yours") is None


def test_the_recipients_are_read_part_by_part() -> None:
    recipient_list = saved("friends", 1500)
    assert [len([*part]) for part in lists.parts(recipient_list)] == [1000, 500]
    assert next(next(lists.parts(recipient_list, 1))) == {"email": "r1000@example.test"}


def test_a_change_returns_the_list_before_and_after() -> None:
    saved("friends")
    changed = lists.change(1, "friends", renamed)
    assert changed is not None
    assert [each.name for each in changed] == ["Friends", "Foes"]
    assert lists.change(1, "nobodies", renamed) is None


def test_a_change_that_another_overtook_is_repeated_from_the_new_record() -> None:
    saved("friends")

    def described(old: RecipientList) -> RecipientList:
        if old.name == "Friends":
            lists.change(1, "friends", renamed)
        return replace(old, description="new")

    lists.change(1, "friends", described)
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert (recipient_list.name, recipient_list.description) == ("Foes", "new")


def test_a_deleted_list_leaves_nothing_behind() -> None:
    recipient_list = saved("friends", 1500)
    assert lists.delete(1, "friends")
    assert not lists.delete(1, "friends")
    assert lists.get(1, "friends") is None
    assert stored_objects(f"lists/1/friends/{recipient_list.version}") == []


def test_a_leased_list_is_neither_changed_nor_deleted() -> None:
    saved("friends", 3)
    recipient_list = acquire_lease()
    assert recipient_list is not None
    assert is_refused_as_used()
    with pytest.raises(ServiceError):
        lists.delete(1, "friends")
    assert len(emails(recipient_list)) == 3
    lists.release_lease(1, "friends", "t1")
    assert not is_refused_as_used()
    assert lists.delete(1, "friends")


def test_a_lease_on_one_list_is_none_on_another() -> None:
    saved("friends"), saved("friends-2")
    acquire_lease("friends-2")
    assert not is_refused_as_used("friends")


def test_a_list_is_protected_from_ten_minutes_before_a_schedule() -> None:
    saved("friends")
    now = clock.now()
    acquire_lease(starts=HOUR)
    for later, protected in ((0, False), (HOUR - 601, False), (HOUR - 599, True), (HOUR, True)):
        with clock.use(lambda later=later: now + later):  # type: ignore[misc]
            assert is_refused_as_used() is protected, later


def test_a_lease_acquired_during_a_change_wins() -> None:
    saved("friends")

    def lease_meanwhile(old: RecipientList) -> RecipientList:
        assert acquire_lease() is not None
        return renamed(old)

    with pytest.raises(ServiceError, match="in use"):
        lists.change(1, "friends", lease_meanwhile)
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert recipient_list.name == "Friends"


def test_a_lease_acquired_during_a_deletion_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    saved("friends", 3)
    check = lists.check_unused

    def lease_meanwhile(account_id: int, list_id: str) -> None:
        check(account_id, list_id)
        acquire_lease()

    monkeypatch.setattr(lists, "check_unused", lease_meanwhile)
    with pytest.raises(ServiceError, match="in use"):
        lists.delete(1, "friends")
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert len(emails(recipient_list)) == 3


def test_a_lease_returns_the_list_as_it_is_after_a_change() -> None:
    saved("friends")
    lists.change(1, "friends", renamed)
    recipient_list = acquire_lease()
    assert recipient_list is not None
    assert recipient_list.name == "Foes"
    assert acquire_lease("nobodies") is None


@pytest.mark.cost
def test_reading_a_list_for_a_transmission_costs_one_request() -> None:
    saved("friends")
    with aws_requests() as requests:
        lists.get(1, "friends")
    assert [each.operation for each in requests] == ["GetItem"]


@pytest.mark.cost
def test_a_write_is_a_transaction_whose_repetition_the_table_recognises() -> None:
    """boto3 repeats a request whose answer was lost; a token names each transaction."""
    with aws_requests() as requests:
        saved("friends", 3)
        lists.change(1, "friends", renamed)
        lists.delete(1, "friends")
    writes = [each.operation for each in requests if each.operation not in ("GetItem", "Query")]
    table_writes = [each for each in writes if "Object" not in each]
    assert table_writes == ["TransactWriteItems"] * 3
