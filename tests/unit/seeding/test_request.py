from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.seeding.model import Config
from chalicelib.seeding.request import changed_config, new_config
from chalicelib.seeding.view import config_view

MATCHING = Config(2000, 40, 48, match=("a", "b*"))


def faults(body: Any, config: Config | None = None) -> list[str]:
    with pytest.raises(ServiceError) as error_info:
        changed_config(config or Config(), body)
    assert error_info.value.status == 422
    return [error["message"] for error in error_info.value.errors]


@pytest.mark.parametrize(
    ("name", "least", "greatest"),
    [
        pytest.param("threshold", 1000, 1_000_000, marks=pytest.mark.spec("2.12-t1")),
        pytest.param("duration", 20, 720, marks=pytest.mark.spec("2.12-t2")),
        pytest.param("reset", 22, 168, marks=pytest.mark.spec("2.12-t3")),
    ],
)
@pytest.mark.spec("8-t14")
def test_numbers_have_ranges(name: str, least: int, greatest: int) -> None:
    for number in (least, greatest):
        assert getattr(new_config({name: number, "match": ["a"]}), name) == number
    messages = [f"{name} must be an integer from {least} to {greatest}"]
    for bad in (least - 1, greatest + 1, str(least), float(least), True, [], -1):
        assert faults({name: bad, "match": ["a"]}) == messages


def test_null_counts_as_missing() -> None:
    body = {"threshold": None, "match": ["a"], "exclude": None}
    assert new_config(body) == Config(match=("a",))


@pytest.mark.parametrize("body", [{}, {"match": []}, {"match": None, "exclude": []}])
def test_rules_are_required_where_there_are_none(body: Any) -> None:
    assert faults(body) == ["one of match and exclude is required"]


def test_rules_of_both_kinds_exclude_each_other() -> None:
    messages = ["match and exclude are mutually exclusive"]
    assert faults({"match": ["a"], "exclude": ["b"]}) == messages
    assert faults({"match": ["a"], "exclude": ["b"]}, MATCHING) == messages


@pytest.mark.spec("2.12-t4")
@pytest.mark.spec("2.12-t5")
@pytest.mark.spec("8-t14")
@pytest.mark.parametrize("name", ["match", "exclude"])
def test_five_rules_are_the_most(name: str) -> None:
    rules = [f"r{number}-*" for number in range(5)]
    assert getattr(new_config({name: rules}), name) == tuple(rules)
    assert faults({name: [*rules, "x"]}) == [f"too many {name} rules: found 6, max is 5"]


@pytest.mark.parametrize("bad", ["a", {"a": 1}, [1], [""], [None], ["x" * 66], ["ü" * 33]])
def test_rules_are_an_array_of_campaign_ids(bad: Any) -> None:
    assert faults({"match": bad}) == ["match must be an array of campaign ids or prefixes"]


def test_every_fault_is_reported() -> None:
    assert len(faults({"threshold": 1, "duration": "x", "reset": 0, "match": [1]})) == 4


@pytest.mark.parametrize("body", [None, [], "a", 1])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    with pytest.raises(ServiceError) as error_info:
        new_config(body)
    assert error_info.value.status == 422


def test_a_change_keeps_the_other_fields() -> None:
    assert changed_config(MATCHING, {}) == MATCHING
    assert changed_config(MATCHING, {"reset": 22}) == Config(2000, 40, 22, match=("a", "b*"))
    assert changed_config(MATCHING, {"match": ["c"]}) == Config(2000, 40, 48, match=("c",))


def test_rules_of_one_kind_replace_those_of_the_other() -> None:
    changed = changed_config(MATCHING, {"exclude": ["c"], "match": []})
    assert changed == Config(2000, 40, 48, exclude=("c",))


def test_a_config_as_it_is_shown_can_be_sent_back() -> None:
    assert changed_config(Config(), config_view(MATCHING)) == MATCHING
