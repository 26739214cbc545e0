from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.local.cloud import base_file
from infrastructure.local.cloud.base_file import BaseFile
from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.item_file import ItemFile
from infrastructure.local.cloud.items import Items

NAME = ("account", "region", "table")
OTHER = ("account", "region", "other")
DOCUMENT = Change(("document", "dynamodb", "tables"), b"{}")
KEYS = st.sampled_from(["a", "b", "ü", "\ud800"])
VALUES = st.text(alphabet="xyü", max_size=90)
MODEL = dict[str, dict[str, Any]]


def item(pk: str, sk: str, value: str = "", expires: int = 0, name: Any = NAME) -> Change:
    return Change(("item", *name, pk, sk), json.dumps({"S": value}).encode(), expires)


def opened(directory: Path, changes: list[Change]) -> dict[Any, Items]:
    """Write a base with changes; return the tables that it has."""
    base_file.write(directory / "base", changes)
    base, file = BaseFile(directory / "base"), ItemFile(directory)
    assert list(base.changes()) == [each for each in changes if each.path[0] != "item"]
    file.base_descriptor = base.descriptor
    return {name: Items(name, file, table) for name, table in base.tables.items()}


def contents(items: Items) -> MODEL:
    return {pk: dict(partition) for pk, partition in items.items()}


def of_changes(items: Items) -> MODEL:
    model: MODEL = {}
    for path, value, _ in items.changes():
        assert value is not None
        model.setdefault(path[4], {})[path[5]] = json.loads(value)
    return model


@pytest.mark.parametrize("one_digest", [False, True])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    first=st.lists(
        st.tuples(KEYS, KEYS, VALUES), min_size=1, max_size=12, unique_by=lambda each: each[:2]
    ),
    changed=st.lists(st.tuples(KEYS, KEYS, st.none() | VALUES), max_size=8),
)
def test_a_table_reads_as_a_dict_of_dicts_whatever_is_in_the_base(
    one_digest: bool, first: list[Any], changed: list[Any], tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if one_digest:
            patch.setattr(base_file, "_digest", lambda pk: 7)
        items = opened(tmp_path, [DOCUMENT, *(item(*each) for each in first)])[NAME]
        model: MODEL = {}
        for pk, sk, value in first:
            model.setdefault(pk, {})[sk] = {"S": value}
        assert contents(items) == of_changes(items) == model
        for pk, sk, value in changed:
            assert (items.get(pk) or {}).get(sk) == model.get(pk, {}).get(sk)
            if value is None:
                items.discard(pk, sk)
                model.get(pk, {}).pop(sk, None)
                model = {pk: each for pk, each in model.items() if each}
            else:
                items.put(pk, sk, json.dumps({"S": value}).encode(), 0)
                items._file.flush()
                model.setdefault(pk, {})[sk] = {"S": value}
        assert sorted(items) == sorted(items.keys()) == sorted(model)
        assert len(items) == len(model)
        assert all((pk in items) == (pk in model) for pk in ("a", "b", "ü"))
        assert contents(items) == of_changes(items) == model
        assert items.count() == sum(map(len, model.values()))
        assert {pk: dict(each) for pk, each in dict(items).items()} == model


def test_only_partitions_that_are_used_are_in_memory(tmp_path: Path) -> None:
    items = opened(tmp_path, [item(str(number), "s") for number in range(2_000)])[NAME]
    assert items.get("7") is items["7"]
    assert items.get("none") is None
    assert len(list(items.values())) == 2_000
    assert dict.__len__(items) == 1
    assert items.pop("8")["s"] == {"S": ""}
    assert "8" not in items
    assert items.setdefault("9", {})["s"] == {"S": ""}
    assert dict.__len__(items) == 2


def test_a_partition_larger_than_a_record_is_read_as_a_whole(tmp_path: Path) -> None:
    changes = [item("p", f"{number:04}", "x" * 3_000) for number in range(1_000)]
    items = opened(tmp_path, [*changes, item("q", "s", name=OTHER)])
    assert list(items[NAME].get("p")) == [f"{number:04}" for number in range(1_000)]
    assert contents(items[OTHER]) == {"q": {"s": {"S": ""}}}
    assert list(items[NAME].changes()) == changes


def test_items_are_where_the_index_says_whatever_is_written_between_them(tmp_path: Path) -> None:
    document = DOCUMENT._replace(value=b"x" * 300_000)
    changes = [
        each
        for n in range(20)
        for each in (item("p", str(n), "x" * 9), item(str(n), "s"), document)
    ]
    items = opened(tmp_path, changes)[NAME]
    assert contents(items)["p"] == {str(n): {"S": "x" * 9} for n in range(20)}
    assert len(items) == 21


def test_items_of_the_base_that_have_expired_are_not_read(tmp_path: Path) -> None:
    now = int(time.time())
    changes = [item("p", str(expires), "", expires) for expires in (0, now - 5, now + 5_000)]
    changes.append(item("q", "s", "", now - 5))
    items = opened(tmp_path, changes)[NAME]
    assert {change.expires for change in items.changes()} == {0, now + 5_000}
    assert items.get("q") is None
    assert list(items.get("p")) == ["0", str(now + 5_000)]


def test_items_of_the_base_expire_at_the_time_of_a_sweep(tmp_path: Path) -> None:
    later = int(time.time()) + 5_000
    items = opened(tmp_path, [item("p", "s", "", later), item("q", "s", "", later + 9)])[NAME]
    assert items.expired(later) == []
    assert contents(items) == {"q": {"s": {"S": ""}}}
    assert items.get("q") is not None
    assert items.expired(later + 9) == [("q", "s")]


def test_a_table_that_is_cleared_has_nothing_of_the_base(tmp_path: Path) -> None:
    items = opened(tmp_path, [item("p", "s")])[NAME]
    items.clear()
    assert items.get("p") is None
    assert items.count() == 0
    assert list(items.changes()) == []
