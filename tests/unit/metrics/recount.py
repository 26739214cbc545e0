"""Compute the metrics of spec 2.13 a second time, by counting events one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.core.message_event import Event

OPENS = ("open", "initial_open", "amp_open", "amp_initial_open")
CLICKS = ("click", "amp_click")
REJECTIONS = ("policy_rejection", "generation_failure", "generation_rejection")
BOUNCES = ("bounce", "out_of_band")
CATEGORIES = {"10": "hard", "22": "soft", "25": "admin", "51": "block"}
PLACEMENTS = ("inbox_seed", "spam_panel")


@dataclass
class RecordedEvent:
    """An event, and of what kinds it was the first event of its message."""

    event: Event
    first: set[str] = field(default_factory=set)

    @property
    def kind(self) -> str:
        return self.event["type"]

    def value(self, filter_key: str) -> str:
        name = {
            "domains": "recipient_domain",
            "campaigns": "campaign_id",
            "templates": "template_id",
            "sending_ips": "sending_ip",
            "ip_pools": "ip_pool",
            "sending_domains": "sending_domain",
            "subaccounts": "subaccount_id",
            "mailbox_providers": "mailbox_provider",
            "mailbox_provider_regions": "mailbox_provider_region",
            "subject_campaigns": "subject",
        }[filter_key]
        if name == "subject" and self.kind not in PLACEMENTS:
            return ""
        return self.event.get(name) or ("0" if name == "subaccount_id" else "")


def recorded_events(events: Iterable[Event]) -> list[RecordedEvent]:
    """Return the events in the order in which they were recorded, each once."""
    seen: set[tuple[str, str]] = set()
    event_ids: set[str] = set()
    result = []
    for event in events:
        if event["event_id"] in event_ids:
            continue
        event_ids.add(event["event_id"])
        recorded = RecordedEvent(event)
        for what in _may_be_first_of(event):
            if (event.get("message_id", ""), what) not in seen:
                seen.add((event.get("message_id", ""), what))
                recorded.first.add(what)
        result.append(recorded)
    return result


def _may_be_first_of(event: Event) -> Iterable[str]:
    kind = event["type"]
    human = not (event.get("user_agent_parsed") or {}).get("is_prefetched")
    if kind in ("open", "initial_open"):
        yield kind
        if human:
            yield f"human {kind}"
    if kind in OPENS + CLICKS:
        yield "confirmed"
        if human or kind in CLICKS:
            yield "human confirmed"
    if kind in CLICKS:
        yield "click"
        yield f"link {event['target_link_name']} {event['target_link_url']}"


def metric(name: str, events: Iterable[RecordedEvent]) -> int:
    """Return a metric of recorded events."""
    return sum(_RULES[name](event) for event in events)


def _kinds(*kinds: str) -> Callable[[RecordedEvent], int]:
    return lambda each: each.kind in kinds


def _first(what: str) -> Callable[[RecordedEvent], int]:
    return lambda each: what in each.first


def _human(kind: str) -> Callable[[RecordedEvent], int]:
    return lambda e: e.kind == kind and not e.event["user_agent_parsed"]["is_prefetched"]


def _bounced(category: str) -> Callable[[RecordedEvent], int]:
    return lambda each: (
        each.kind in BOUNCES
        and CATEGORIES.get(each.event["bounce_class"], "undetermined") == category
    )


def _delivered(first: bool, what: str = "") -> Callable[[RecordedEvent], int]:
    return lambda each: (
        (each.kind == "delivery" and (each.event["num_retries"] == "0") == first)
        * (int(each.event.get(what, 0)) if what else 1)
    )


_RULES: Mapping[str, Callable[[RecordedEvent], int]] = {
    "count_targeted": _kinds("injection", *REJECTIONS),
    "count_injected": _kinds("injection"),
    "count_sent": _kinds("delivery", "bounce"),
    "count_accepted": lambda e: (e.kind == "delivery") - (e.kind == "out_of_band"),
    "count_delivered": _kinds("delivery"),
    "count_delivered_first": _delivered(True),
    "count_delivered_subsequent": _delivered(False),
    "count_rendered": _kinds("open"),
    "count_nonprefetched_rendered": _human("open"),
    "count_initial_rendered": _kinds("initial_open"),
    "count_nonprefetched_initial_rendered": _human("initial_open"),
    "count_unique_rendered": _first("open"),
    "count_nonprefetched_unique_rendered": _first("human open"),
    "count_unique_initial_rendered": _first("initial_open"),
    "count_nonprefetched_unique_initial_rendered": _first("human initial_open"),
    "count_unique_confirmed_opened": _first("confirmed"),
    "count_nonprefetched_unique_confirmed_opened": _first("human confirmed"),
    "count_clicked": _kinds(*CLICKS),
    "count_unique_clicked": _first("click"),
    "count_raw_clicked": lambda e: any(what.startswith("link ") for what in e.first),
    "count_unsubscribe": _kinds("list_unsubscribe", "link_unsubscribe"),
    "count_bounce": _kinds(*BOUNCES),
    "count_hard_bounce": _bounced("hard"),
    "count_soft_bounce": _bounced("soft"),
    "count_block_bounce": _bounced("block"),
    "count_admin_bounce": _bounced("admin"),
    "count_undetermined_bounce": _bounced("undetermined"),
    "count_inband_bounce": _kinds("bounce"),
    "count_outofband_bounce": _kinds("out_of_band"),
    "count_rejected": _kinds(*REJECTIONS),
    "count_policy_rejection": _kinds("policy_rejection"),
    "count_generation_failed": _kinds("generation_failure"),
    "count_generation_rejection": _kinds("generation_rejection"),
    "count_delayed": _kinds("delay"),
    "count_delayed_first": lambda e: e.kind == "delay" and e.event["num_retries"] == "0",
    "total_msg_volume": lambda e: (e.kind == "delivery") * int(e.event["msg_size"]),
    "total_delivery_time_first": _delivered(True, "queue_time"),
    "total_delivery_time_subsequent": _delivered(False, "queue_time"),
    "count_spam_complaint": _kinds("spam_complaint"),
    **{f"count_{kind}": _kinds(kind) for kind in PLACEMENTS},
}

METRICS = tuple(name for name in _RULES if name != "count_raw_clicked")


def passes(each: RecordedEvent, query: Mapping[str, str]) -> bool:
    """Tell whether an event passes the filters of a query."""
    if "query_filters" in query:
        return all(_group(each, group) for group in json.loads(query["query_filters"])["groupings"])
    delimiter = query.get("delimiter", ",")
    return all(
        each.value(key) in query[key].split(delimiter)
        for key in query
        if key not in ("from", "to", "timezone", "precision", "metrics", "limit", "delimiter")
    )


def _group(each: RecordedEvent, group: dict[str, Any]) -> bool:
    ((operator, filters),) = group.items()
    results = [
        _compare(each.value(key), comparator, texts)
        for key, comparators in filters.items()
        for comparator, texts in comparators.items()
    ]
    return all(results) if operator == "AND" else any(results)


def _compare(value: str, comparator: str, texts: list[str]) -> bool:
    if comparator == "eq":
        return value in texts
    if comparator == "notEq":
        return value not in texts
    contained = any(text in value for text in texts)
    return contained if comparator == "like" else not contained
