from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from chalicelib.events.documentation import RELAYED
from chalicelib.metrics.counting import (
    ATTEMPTS,
    BOUNCES,
    DELAYS,
    LINKS,
    MAIN,
    REJECTIONS,
    counts_of,
    marks,
)
from chalicelib.metrics.model import EVENT_COUNTERS, METRICS, PLACEMENTS, metric
from tests.unit.metrics.examples import mail

MACHINE = {"user_agent_parsed": {"is_prefetched": True}}
SHOP = {"target_link_name": "Shop", "target_link_url": "https://b.test"}


def metrics_of(kind: str, first: Collection[str] | None = None, **fields: Any) -> dict[str, int]:
    """Return an event's metrics that are not 0; ``first`` holds its new marks, by default all."""
    event = mail(1).event(kind, 0, **fields)
    new = marks(event) if first is None else first
    (counts,) = (counts for facet, _, counts in counts_of(event, new) if facet == MAIN)
    return {name: number for name in METRICS if (number := metric(name, counts))}


def facets(kind: str, **fields: Any) -> dict[str, tuple[str, dict[str, int]]]:
    """Return the label and the counts of one event for each facet."""
    event = mail(1).event(kind, 0, **fields)
    counts = counts_of(event, marks(event))
    return {facet: (label, counts) for facet, label, counts in counts if facet != MAIN}


def test_an_accepted_message_counts_as_injected_and_targeted() -> None:
    assert metrics_of("injection") == {"count_injected": 1, "count_targeted": 1}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("policy_rejection", "count_policy_rejection"),
        ("generation_failure", "count_generation_failed"),
        ("generation_rejection", "count_generation_rejection"),
    ],
)
def test_a_rejected_message_counts_as_targeted_but_not_as_injected(kind: str, name: str) -> None:
    assert metrics_of(kind, reason="554 no") == {name: 1, "count_rejected": 1, "count_targeted": 1}
    assert facets(kind, reason="554 no") == {
        REJECTIONS: (f'["554 no","{kind}"]', {EVENT_COUNTERS[kind]: 1})
    }


def test_a_delivery_counts_its_bytes_and_its_time_in_the_queue() -> None:
    common = {"count_delivered": 1, "count_sent": 1, "count_accepted": 1, "total_msg_volume": 1000}
    first = {"count_delivered_first": 1, "total_delivery_time_first": 70}
    later = {"count_delivered_subsequent": 1, "total_delivery_time_subsequent": 70}
    assert metrics_of("delivery", num_retries="0", queue_time="70") == common | first
    assert metrics_of("delivery", num_retries="2", queue_time="70") == common | later


@pytest.mark.parametrize(("retries", "attempt"), [("0", "1"), ("1", "2"), ("2", "3+"), ("9", "3+")])
def test_deliveries_are_counted_by_attempt(retries: str, attempt: str) -> None:
    assert facets("delivery", num_retries=retries) == {ATTEMPTS: (attempt, {"d": 1})}


def test_delays_of_the_first_attempt_are_also_counted_separately() -> None:
    assert metrics_of("delay", num_retries="0") == {"count_delayed": 1, "count_delayed_first": 1}
    assert metrics_of("delay", num_retries="1") == {"count_delayed": 1}
    assert facets("delay", num_retries="0", reason="452 full") == {
        DELAYS: ("452 full", {"y": 1, "y1": 1})
    }


@pytest.mark.parametrize(
    ("number", "name"),
    [
        ("10", "count_hard_bounce"),
        ("22", "count_soft_bounce"),
        ("51", "count_block_bounce"),
        ("25", "count_admin_bounce"),
        ("1", "count_undetermined_bounce"),
        ("999", "count_undetermined_bounce"),
        ("", "count_undetermined_bounce"),
    ],
)
def test_bounces_are_counted_by_category(number: str, name: str) -> None:
    in_band = metrics_of("bounce", bounce_class=number)
    assert in_band == {name: 1, "count_bounce": 1, "count_inband_bounce": 1, "count_sent": 1}
    out_of_band = metrics_of("out_of_band", bounce_class=number)
    assert out_of_band == {
        name: 1,
        "count_bounce": 1,
        "count_outofband_bounce": 1,
        "count_accepted": -1,
    }


