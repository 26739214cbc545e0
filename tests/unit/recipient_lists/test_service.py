from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.recipient_lists import service
from chalicelib.recipient_lists.request import read_changes, read_new
from chalicelib.recipient_lists.service import Saving
from chalicelib.recipient_lists.store import contents, lists
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.recipient_lists.examples import emails, given, saved
from tests.unit.refusals import refusal_code

pytestmark = pytest.mark.usefixtures("cloud")


def create(**fields: Any) -> Saving:
    return service.create(1, read_new({"id": "friends", "recipients": given(2)} | fields))


def update(list_id: str = "friends", **fields: Any) -> Saving:
    return service.update(1, list_id, read_changes(fields, list_id))


def test_a_list_is_stored_with_its_recipients() -> None:
    saving = create(name="Friends", description="All", attributes={"a": 1})
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert (recipient_list.name, recipient_list.description, recipient_list.attributes) == (
        "Friends",
        "All",
        {"a": 1},
    )
    assert emails(recipient_list) == ["r0@example.test", "r1@example.test"]
    assert saving.list.count == recipient_list.count == 2


def test_a_missing_field_has_its_default() -> None:
    saving = create(id=None).list
    assert saving.name == saving.id != ""
    assert (saving.description, saving.attributes) == ("", {})
    assert create(id=None).list.id != saving.id


def test_bad_recipients_stop_only_themselves() -> None:
    saving = create(recipients=[{"address": "nobody"}, *given(2), {}])
    assert saving.list.count == 2
    assert saving.refusals.count == 2
    assert [error["code"] for error in saving.refusals.errors] == ["1300", "1400"]


def test_an_id_that_is_taken_is_refused_and_leaves_the_list_as_it_is() -> None:
    create()
    assert refusal_code(create, recipients=given(5)) == (400, "5001")
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert len(emails(recipient_list)) == 2
    assert len(stored_objects("lists/")) == 1


def test_of_two_that_create_a_list_at_once_one_is_refused(monkeypatch: Any) -> None:
    create()
    monkeypatch.setattr(lists, "get", lambda *_: None)
    assert refusal_code(create) == (400, "5001")
    assert len(stored_objects("lists/")) == 1


@pytest.mark.parametrize("recipients", [[], [{}], [{"address": "nobody"}]])
def test_without_a_good_recipient_nothing_is_stored(recipients: list[Any]) -> None:
    assert refusal_code(create, recipients=recipients) == (400, "5002")
    assert lists.get(1, "friends") is None
    assert stored_objects() == []


def test_an_update_changes_only_the_fields_that_it_names() -> None:
    create(name="Friends", description="All", attributes={"a": 1})
    update(description="Some")
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert (recipient_list.name, recipient_list.description, recipient_list.attributes) == (
        "Friends",
        "Some",
        {"a": 1},
    )
    assert len(emails(recipient_list)) == 2
    update(name="", attributes={}, description="")
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert (recipient_list.name, recipient_list.description, recipient_list.attributes) == (
        "friends",
        "",
        {},
    )


def test_recipients_are_replaced_as_a_whole_and_the_old_ones_removed() -> None:
    create(recipients=given(1500))
    saving = update(recipients=[{"address": "only@example.test"}, {}])
    assert (saving.list.count, saving.refusals.count) == (1, 1)
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert emails(recipient_list) == ["only@example.test"]
    assert stored_objects("lists/") == [f"lists/1/friends/{recipient_list.version}/0"]


def test_a_replacement_without_a_good_recipient_changes_nothing() -> None:
    create()
    assert refusal_code(update, name="New", recipients=[{}]) == (400, "5002")
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert (recipient_list.name, len(emails(recipient_list))) == ("friends", 2)


def test_an_unknown_list_is_not_found() -> None:
    assert refusal_code(update, name="x") == (404, "1600")
    assert refusal_code(update, recipients=given(1)) == (404, "1600")
    assert stored_objects() == []


def acquire_lease() -> None:
    now = clock.now()
    assert lists.acquire_lease(1, "friends", "t1", starts=now, until=now + 60)


@pytest.mark.cost
def test_a_leased_list_is_not_changed_and_costs_no_writing() -> None:
    create()
    acquire_lease()
    with aws_requests() as requests:
        assert refusal_code(update, recipients=given(5)) == (409, "1602")
        assert refusal_code(update, name="x") == (409, "1602")
    assert {each.operation for each in requests} == {"GetItem", "Query"}


def test_a_lease_acquired_while_recipients_are_written_keeps_the_old_ones(
    monkeypatch: Any,
) -> None:
    create()
    write = contents.write

    def lease_meanwhile(*arguments: Any) -> Any:
        acquire_lease()
        return write(*arguments)

    monkeypatch.setattr(contents, "write", lease_meanwhile)
    assert refusal_code(update, recipients=given(5)) == (409, "1602")
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert len(emails(recipient_list)) == 2
    assert len(stored_objects()) == 1


def test_a_list_that_vanishes_while_recipients_are_written_is_not_found(monkeypatch: Any) -> None:
    create()
    write = contents.write

    def deleted_meanwhile(*arguments: Any) -> Any:
        lists.delete(1, "friends")
        return write(*arguments)

    monkeypatch.setattr(contents, "write", deleted_meanwhile)
    assert refusal_code(update, recipients=given(5)) == (404, "1600")
    assert stored_objects() == []


@pytest.mark.parametrize("after", ["written", "named"])
def test_a_crash_leaves_a_whole_list_and_objects_that_nothing_reads(
    after: str, monkeypatch: Any
) -> None:
    create()

    def crash(*_: Any) -> None:
        raise MemoryError

    if after == "written":
        monkeypatch.setattr(lists, "change", crash)
    else:
        monkeypatch.setattr(contents, "remove", crash)
    with pytest.raises(MemoryError):
        update(recipients=given(5))
    recipient_list = lists.get(1, "friends")
    assert recipient_list is not None
    assert len(emails(recipient_list)) == recipient_list.count == (2 if after == "written" else 5)
    monkeypatch.undo()
    assert update(recipients=given(1)).list.count == 1


def test_an_unused_list_of_another_account_is_not_touched() -> None:
    saved("friends", 3, account_id=2)
    assert refusal_code(update, name="x") == (404, "1600")
