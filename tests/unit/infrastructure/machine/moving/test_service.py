from __future__ import annotations

import time
from typing import Any

import pytest

from chalicelib.core.sealing import SealBroken
from infrastructure.machine.moving import totals
from infrastructure.machine.moving.failures import MoveRefused
from tests import fake_cloud
from tests.unit.infrastructure.machine.moving.places import FakePlace, Move

DAY = ("metrics", "1#all#day#203", "020\n")
USAGE = ("config", "usage#1#0", "usage")
DOMAIN = ("config", "domain#mail.test", "domain")
LIST = ("config", "recipient_list#1#news", "list")
WEBHOOK = ("config", "webhooks#1", "w1")
RECORD = ("messages", "transmission#7#0", "ledger#00000000")
KEY = ("config", "key#ab", "key")
VALUES = ("metrics", "1#values#campaign#203001", "news")


def provide_service(place: FakePlace) -> None:
    """Store a little of everything."""
    place.put("config", "account#1", "account", company_name="Mine", owner="accounts")
    place.put(*LIST, name="News", count=3)
    dkim = {
        "selector": "s1",
        "signing_domain": "mail.test",
        "sealed_private": place.sealer.seal(b"private", "dkim/mail.test"),
    }
    place.put(*DOMAIN, domain="mail.test", account_id=1, dkim=dkim)
    place.put(*WEBHOOK, sealed=place.sealer.seal(b"password", "webhook/w1"), version=1)
    place.put("webhooks", "webhook#w1", "token", sealed=place.sealer.seal(b"token", "token/w1"))
    place.put("config", "counter#accounts", "counter", last=4)
    place.put(*KEY, label="Shop", expires_ms=4_102_444_800_000, last_used=7200)
    usage = {"hour": 10, "used": 5, "past": [1, 2], "earlier": 0, "last": 1.5, "rollup": 8}
    place.put(*USAGE, **usage)
    place.put(*DAY, seq=8, sent=10, opened=2, expires=int(time.time()) + 9999)
    place.put(*VALUES, days={"01", "02"}, expires=int(time.time()) + 9999)
    place.put("metrics", "folds", "0000000001", seq=8)
    place.put(*RECORD, version=3, known=b"aaaaaabbbbbb", expires=int(time.time()) + 9999)
    place.put("messages", "pace#example.com", "pace", next_ms=4)
    place.put("events", "1#day#20300101#0", "1#x", count=1, data=b"block")
    place.put("suppression", "1#ann@x.test", "p#", source="Manual")
    place.s3.put_object(Bucket=place.bucket, Key="lists/1/news/1/0", Body=b"recipients")
    place.s3.put_object(Bucket=place.bucket, Key="queue/1", Body=b"payload")


def content(place: FakePlace) -> Any:
    """Return all that a service has, with its secrets opened, to compare two places."""
    items = place.items()
    domain = items["config", "domain#mail.test", "domain"]["dkim"]
    domain["sealed_private"] = place.sealer.open(domain["sealed_private"], "dkim/mail.test")
    for key, context in (
        (WEBHOOK, "webhook/w1"),
        (("webhooks", "webhook#w1", "token"), "token/w1"),
    ):
        if key in items:
            items[key]["sealed"] = place.sealer.open(items[key]["sealed"], context)
    for (table, pk, sk), item in list(items.items()):
        item.pop("seq", None)
        item.pop("rollup", None)
        if pk == "folds" or pk.startswith("pace#"):
            del items[table, pk, sk]
    objects = {key: body for key, body in place.objects().items() if not key.startswith("queue/")}
    return items, objects


def test_everything_of_the_service_arrives_with_its_secrets_under_the_targets_key(
    move: Move,
) -> None:
    provide_service(move.source)
    outcome = move.run()
    assert outcome.is_right
    assert outcome.is_complete
    assert content(move.target) == content(move.source)
    assert move.target.read("metrics", "folds", "0000000001") is None
    assert move.target.read("messages", "pace#example.com", "pace") is None
    assert move.target.read(*DAY)["seq"] == 0
    assert "queue/1" not in move.target.objects()
    sealed = move.target.read(*WEBHOOK)["sealed"]
    with pytest.raises(SealBroken):
        move.source.sealer.open(sealed, "webhook/w1")


def test_the_target_has_the_key_of_links_of_the_source(move: Move) -> None:
    move.run()
    assert move.target.secret_key == move.source.secret_key


