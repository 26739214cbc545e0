from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.core import audit, clock, dynamo
from chalicelib.core.audit import Author
from chalicelib.core.dynamo import AnyItem, Table, TransactionFailed
from chalicelib.core.request import Actor
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key

pytestmark = pytest.mark.usefixtures("cloud")

AUTHOR = Author(1, Actor("key", "k1", "Website"), "PUT", "/api/v1/things/{id}", "things")
config: Table[AnyItem] = Table("config")
audit_table: Table[AnyItem] = Table("audit")


def lines(account: int = 1) -> list[Any]:
    key = {"pk": audit.partition(account, clock.now_ms())}
    return list(audit_table.query_all("#pk = :pk", key))


def write(condition: str = "") -> dynamo.Write:
    return dynamo.put(config, {"pk": "thing", "sk": "thing"}, condition=condition)


def test_a_line_is_written_with_its_change() -> None:
    with audit.bound(AUTHOR):
        audit.commit(write(), audit.line("t1", {"name": "a", "size": 1}, {"name": "b", "size": 1}))
    (line,) = lines()
    assert json.loads(line["changes"]) == {"name": {"from": "a", "to": "b"}}
    assert (line["actor_type"], line["actor_id"], line["actor_label"]) == AUTHOR.actor
    assert (line["resource"], line["resource_id"], line["outcome"]) == ("things", "t1", "done")


def test_there_is_no_line_where_the_change_fails() -> None:
    with audit.bound(AUTHOR), pytest.raises(TransactionFailed):
        audit.commit(write("attribute_exists(#pk)"), audit.line("t1", None, {"name": "b"}))
    assert lines() == []


def test_there_is_no_line_where_nobody_is_bound() -> None:
    audit.commit(write(), audit.line("t1", None, {"name": "b"}))
    assert lines() == []
    assert config.get("thing", "thing")


def test_secrets_are_left_out_and_long_values_are_cut() -> None:
    after = {
        "password": "hunter2",  # pragma: allowlist secret
        "auth": {"token": "abc", "type": "basic"},  # pragma: allowlist secret
        "text": "x" * 10_000,
        "many": list(range(1000)),
    }
    changes = audit.differences(None, after)
    assert changes["password"] == {"from": None, "to": audit.HIDDEN}
    assert changes["auth"]["to"] == {"token": audit.HIDDEN, "type": "basic"}
    assert len(changes["text"]["to"]) <= audit.MOST_TEXT + 1
    assert len(changes["many"]["to"]) == audit.MOST_ENTRIES + 1
    assert "hunter2" not in json.dumps(changes)


def test_a_change_that_the_grant_does_not_allow_is_a_line_and_reading_is_none() -> None:
    make_account()
    key = make_key(grants=["account/view"])
    assert key.get("/api/v1/templates/t1").status == 403
    assert key.delete("/api/v1/templates/t1").status == 403
    (line,) = lines()
    assert (line["outcome"], line["action"], line["resource"]) == ("refused", "DELETE", "templates")
    assert (line["resource_id"], line["ip"]) == ("t1", "192.0.2.1")


def test_lines_of_one_moment_keep_their_order() -> None:
    names = [f"t{number}" for number in range(50)]
    with moving_clock(1_800_000_000.0):
        for name in names:
            audit.note(name, of=AUTHOR)
        assert [line["resource_id"] for line in lines()] == names
