from __future__ import annotations

from typing import Any

from chalicelib.suppression.store.items import to_item
from chalicelib.suppression.store.lookup_items import (
    list_at,
    lists_of,
    lookup_key_for,
    with_list,
    without_entry,
    without_list,
)
from tests.unit.suppression.examples import entry

LOOKUP_KEY = ("1#ann@x.test", "0000000007#transactional#")
ENTRY_KEY = ("1#ann@x.test", "0000000007#transactional#news")
EMPTY: dict[str, Any] = {"pk": LOOKUP_KEY[0], "sk": LOOKUP_KEY[1]}
WIDE = to_item(1, entry("ann@x.test", "transactional"))


def test_an_entry_for_a_mailing_list_has_the_lookup_item_of_its_recipient_and_type() -> None:
    assert lookup_key_for(ENTRY_KEY) == lookup_key_for(LOOKUP_KEY) == LOOKUP_KEY
    assert (list_at(ENTRY_KEY), list_at(LOOKUP_KEY)) == ("news", "")


def test_a_lookup_item_exists_while_it_names_a_list() -> None:
    one = with_list(None, ENTRY_KEY)
    assert one == EMPTY | {"lists": {"news"}}
    two = with_list(one, (ENTRY_KEY[0], LOOKUP_KEY[1] + "sports"))
    assert lists_of(two) == {"news", "sports"}
    assert lists_of(without_list(two, ENTRY_KEY)) == {"sports"}
    assert without_list(one, ENTRY_KEY) is None
    assert without_list(None, ENTRY_KEY) is None


def test_the_account_wide_entry_and_the_lists_of_a_lookup_item_are_removed_apart() -> None:
    both = with_list(WIDE, ENTRY_KEY)
    assert without_list(both, ENTRY_KEY) == WIDE
    assert without_entry(both) == {"pk": WIDE["pk"], "sk": WIDE["sk"], "lists": {"news"}}
    assert without_entry(WIDE) is None
