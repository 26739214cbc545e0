from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from chalicelib.metrics.counting import (
    ATTEMPTS,
    BOUNCES,
    DELAYS,
    LINKS,
    MAIN,
    REJECTIONS,
    canonical_reason,
    counts_of,
    marks,
)
from chalicelib.metrics.model import EVENT_COUNTERS, METRICS, PLACEMENTS, metric
from tests.unit.metrics.examples import mail

MACHINE = {"user_agent_parsed": {"is_prefetched": True}}
SHOP = {"target_link_name": "Shop", "target_link_url": "https://b.test"}


def told(kind: str, first: Collection[str] | None = None, **fields: Any) -> dict[str, int]:
    """Return the metrics of one event that are not 0; all its marks are new unless told."""
    event = mail(1).event(kind, 0, **fields)
    new = marks(event) if first is None else first
    (counts,) = (counts for facet, _, counts in counts_of(event, new) if facet == MAIN)
    return {name: number for name in METRICS if (number := metric(name, counts))}


def facets(kind: str, **fields: Any) -> dict[str, tuple[str, dict[str, int]]]:
    """Return label and counts under each facet."""
    event = mail(1).event(kind, 0, **fields)
    counts = counts_of(event, marks(event))
    return {facet: (label, counts) for facet, label, counts in counts if facet != MAIN}


def test_an_accepted_message_was_aimed_at() -> None:
    assert told("injection") == {"count_injected": 1, "count_targeted": 1}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("policy_rejection", "count_policy_rejection"),
        ("generation_failure", "count_generation_failed"),
        ("generation_rejection", "count_generation_rejection"),
    ],
)
def test_a_rejected_message_was_aimed_at_and_not_accepted(kind: str, name: str) -> None:
    assert told(kind, reason="554 no") == {name: 1, "count_rejected": 1, "count_targeted": 1}
    assert facets(kind, reason="554 no") == {
        REJECTIONS: (f'["554 no","{kind}"]', {EVENT_COUNTERS[kind]: 1})
    }


def test_a_delivery_counts_bytes_and_time() -> None:
    common = {"count_delivered": 1, "count_sent": 1, "count_accepted": 1, "total_msg_volume": 1000}
    first = {"count_delivered_first": 1, "total_delivery_time_first": 70}
    later = {"count_delivered_subsequent": 1, "total_delivery_time_subsequent": 70}
    assert told("delivery", num_retries="0", queue_time="70") == common | first
    assert told("delivery", num_retries="2", queue_time="70") == common | later


@pytest.mark.parametrize(("retries", "attempt"), [("0", "1"), ("1", "2"), ("2", "3+"), ("9", "3+")])
def test_deliveries_are_counted_by_attempt(retries: str, attempt: str) -> None:
    assert facets("delivery", num_retries=retries) == {ATTEMPTS: (attempt, {"d": 1})}


def test_delays_of_the_first_attempt_are_counted_apart() -> None:
    assert told("delay", num_retries="0") == {"count_delayed": 1, "count_delayed_first": 1}
    assert told("delay", num_retries="1") == {"count_delayed": 1}
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
    inband = told("bounce", bounce_class=number)
    assert inband == {name: 1, "count_bounce": 1, "count_inband_bounce": 1, "count_sent": 1}
    late = told("out_of_band", bounce_class=number)
    assert late == {name: 1, "count_bounce": 1, "count_outofband_bounce": 1, "count_accepted": -1}


def test_bounces_are_counted_by_reason_and_class() -> None:
    by_facet = facets("bounce", bounce_class="10", reason="550 <r0@x.test> unknown")
    assert by_facet == {BOUNCES: ('["550 <*> unknown",10]', {"b": 1, "bh": 1})}


def test_the_first_opens_of_a_message_are_counted_apart() -> None:
    assert told("open") == {
        "count_rendered": 1,
        "count_nonprefetched_rendered": 1,
        "count_unique_rendered": 1,
        "count_nonprefetched_unique_rendered": 1,
        "count_unique_confirmed_opened": 1,
        "count_nonprefetched_unique_confirmed_opened": 1,
    }
    assert told("open", first=()) == {"count_rendered": 1, "count_nonprefetched_rendered": 1}
    assert told("initial_open", first=["ui"]) == {
        "count_initial_rendered": 1,
        "count_nonprefetched_initial_rendered": 1,
        "count_unique_initial_rendered": 1,
    }


