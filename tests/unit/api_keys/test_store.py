from __future__ import annotations

import json

import pytest

from chalicelib.api_keys import model, store
from chalicelib.api_keys.model import ApiKey
from chalicelib.core.dynamo import Table, encode_item
from chalicelib.core.request import Actor

pytestmark = pytest.mark.usefixtures("cloud")

SECRET = "0123456789abcdef0123456789abcdef01234567"


def key(secret: str = SECRET, account: int = 1, **fields: object) -> ApiKey:
    defaults = {
        "label": "tests",
        "grants": frozenset({"smtp/inject", "templates/view"}),
        "created": 1_769_850_000.25,
    }
    return ApiKey(
        key_id=model.key_id(secret),
        account_id=account,
        short_key=model.short_key(secret),
        **(defaults | fields),  # type: ignore[arg-type]
    )


def test_a_key_comes_back_with_all_its_fields() -> None:
    record = key(
        subaccount_id=7,
        valid_ips=["192.0.2.0/24", "2001:db8::1"],
        expires_ms=1_800_000_000_123,
        last_used=1_769_850_000,
        created_by=Actor("user", "u1", "ada@example.com"),
    )
    store.put(record)
    assert store.get(record.key_id) == record


def test_a_key_without_subaccount_grants_or_addresses_comes_back_without_them() -> None:
    store.put(key(grants=frozenset()))
    assert store.get(key().key_id) == key(grants=frozenset())


def test_a_key_of_an_earlier_version_has_no_end_and_no_last_use() -> None:
    store.put(key())
    Table("config").update(*store.key_of(key().key_id), "REMOVE #expires_ms")
    assert store.get(key().key_id) == key()


def test_of_two_uses_the_later_hour_stays_and_a_deleted_key_does_not_come_back() -> None:
    store.put(key())
    for hour in (7200, 10_800, 3600):
        store.note_use(key().key_id, hour)
    assert store.get(key().key_id) == key(last_used=10_800)
    store.delete(key())
    store.note_use(key().key_id, 14_400)
    assert store.get(key().key_id) is None


def test_a_key_that_does_not_exist_is_none() -> None:
    assert store.get(model.key_id(SECRET)) is None


def test_storing_a_key_again_replaces_its_record() -> None:
    store.put(key())
    store.put(key(label="new"))
    assert store.get(key().key_id) == key(label="new")


@pytest.mark.spec("5-r2")
def test_the_stored_item_does_not_hold_the_key() -> None:
    store.put(key())
    item = Table("config").get(f"key#{model.key_id(SECRET)}", "key")
    assert item is not None
    text = json.dumps(encode_item(item))
    assert SECRET not in text
    assert SECRET[:5] not in text


def test_the_index_lists_the_keys_of_an_account_newest_last() -> None:
    store.put(key("b" * 40, created=10_000_000_000.0))
    store.put(key("a" * 40, created=9.5))
    store.put(key("c" * 40, account=11))
    page = Table("config").query("#owner = :o", {"o": "account#1/keys"}, index="by_owner")
    assert [item["short_key"] for item in page.items] == ["aaaa", "bbbb"]