def test_a_second_pass_copies_nothing_when_nothing_changed(move: Move) -> None:
    provide_service(move.source)
    move.run()
    items = move.target.items()
    del move.lines[:]
    move.run()
    assert move.target.items() == items
    copies = [line for line in move.lines if " read, " in line]
    assert copies
    assert all(" 0 copied" in line for line in copies)


def test_counts_of_both_sides_are_added(move: Move) -> None:
    provide_service(move.source)
    move.run()
    move.source.add(*DAY, sent=5, bounced=1)
    move.target.add(*DAY, sent=100, opened=1, seq=3)
    move.run()
    move.run()
    counts = move.target.read(*DAY)
    del counts["expires"]
    assert counts == {"seq": 3, "sent": 115, "opened": 3, "bounced": 1}


def test_the_usage_of_both_sides_is_added_by_hours(move: Move) -> None:
    provide_service(move.source)
    move.run()
    move.source.put(*USAGE, hour=10, used=7, past=[1, 2], earlier=0, last=1.6, rollup=9)
    move.target.put(*USAGE, hour=11, used=100, past=[5, 1, 2], earlier=5, last=9.5, rollup=1)
    move.run()
    move.run()
    expected = {"hour": 11, "used": 100, "past": [7, 1, 2], "earlier": 7, "last": 9.5, "rollup": 1}
    assert move.target.read(*USAGE) == expected


def test_recorded_events_and_days_of_both_sides_are_united(move: Move) -> None:
    provide_service(move.source)
    move.run()
    rest = {"expires": int(time.time()) + 9999}
    move.source.put(*RECORD, version=4, known=b"aaaaaabbbbbbcccccc", **rest)
    move.target.put(*RECORD, version=9, known=b"aaaaaabbbbbbdddddd", **rest)
    move.source.put(*VALUES, days={"01", "02", "03"}, **rest)
    move.target.put(*VALUES, days={"01", "02", "04"}, **rest)
    move.run()
    assert move.target.read(*RECORD)["known"] == b"ccccccaaaaaabbbbbbdddddd"
    assert move.target.read(*RECORD)["version"] == 10
    assert move.target.read(*VALUES)["days"] == {"01", "02", "03", "04"}


def test_what_only_the_source_changed_is_taken_and_deletions_as_well(move: Move) -> None:
    provide_service(move.source)
    move.run()
    move.source.put(*LIST, name="Newer", count=4)
    move.source.remove(*WEBHOOK)
    move.source.s3.delete_object(Bucket=move.source.bucket, Key="lists/1/news/1/0")
    move.source.s3.put_object(Bucket=move.source.bucket, Key="lists/1/news/2/0", Body=b"new")
    move.run()
    assert move.target.read(*LIST) == {"name": "Newer", "count": 4}
    assert move.target.read(*WEBHOOK) is None
    assert move.target.objects() == {"lists/1/news/2/0": b"new"}


def test_what_both_sides_changed_stays_as_the_target_has_it_and_is_named(move: Move) -> None:
    provide_service(move.source)
    move.run()
    move.source.put(*LIST, name="Source", count=4)
    move.target.put(*LIST, name="Target", count=5)
    move.source.remove("suppression", "1#ann@x.test", "p#")
    move.target.put("suppression", "1#ann@x.test", "p#", source="Bounce Rule")
    move.target.put("config", "recipient_list#1#own", "list", name="Own")
    outcome = move.run()
    assert outcome.conflicts == ["config: recipient_list#1#news / list"]
    assert move.target.read(*LIST)["name"] == "Target"
    assert move.target.read("suppression", "1#ann@x.test", "p#") == {"source": "Bounce Rule"}
    assert move.target.read("config", "recipient_list#1#own", "list") == {"name": "Own"}
    (config,) = (total for total in outcome.totals if total.name == "config")
    assert config.more == 1
    assert outcome.is_right


def test_a_key_has_the_later_use_of_both_sides_and_that_is_no_conflict(move: Move) -> None:
    provide_service(move.source)
    move.run()
    for at_source, at_target, later in ((10_800, 14_400, 14_400), (18_000, 14_400, 18_000)):
        former = move.source.read(*KEY)
        move.source.put(*KEY, **former | {"last_used": at_source})
        move.target.put(*KEY, **move.target.read(*KEY) | {"last_used": at_target})
        outcome = move.run()
        assert outcome.is_right
        assert move.target.read(*KEY) == former | {"last_used": later}
    assert not any("key#ab" in line for line in move.lines)


