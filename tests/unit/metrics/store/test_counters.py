from __future__ import annotations

import pytest

from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed
from chalicelib.core.settings import settings
from chalicelib.metrics.delta import Cell, Delta
from chalicelib.metrics.levels import DAY, HOUR, MINUTE, Span
from chalicelib.metrics.model import DIMENSIONS
from chalicelib.metrics.store import counters
from tests.unit.metrics.examples import mail

NOON = 29_540_000 // 1440 * 1440 + 720


def cell(facet: str = "", label: str = "", **fields: str) -> Cell:
    base = mail(1, **fields).base  # type: ignore[arg-type]
    delta = Delta()
    delta.add({**base, "type": "injection", "timestamp": NOON * 60_000})
    ((cell, _),) = delta.cells()
    return cell._replace(facet=facet, label=label)


def test_a_message_is_counted_in_every_dimension_at_each_level() -> None:
    counter_list = list(counters.counters_of(1, cell(campaign="spring")))
    partitions = [counter.pk.split("#") for counter in counter_list]
    assert {parts[0] for parts in partitions} == {"1"}
    for level in (MINUTE, HOUR, DAY):
        names = [parts[1] for parts in partitions if parts[2] == level.name]
        assert names == ["all", *(each.name for each in DIMENSIONS), "tuples"]
    assert len(set(counter_list)) == 3 * (len(DIMENSIONS) + 2)


def test_a_facet_is_counted_by_its_label_and_in_combinations() -> None:
    counter_list = list(counters.counters_of(1, cell("delay", "452 full")))
    assert {counter.pk.split("#")[1] for counter in counter_list} == {"delay", "delay-tuples"}
    assert len(counter_list) == 6


def test_a_counter_expires_after_the_metrics_retention() -> None:
    for counter in counters.counters_of(1, cell()):
        level = next(each for each in (MINUTE, HOUR, DAY) if f"#{each.name}#" in counter.pk)
        end = (NOON // level.minutes + 1) * level.minutes * 60
        assert counter.expires == end + settings().metrics_retention


@pytest.mark.parametrize("value", ["spring", "", "a#b", "é" * 32, "é" * 200, "a\nb", "~"])
def test_any_value_can_be_read_back_from_its_counter(value: str) -> None:
    (counter,) = (
        each
        for each in counters.counters_of(1, cell(campaign=value))
        if each.pk.startswith("1#campaign#minute#")
    )
    item = {"pk": counter.pk, "sk": counter.sk} | (
        {"label": counter.label} if counter.label else {}
    )
    assert counters.value_of(item) == value
    assert counters.bucket_of(item, combined=False) == NOON
    assert len(counter.sk.encode()) <= 1024
    assert (counter.pk, counter.sk) == counters.key_of(1, "campaign", MINUTE, NOON, value)
    first, last = counters.bucket_range(Span(MINUTE, NOON, NOON + 1))
    assert first < counter.sk < last
    for other in (Span(MINUTE, NOON + 1, NOON + 9), Span(MINUTE, NOON - 9, NOON)):
        first, last = counters.bucket_range(other)
        assert not first <= counter.sk <= last


@pytest.mark.parametrize("campaign", ["spring", "", "a#b", "é" * 200, "a\nb", "~", "\0", "\t"])
def test_combinations_of_a_campaign_are_in_one_range_of_keys(campaign: str) -> None:
    (counter,) = (
        each
        for each in counters.counters_of(1, cell(campaign=campaign))
        if each.pk.startswith("1#tuples#hour#")
    )
    hour = NOON // 60
    assert counters.bucket_of({"sk": counter.sk}, combined=True) == hour
    first, last = counters.campaign_range(campaign, Span(HOUR, hour, hour + 1))
    assert first < counter.sk < last
    elsewhere = [
        (campaign, Span(HOUR, hour + 1, hour + 9)),
        (campaign, Span(HOUR, hour - 9, hour)),
        (campaign + "x", Span(HOUR, hour, hour + 1)),
        ("w" + campaign, Span(HOUR, hour, hour + 1)),
    ]
    for other, span in elsewhere:
        first, last = counters.campaign_range(other, span)
        assert not first <= counter.sk <= last


@pytest.mark.usefixtures("cloud")
def test_each_rollup_is_added_to_a_counter_once() -> None:
    cells = [(cell("delay", "452 full"), {"y": 2, "y1": 1})]
    dynamo.transact(list(counters.additions(1, cells, 5)))
    for seq in (5, 4):
        with pytest.raises(TransactionFailed):
            dynamo.transact(list(counters.additions(1, cells, seq)))
    dynamo.transact(list(counters.additions(1, cells, 6)))
    pk = counters.partition(1, "delay", DAY, NOON // 1440 // DAY.together)
    (item,) = counters.table.query_all("#pk = :pk", {"pk": pk})
    assert counters.counts_of(item) == {"y": 4, "y1": 2}
    assert item["seq"] == 6


def test_cells_of_one_counter_are_added_up_before_they_are_written() -> None:
    one, other = cell(domain="a.test"), cell(domain="b.test")
    writes = list(counters.additions(1, [(one, {"i": 1}), (other, {"i": 2})], 1))
    keys = [str(write.arguments["Key"]) for write in writes]
    assert len(keys) == len(set(keys))
    assert len(writes) == 3 * (len(DIMENSIONS) + 2 + 2)
