from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.dynamo.codec import encode_item
from infrastructure.machine.moving.kinds import TABLES, Kind, is_expired, rule_of, without_place
from tests.fake_cloud import declared


def test_all_tables_are_moved() -> None:
    names = {each["TableName"].rpartition("-")[2] for each in declared("AWS::DynamoDB::Table")}
    assert set(TABLES) == names


@pytest.mark.parametrize(
    ("table", "pk", "sk", "kind"),
    [
        ("config", "account#1", "account", Kind.PLAIN),
        ("config", "key#ab", "key", Kind.KEY),
        ("config", "domain#a.test", "domain", Kind.PLAIN),
        ("config", "domain#a.test", "claim", Kind.COUNTER),
        ("config", "ab_test#1#t", "of#1#counts#a", Kind.COUNTER),
        ("config", "ab_test#1#t", "of#1#sample", Kind.COUNTER),
        ("config", "ab_test#1#t", "version#1", Kind.PLAIN),
        ("config", "account#1/subaccounts", "counts", Kind.COUNTER),
        ("config", "account#1/subaccounts/all/by_id", "1", Kind.PLAIN),
        ("config", "usage#1#0", "usage", Kind.USAGE),
        ("config", "usage#1#share#3", "usage", Kind.PLAIN),
        ("config", "usage#1#sandbox", "usage", Kind.COUNTER),
        ("config", "due#transmissions", "1#2", Kind.WORK),
        ("config", "due#ip-warmup", "1#2", Kind.PLACE),
        ("config", "sending-ip#192.0.2.1", "sending-ip", Kind.PLACE),
        ("config", "move", "source", Kind.PLACE),
        ("config", "user#ab", "user", Kind.PLAIN),
        ("config", "user#ab", "session#cd", Kind.PLACE),
        ("config", "email#ann@acme.test", "user", Kind.PLAIN),
        ("config", "identity#google#ab", "user", Kind.PLAIN),
        ("config", "attempts#address#ab", "attempts", Kind.PLACE),
        ("config", "resets#ab", "resets", Kind.PLACE),
        ("config", "used-state#ab", "used", Kind.PLACE),
        ("config", "account#1/administrators", "count", Kind.PLACE),
        ("audit", "1#2026-11", "1795089600000#ab", Kind.PLAIN),
        ("config", "counter#subaccounts", "counter", Kind.HIGHEST),
        ("messages", "transmission#1#0", "ledger#00000000", Kind.RECORD),
        ("messages", "messages#1#ab", "ledger", Kind.RECORD),
        ("messages", "transmission#1", "facts#00000000", Kind.PLAIN),
        ("messages", "transmission#1#0", "sent#u#1", Kind.PLACE),
        ("messages", "held#path", "1#u", Kind.PLACE),
        ("metrics", "1#all#day#5", "001\n", Kind.COUNTER),
        ("metrics", "1#campaign#hour#5", "001\nsummer\n#values", Kind.COUNTER),
        ("metrics", "1#values#campaign#203001", "summer", Kind.MEMBERS),
        ("metrics", "pending", "0000000001#0fold", Kind.PLACE),
        ("metrics", "pending", "0000000001#1delta#1#x", Kind.WORK),
        ("metrics", "inline-seeds#1", "campaign#0#a#b", Kind.COUNTER),
        ("metrics", "inline-seeds#1", "run#1", Kind.PLAIN),
        ("suppression", "1#counts", "0#3", Kind.COUNTER),
        ("suppression", "1#ann@counts", "0#", Kind.PLAIN),
    ],
)
def test_kinds_follow_from_keys(table: str, pk: str, sk: str, kind: Kind) -> None:
    assert rule_of(table, encode_item({"pk": pk, "sk": sk})).kind is kind


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"owner": "account#1/scheduled", "state": "submitted"}, Kind.WORK),
        ({"owner": "account#1/scheduled", "state": "success"}, Kind.PLAIN),
        ({"owner": "account#1/transmissions", "state": "submitted"}, Kind.PLAIN),
        ({"state": "submitted"}, Kind.PLAIN),
    ],
)
def test_a_transmission_is_work_until_it_starts(fields: dict[str, Any], kind: Kind) -> None:
    item = encode_item({"pk": "transmission#1", "sk": "transmission", **fields})
    assert rule_of("transmissions", item).kind is kind


def test_only_numbers_that_are_counts_are_added() -> None:
    rule = rule_of("metrics", encode_item({"pk": "1#all#day#5", "sk": "001\n"}))
    assert [rule.is_number(name) for name in ("sent", "expires")] == [True, False]
    claim = rule_of("config", encode_item({"pk": "domain#a.test", "sk": "claim"}))
    assert [claim.is_number(name) for name in ("below", "below_12", "holder")] == [
        True,
        True,
        False,
    ]


def test_sending_ips_stay_and_pools_go() -> None:
    fleet = {"pk": "account#1/ip-pools", "sk": "fleet", "pools": [{"id": "a"}], "ips": [{"x": 1}]}
    image = without_place(Kind.PLAIN, encode_item(fleet))
    assert image == encode_item(fleet | {"ips": []})


def test_an_item_counts_until_it_expires() -> None:
    item = encode_item({"pk": "a", "sk": "b", "expires": 100})
    assert [is_expired(item, now) for now in (99.0, 100.0)] == [False, True]
