from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.dynamo import Table
from chalicelib.core.owner_keys import account_partition, owned_items, owner_digits, owner_prefix
from chalicelib.core.scope import Scope

config = Table("config")


def test_an_owner_is_ten_digits_and_the_primary_account_zeros() -> None:
    assert [owner_digits(owner) for owner in (None, 0, 1, 987_654)] == [
        "0000000000",
        "0000000000",
        "0000000001",
        "0000987654",
    ]


def test_the_prefix_of_a_scope_names_its_owner_and_all_owners_have_none() -> None:
    assert owner_prefix(Scope(1, 7), "/") == "0000000007/"
    assert owner_prefix(Scope(1, 0), "#") == "0000000000#"
    assert owner_prefix(Scope(1, None), "#") == ""


@pytest.fixture
def things(cloud: None) -> list[dict[str, Any]]:
    items = [
        {
            "pk": f"thing#{account}{owner}",
            "sk": "thing",
            "owner": account_partition(account, "things"),
            "owner_key": f"{owner_digits(owner)}/a",
        }
        for account, owner in ((1, None), (1, 7), (2, 7))
    ]
    config.write_all(items)
    return items


def test_items_of_an_account_or_of_one_owner_are_found_by_owner(
    things: list[dict[str, Any]],
) -> None:
    assert things[0]["owner"] == "account#1/things"
    assert list(owned_items(config, 1, "things")) == things[:2]
    assert list(owned_items(config, 1, "things", owner_prefix(Scope(1, 7), "/"))) == [things[1]]
    assert list(owned_items(config, 1, "others")) == []