def test_a_change_or_the_deletion_of_a_key_reaches_a_target_that_uses_it(move: Move) -> None:
    provide_service(move.source)
    move.run()
    move.target.put(*KEY, **move.target.read(*KEY) | {"last_used": 14_400})
    move.source.put(*KEY, label="Shop", expires_ms=1000)
    move.run()
    assert move.target.read(*KEY) == {"label": "Shop", "expires_ms": 1000, "last_used": 14_400}
    move.source.remove(*KEY)
    move.run()
    assert move.target.read(*KEY) is None


def test_a_use_at_the_source_does_not_bring_back_a_key_that_the_target_deleted(move: Move) -> None:
    provide_service(move.source)
    move.run()
    move.target.remove(*KEY)
    move.source.put(*KEY, **move.source.read(*KEY) | {"last_used": 14_400})
    move.run()
    assert move.target.read(*KEY) is None


def test_what_the_target_deleted_does_not_come_back(move: Move) -> None:
    provide_service(move.source)
    move.run()
    move.target.remove(*LIST)
    move.source.put(*LIST, name="Changed", count=9)
    outcome = move.run()
    assert move.target.read(*LIST) is None
    (config,) = (total for total in outcome.totals if total.name == "config")
    assert (config.missing, config.deleted) == (0, 1)
    assert outcome.is_right


def test_scheduled_work_is_handed_over_only_when_the_source_rests(move: Move) -> None:
    provide_service(move.source)
    waits = ("transmissions", "transmission#9", "transmission")
    fields = {"owner": "account#1/scheduled", "owner_key": "9", "state": "submitted"}
    due = ("config", "due#transmissions", "0001#9")
    delta = ("metrics", "pending", "0000000001#1delta#5#x")
    move.source.put(*waits, **fields)
    move.source.put(*due, data={"id": "9"})
    move.source.put(*delta, data=b"counts")
    move.source.is_idle = False
    outcome = move.run()
    assert (outcome.scheduled, outcome.transferred) == (3, 0)
    assert move.target.read(*waits) is None
    move.source.is_idle = True
    outcome = move.run()
    assert (outcome.scheduled, outcome.transferred) == (0, 3)
    assert outcome.is_complete
    assert move.target.read(*due) == {"data": {"id": "9"}}
    assert move.target.read(*waits) == fields
    assert move.target.read(*delta) == {"data": b"counts"}
    assert [move.source.read(*each) for each in (waits, due, delta)] == [None, None, None]


def test_scheduled_work_stays_while_messages_are_under_way(move: Move) -> None:
    url = move.source.sqs.create_queue(QueueName="postfinch-machine-delivery")["QueueUrl"]
    move.source.sqs.send_message(QueueUrl=url, MessageBody="a message")
    move.source.put("config", "due#transmissions", "0001#9", data={})
    outcome = move.run()
    assert outcome.under_way == {"delivery": 1}
    assert (outcome.scheduled, outcome.transferred) == (1, 0)
    assert not outcome.is_right
    move.source.is_idle = False
    assert move.run().is_right  # it will finish it


