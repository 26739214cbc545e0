from __future__ import annotations

from typing import Any

from chalicelib.suppression.store.items import to_item
from chalicelib.suppression.store.lookup_items import (
    list_at,
    lists_of,
    slot_of,
    with_list,
    without_entry,
    without_list,
)
from tests.unit.suppression.examples import entry

SLOT = ("1#ann@x.test", "0000000007#transactional#")
ROW = ("1#ann@x.test", "0000000007#transactional#news")
EMPTY: dict[str, Any] = {"pk": SLOT[0], "sk": SLOT[1]}
WIDE = to_item(1, entry("ann@x.test", "transactional"))


def test_an_entry_for_a_mailing_list_has_the_slot_of_its_recipient_and_type() -> None:
    assert slot_of(ROW) == slot_of(SLOT) == SLOT
    assert (list_at(ROW), list_at(SLOT)) == ("news", "")


def test_a_slot_exists_while_it_holds_something() -> None:
    one = with_list(None, ROW)
    assert one == EMPTY | {"lists": {"news"}}
    two = with_list(one, (ROW[0], SLOT[1] + "sports"))
    assert lists_of(two) == {"news", "sports"}
    assert lists_of(without_list(two, ROW)) == {"sports"}
    assert without_list(one, ROW) is None
    assert without_list(None, ROW) is None


def test_the_account_wide_entry_and_the_lists_of_a_slot_go_their_own_ways() -> None:
    both = with_list(WIDE, ROW)
    assert without_list(both, ROW) == WIDE
    assert without_entry(both) == {"pk": WIDE["pk"], "sk": WIDE["sk"], "lists": {"news"}}
    assert without_entry(WIDE) is None