def test_bounces_are_counted_by_reason_and_class() -> None:
    by_facet = facets("bounce", bounce_class="10", reason="550 <r0@x.test> unknown")
    assert by_facet == {BOUNCES: ('["550 <*> unknown",10]', {"b": 1, "bh": 1})}


def test_the_first_opens_of_a_message_are_also_counted_as_unique() -> None:
    assert metrics_of("open") == {
        "count_rendered": 1,
        "count_nonprefetched_rendered": 1,
        "count_unique_rendered": 1,
        "count_nonprefetched_unique_rendered": 1,
        "count_unique_confirmed_opened": 1,
        "count_nonprefetched_unique_confirmed_opened": 1,
    }
    assert metrics_of("open", first=()) == {"count_rendered": 1, "count_nonprefetched_rendered": 1}
    assert metrics_of("initial_open", first=["ui"]) == {
        "count_initial_rendered": 1,
        "count_nonprefetched_initial_rendered": 1,
        "count_unique_initial_rendered": 1,
    }


@pytest.mark.parametrize(
    ("is_prefetched", "is_human"), [(False, True), ("false", True), (None, True), ("true", False)]
)
def test_ingested_events_may_say_is_prefetched_as_text(is_prefetched: Any, is_human: bool) -> None:
    metrics = metrics_of("open", user_agent_parsed={"is_prefetched": is_prefetched})
    assert ("count_nonprefetched_rendered" in metrics) is is_human


def test_a_prefetched_open_does_not_count_as_nonprefetched() -> None:
    assert metrics_of("open", **MACHINE) == {
        "count_rendered": 1,
        "count_unique_rendered": 1,
        "count_unique_confirmed_opened": 1,
    }


def test_a_click_confirms_that_the_message_was_opened() -> None:
    assert metrics_of("click", **SHOP) == {
        "count_clicked": 1,
        "count_unique_clicked": 1,
        "count_unique_confirmed_opened": 1,
        "count_nonprefetched_unique_confirmed_opened": 1,
    }
    assert metrics_of("click", first=(), **SHOP) == {"count_clicked": 1}


def test_clicks_are_counted_by_link_name_and_raw_clicks_once_for_each_link() -> None:
    assert facets("click", **SHOP) == {LINKS: ("Shop", {"c": 1, "rk": 1})}
    event = mail(1).event("click", 0, **SHOP)
    again = [counts for facet, _, counts in counts_of(event, ()) if facet == LINKS]
    assert again == [{"c": 1}]
    other = mail(1).event("click", 0, **SHOP | {"target_link_url": "https://c.test"})
    assert len(set(marks(event)) ^ set(marks(other))) == 2


def test_opens_and_clicks_of_amp_parts_count_but_not_as_rendered() -> None:
    open_metrics = {
        "count_unique_confirmed_opened": 1,
        "count_nonprefetched_unique_confirmed_opened": 1,
    }
    assert metrics_of("amp_open") == metrics_of("amp_initial_open") == open_metrics
    assert metrics_of("amp_click", **SHOP) == metrics_of("click", **SHOP)


def test_unsubscriptions_and_complaints_are_counted() -> None:
    assert (
        metrics_of("list_unsubscribe") == metrics_of("link_unsubscribe") == {"count_unsubscribe": 1}
    )
    assert metrics_of("spam_complaint") == {"count_spam_complaint": 1}


@pytest.mark.parametrize("kind", PLACEMENTS)
def test_a_placement_counts_in_the_metric_of_its_name(kind: str) -> None:
    assert metrics_of(kind) == {f"count_{kind}": 1}


@pytest.mark.parametrize("kind", RELAYED)
def test_received_mail_counts_in_no_metric(kind: str) -> None:
    assert not any(metrics_of(kind).values())
    assert marks(mail(1).event(kind, 0)) == ()


def test_links_without_a_name_are_counted_together() -> None:
    assert facets("click", target_link_url="https://a.test") == {
        LINKS: ("Raw URL", {"c": 1, "rk": 1})
    }
