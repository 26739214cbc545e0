from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.dynamo.codec import encode_item
from chalicelib.core.json_types import Json
from infrastructure.machine.moving.kinds import Kind, rule_of
from infrastructure.machine.moving.merge import (
    Action,
    Decision,
    counter_change,
    decide,
    merged_record,
    merged_usage,
)

COUNTS = st.dictionaries(st.sampled_from(["sent", "opened", "bounced"]), st.integers(0, 99))
PLAIN = st.dictionaries(st.sampled_from(["name", "count"]), st.integers(0, 2))
DIGESTS = st.lists(st.binary(min_size=6, max_size=6), max_size=6, unique=True)
WINDOWS = st.fixed_dictionaries(
    {
        "hour": st.integers(500_000, 500_030),
        "used": st.integers(0, 99),
        "past": st.lists(st.integers(0, 99), min_size=23, max_size=23),
        "earlier": st.integers(0, 999),
        "last": st.just(1.5),
    }
)


def item(**attributes: Any) -> Json:
    return encode_item({"pk": "1#all#day#203", "sk": "020\n", **attributes})


def applied(change: Any, target: Json) -> Json:
    """Return an item as DynamoDB would have it after a change."""
    result = {**change.first, **target, **change.sets}
    for name, number in change.additions.items():
        before = int(target[name]["N"]) if name in target else 0
        result[name] = {"N": str(before + int(number))}
    return result


@given(COUNTS, COUNTS, COUNTS)
def test_nothing_that_a_side_counted_is_lost_or_counted_twice(
    base: dict[str, int], more: dict[str, int], at_target: dict[str, int]
) -> None:
    names = base.keys() | more.keys() | at_target.keys()
    source = {name: base.get(name, 0) + more.get(name, 0) for name in base.keys() | more.keys()}
    target = {
        name: base.get(name, 0) + at_target.get(name, 0) for name in base.keys() | at_target.keys()
    }
    rule = rule_of("metrics", item())
    change = counter_change(rule, item(**base), item(**source))
    merged = applied(change, item(**target))
    for name in names:
        total = base.get(name, 0) + more.get(name, 0) + at_target.get(name, 0)
        assert int(merged.get(name, {"N": "0"})["N"]) == total


@given(COUNTS)
def test_a_counter_that_the_target_lacks_becomes_that_of_the_source(counts: dict[str, int]) -> None:
    source = item(**counts, expires=5, label="a")
    change = counter_change(rule_of("metrics", source), None, source)
    assert applied(change, item()) == source


@given(st.none() | PLAIN, st.none() | PLAIN, st.none() | PLAIN)
def test_a_plain_item_is_the_one_of_the_side_that_changed_it(
    base: dict[str, int] | None, source: dict[str, int] | None, target: dict[str, int] | None
) -> None:
    images = [None if each is None else item(**each) for each in (base, source, target)]
    decision = decide(Kind.PLAIN, None, images[1], images[2], same=lambda image: image == images[0])
    result = images[2]
    if decision.action is Action.WRITE:
        result = decision.image
    if decision.action is Action.DELETE:
        result = None
    if images[2] == images[0] and base is not None:
        assert result == images[1]  # only the source may have changed it
    elif images[1] == images[0]:
        assert result == images[2]  # only the target has
    assert (decision.action is Action.CONFLICT) == (
        source is not None and target is not None and target not in (source, base)
    )


@given(DIGESTS, DIGESTS)
def test_a_merged_record_knows_the_events_of_both_sides_once(
    source: list[bytes], target: list[bytes]
) -> None:
    merged = merged_record(
        item(known=b"".join(source), version=1), item(known=b"".join(target), version=7)
    )
    events = merged["known"]["B"]
    digests = [events[start : start + 6] for start in range(0, len(events), 6)]
    assert sorted(digests) == sorted({*source, *target})
    assert merged["version"] == {"N": "8"}


@given(WINDOWS, st.integers(0, 50))
def test_usage_that_only_the_target_counted_stays(window: dict[str, Any], more: int) -> None:
    base = item(**window)
    target = item(**{**window, "used": window["used"] + more})
    assert merged_usage(base, base, target) == target


@given(WINDOWS, st.integers(1, 50))
def test_usage_of_the_source_is_added(window: dict[str, Any], more: int) -> None:
    base = item(**window)
    source = item(**{**window, "used": window["used"] + more})
    merged = merged_usage(base, source, base)
    assert merged == source


def test_a_decision_without_an_image_writes_nothing() -> None:
    decision = decide(Kind.PLAIN, None, item(a=1), None, same=lambda _: False)
    assert decision == Decision(Action.GONE)