def test_a_loss_at_the_target_is_counted(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    provide_service(move.source)
    compare = totals.compare

    def lose(sides: Any) -> Any:
        move.target.remove(*LIST)
        return compare(sides)

    monkeypatch.setattr(totals, "compare", lose)
    outcome = move.run()
    (config,) = (total for total in outcome.totals if total.name == "config")
    assert config.missing == 1
    assert not outcome.is_right


def test_what_comes_to_the_source_meanwhile_is_counted_as_new(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = totals.compare

    def add(sides: Any) -> Any:
        move.source.put(*LIST, name="Late", count=1)
        return compare(sides)

    monkeypatch.setattr(totals, "compare", add)
    outcome = move.run()
    assert sum(total.new for total in outcome.totals) == 1
    assert not outcome.is_complete


def test_what_has_expired_is_not_moved(move: Move) -> None:
    move.source.put(*VALUES, days={"01"}, expires=5)
    assert move.run().is_complete
    assert move.target.read(*VALUES) is None


def test_a_secret_that_the_source_cannot_open_ends_the_move(move: Move) -> None:
    move.source.put(*WEBHOOK, sealed=b"x" * 40, version=1)
    with pytest.raises(MoveRefused, match="webhook/w1"):
        move.run()


ANN = ("config", "user#ann", "user")
COUNT = ("config", "account#1/administrators", "count")


def put_user(place: FakePlace, name: str, role: str = "admin", status: str = "active") -> None:
    place.put(
        *("config", f"user#{name}", "user"),
        **{"id": name, "account_id": 1, "email": f"{name}@acme.test"},
        **{"role": role, "status": status, "password": "$argon2id$hash", "recovery": ["digest"]},
        **{"totp": place.sealer.seal(b"secret", f"user#{name}"), "totp_pending": b""},
        passkeys=[{"id": "key", "public_key": "public", "sign_count": 4, "name": "Laptop"}],
    )
    place.put("config", f"email#{name}@acme.test", "user", user_id=name)


def test_users_arrive_with_factors_and_lines_of_the_log_and_nobody_is_signed_in(move: Move) -> None:
    put_user(move.source, "ann")
    move.source.put(*COUNT, count=1)
    move.source.put("config", "user#ann", "session#cookie", user_id="ann")
    move.source.put("config", "attempts#address#x", "attempts", level=3)
    move.source.put("audit", "1#2026-11", "0000000000001#l1", id="l1", changes="{}")
    outcome = move.run()
    assert (outcome.is_right, outcome.is_complete) == (True, True)
    user, original = move.target.read(*ANN), move.source.read(*ANN)
    assert move.target.sealer.open(user.pop("totp"), "user#ann") == b"secret"
    del original["totp"]
    assert user == original
    assert move.target.read("config", "email#ann@acme.test", "user") == {"user_id": "ann"}
    assert move.target.read("audit", "1#2026-11", "0000000000001#l1")["id"] == "l1"
    assert move.target.read(*COUNT) == {"count": 1}
    assert move.target.read("config", "user#ann", "session#cookie") is None
    assert move.target.read("config", "attempts#address#x", "attempts") is None


def test_administrators_of_both_sides_are_counted_and_sessions_of_the_target_stay(
    move: Move,
) -> None:
    for name in ("ann", "ben", "cleo"):
        put_user(move.source, name)
    put_user(move.source, "dan", role="developer")
    put_user(move.source, "eve", status="invited")
    move.source.put(*COUNT, count=3)
    move.run()
    assert move.target.read(*COUNT) == {"count": 3}
    move.target.put("config", "user#ann", "session#new", user_id="ann")
    # Both sides make a change, and the target's number is off
    put_user(move.source, "ben", status="disabled")
    put_user(move.target, "cleo", role="developer")
    put_user(move.target, "fay")
    move.target.put(*COUNT, count=9)
    assert move.run().is_right
    assert move.target.read(*COUNT) == {"count": 2}
    assert move.target.read("config", "user#ann", "session#new") is not None


def test_an_account_that_loses_its_administrators_has_none_counted(move: Move) -> None:
    put_user(move.source, "ann", role="developer")
    move.source.put(*COUNT, count=0)
    move.run()
    assert move.target.read(*COUNT) == {"count": 0}


@pytest.mark.parametrize("after", [False, True])
def test_a_move_that_is_killed_at_any_request_goes_on_and_counts_nothing_twice(
    move: Move, after: bool
) -> None:
    provide_service(move.source)
    move.source.put("config", "due#transmissions", "0001#9", data={"id": "9"})
    expected = content(move.source)
    empty = fake_cloud.tables()
    last = 0
    while True:
        last += 1
        was_killed = move.killed(last, after=after)
        outcome = move.run()
        assert outcome.is_complete
        assert content(move.target) == expected
        if not was_killed:
            break
        fake_cloud.restore_tables(empty)
        for file in move.path.parent.iterdir():
            file.unlink()
        move.target.s3.delete_object(Bucket=move.target.bucket, Key="lists/1/news/1/0")
    assert last > (10 if after else 40)


@pytest.mark.parametrize("after", [False, True])
def test_the_second_pass_that_is_killed_at_any_request_adds_nothing_twice(
    move: Move, after: bool
) -> None:
    provide_service(move.source)
    move.run()
    copied = {file.name: file.read_bytes() for file in move.path.parent.iterdir()}
    move.source.add(*DAY, sent=5)
    move.target.add(*DAY, sent=100)
    move.source.put(*USAGE, hour=10, used=7, past=[1, 2], earlier=0, last=1.6)
    move.target.put(*USAGE, hour=10, used=6, past=[1, 2], earlier=0, last=9.5)
    move.source.put(*LIST, name="Newer", count=4)
    tables = fake_cloud.tables()
    last = 0
    while True:
        last += 1
        was_killed = move.killed(last, after=after)
        move.run()
        assert move.target.read(*DAY)["sent"] == 115
        assert move.target.read(*USAGE)["used"] == 8
        assert move.target.read(*LIST)["name"] == "Newer"
        if not was_killed:
            break
        fake_cloud.restore_tables(tables)
        for file in move.path.parent.iterdir():
            file.unlink()
        for name, data in copied.items():
            (move.path.parent / name).write_bytes(data)
    assert last > (3 if after else 30)
