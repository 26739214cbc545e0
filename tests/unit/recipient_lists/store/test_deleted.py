from __future__ import annotations

import pytest

from chalicelib.core import clock
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import deleted, lists
from tests.fake_cloud import stored_objects
from tests.unit.recipient_lists.examples import emails, saved

pytestmark = pytest.mark.usefixtures("cloud")


def deleted_while_waiting(*transmissions: str) -> RecipientList:
    """Delete a list for which these transmissions wait; return it as it was."""
    recipient_list = saved("friends", 3)
    starts = clock.now() + 3600
    for each in transmissions:
        lists.acquire_lease(1, "friends", each, starts=starts, until=starts + 900)
    assert lists.delete(1, "friends")
    assert lists.get(1, "friends") is None
    return recipient_list


def kept(recipient_list: RecipientList) -> RecipientList | None:
    return deleted.get(1, "friends", recipient_list.identity)


def test_the_recipients_of_a_deleted_list_are_kept_for_those_who_wait() -> None:
    recipient_list = kept(deleted_while_waiting("t1"))
    assert recipient_list is not None
    assert len(emails(recipient_list)) == 3


def test_the_last_one_removes_them() -> None:
    before = deleted_while_waiting("t1", "t2")
    objects = f"lists/1/friends/{before.version}"
    for each, are_kept in (("t1", True), ("t1", True), ("t2", False)):
        deleted.release(before, each)
        assert (kept(before) is not None) is are_kept
        assert bool(stored_objects(objects)) is are_kept


def test_a_list_created_under_the_id_is_another_one() -> None:
    before = deleted_while_waiting("t1")
    after = saved("friends", 2)
    assert after.identity != before.identity
    assert kept(after) is None
    lists.check_unused(1, "friends")
    assert lists.delete(1, "friends")
    assert kept(before) is not None