@pytest.mark.parametrize(
    ("told_as", "is_human"), [(False, True), ("false", True), (None, True), ("true", False)]
)
def test_events_from_outside_may_tell_of_machines_as_text(told_as: Any, is_human: bool) -> None:
    by_facet = told("open", user_agent_parsed={"is_prefetched": told_as})
    assert ("count_nonprefetched_rendered" in by_facet) is is_human


def test_what_a_machine_fetched_in_advance_is_not_among_the_nonprefetched() -> None:
    assert told("open", **MACHINE) == {
        "count_rendered": 1,
        "count_unique_rendered": 1,
        "count_unique_confirmed_opened": 1,
    }


def test_a_click_confirms_that_the_message_was_opened() -> None:
    assert told("click", **SHOP) == {
        "count_clicked": 1,
        "count_unique_clicked": 1,
        "count_unique_confirmed_opened": 1,
        "count_nonprefetched_unique_confirmed_opened": 1,
    }
    assert told("click", first=(), **SHOP) == {"count_clicked": 1}


def test_clicks_are_counted_by_link_and_each_link_of_a_message_once() -> None:
    assert facets("click", **SHOP) == {LINKS: ("Shop", {"c": 1, "rk": 1})}
    event = mail(1).event("click", 0, **SHOP)
    again = [counts for facet, _, counts in counts_of(event, ()) if facet == LINKS]
    assert again == [{"c": 1}]
    other = mail(1).event("click", 0, **SHOP | {"target_link_url": "https://c.test"})
    assert len(set(marks(event)) ^ set(marks(other))) == 2


def test_amp_parts_are_opened_and_clicked_and_not_rendered() -> None:
    opened = {"count_unique_confirmed_opened": 1, "count_nonprefetched_unique_confirmed_opened": 1}
    assert told("amp_open") == told("amp_initial_open") == opened
    assert told("amp_click", **SHOP) == told("click", **SHOP)


def test_unsubscriptions_and_complaints() -> None:
    assert told("list_unsubscribe") == told("link_unsubscribe") == {"count_unsubscribe": 1}
    assert told("spam_complaint") == {"count_spam_complaint": 1}


@pytest.mark.parametrize("kind", PLACEMENTS)
def test_what_seeds_and_panels_tell_is_counted_in_the_metric_of_its_name(kind: str) -> None:
    assert told(kind) == {f"count_{kind}": 1}


def test_events_that_are_nobodys_mail_are_not_counted() -> None:
    event = mail(1).event("relay_delivery", 0)
    assert list(counts_of(event, ())) == []
    assert marks(event) == ()


def test_links_without_a_name_are_counted_together() -> None:
    assert facets("click", target_link_url="https://a.test") == {
        LINKS: ("Raw URL", {"c": 1, "rk": 1})
    }


@pytest.mark.parametrize(
    ("reason", "canonical"),
    [
        ("550 5.1.1 user unknown", "550 5.1.1 user unknown"),
        ("550 5.1.1 <Ann.Lee+x@mail.example.com>: no such user", "550 5.1.1 <*>: no such user"),
        ("550 no h4-20020a056402124400b0045bd8beb4casi1234edw.90 - gsmtp", "550 no * - gsmtp"),
        (
            "451 4.7.1 Greylisted [192.0.2.1], try later",
            "451 4.7.1 Greylisted [192.0.2.1], try later",
        ),
        ("452 4.2.2 mailbox\r\n  full", "452 4.2.2 mailbox full"),
        (
            "554 see https://example.com/help/unsolicited",
            "554 see https://example.com/help/unsolicited",
        ),
        ("", ""),
    ],
)
def test_addresses_and_ids_are_left_out_of_reasons(reason: str, canonical: str) -> None:
    assert canonical_reason(reason) == canonical


def test_a_reason_has_at_most_250_characters() -> None:
    assert canonical_reason("550 " + "very " * 1000) == ("550 " + "very " * 100)[:250]


def test_long_reasons_take_no_long_time() -> None:
    for text in ("a" * 100_000, "a@" * 50_000, "1." * 50_000, "@" * 100_000):
        assert len(canonical_reason(text)) <= 250


def test_a_canonical_reason_stays_as_it_is() -> None:
    text = canonical_reason("550 <ann@example.com> 20020a056402124400b0045")
    assert canonical_reason(text) == text
