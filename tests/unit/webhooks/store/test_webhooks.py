from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import clock
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import Unavailable
from chalicelib.core.scope import Scope
from chalicelib.webhooks.model import Webhook
from chalicelib.webhooks.store import webhooks as webhook_store

pytestmark = pytest.mark.usefixtures("cloud")

NINE = 1_769_850_000.0
ALL_OF_1 = Scope(1, None)


def webhook(
    name: str, account: int = 1, subaccount: int | None = None, created_ms: int = 0
) -> Webhook:
    return Webhook(
        name,
        account,
        "Ours",
        "https://a.test/",
        ("delivery",),
        created_ms,
        subaccount_id=subaccount,
    )


def test_the_webhooks_of_a_scope_are_listed_oldest_first() -> None:
    for each in (
        webhook("b", created_ms=2),
        webhook("a", created_ms=3),
        replace(webhook("c", created_ms=1), source=7),
        webhook("d", subaccount=7, created_ms=4),
        webhook("e", account=2),
    ):
        webhook_store.create(each)

    def names(account: int, part: int | None) -> list[str]:
        return [each.id for each in webhook_store.in_scope(Scope(account, part))]

    assert names(1, None) == ["c", "b", "a", "d"]
    assert names(1, 0) == ["c", "b", "a"]
    assert names(1, 7) == ["d"]
    assert names(1, 8) == []
    assert names(2, None) == ["e"]
    assert webhook_store.find(Scope(1, 0), "d") is None
    assert webhook_store.find(Scope(2, None), "a") is None


def test_a_webhook_is_read_as_it_was_stored() -> None:
    new_webhook = replace(webhook("a"), exceptions=(3, 4), sealed=b"sealed", active=False)
    webhook_store.create(new_webhook)
    assert webhook_store.find(ALL_OF_1, "a") == new_webhook


@pytest.mark.parametrize(("source", "owner"), [(-1, None), (0, None), (7, 7)])
def test_a_webhook_stored_without_an_owner_belongs_to_its_source(
    source: int, owner: int | None
) -> None:
    webhook_store.create(replace(webhook("a"), source=source))
    Table("config").update(*webhook_store.key_of(1, "a"), "REMOVE #subaccount_id")
    (earlier,) = webhook_store.of_account(1)
    assert (earlier.source, earlier.subaccount_id) == (source, owner)
    changed = webhook_store.change(Scope(1, owner or 0), "a", lambda w: replace(w, name="New"))
    assert changed is not None
    assert webhook_store.find(Scope(1, owner or 0), "a") == changed
    assert webhook_store.find(Scope(1, 8), "a") is None


def test_two_changes_at_once_are_both_stored() -> None:
    webhook_store.create(webhook("a"))
    meddled: list[bool] = []

    def rename(before: Webhook) -> Webhook:
        if not meddled:
            meddled.append(True)
            webhook_store.change(ALL_OF_1, "a", lambda each: replace(each, active=False))
        return replace(before, name="New")

    changed = webhook_store.change(ALL_OF_1, "a", rename)
    assert changed is not None
    assert (changed.name, changed.active) == ("New", False)
    assert webhook_store.find(ALL_OF_1, "a") == changed


def test_a_change_fails_when_other_writers_come_first_every_time() -> None:
    webhook_store.create(webhook("a"))
    names = iter(range(1000))

    def meddle(before: Webhook) -> Webhook:
        webhook_store._replace(before, replace(before, name=f"{next(names)}"))
        return replace(before, active=False)

    with pytest.raises(Unavailable):
        webhook_store.change(ALL_OF_1, "a", meddle)


def test_a_deleted_webhook_is_hidden_and_kept_for_two_days() -> None:
    webhook_store.create(webhook("a"))
    with clock.use(lambda: NINE):
        assert webhook_store.delete(ALL_OF_1, "a")
    assert not webhook_store.delete(ALL_OF_1, "a")
    assert webhook_store.of_account(1) == []
    assert webhook_store.find(ALL_OF_1, "a") is None
    item = Table("config").get(*webhook_store.key_of(1, "a"))
    assert item is not None
    assert item["expires"] == NINE + 172_800
    assert webhook_store.from_item(item).target == "https://a.test/"
