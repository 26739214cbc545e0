"""Compare what was accepted with what arrived, and with what the service says of it."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from chalicelib.core.json_types import Json
from tests.http_target import Target
from tests.journey.service import PATIENCE, Service, eventually
from tests.soak.load import Load

# Longer than events wait for others before they are recorded
_QUIET_SECONDS = 20.0
_FINAL = ("delivery", "bounce")
_EVENTS = "injection,delivery,bounce"


@dataclass(frozen=True, slots=True)
class Balance:
    """What a run came to; ``disagreements`` are sentences, none if everything agrees."""

    accepted: int
    arrived: int
    lost: int
    duplicates: int
    disagreements: list[str]


def balance(service: Service, load: Load, target: Target) -> Balance:
    """Wait until nothing more happens, and count."""
    expected = load.accepted
    _settle(service, len(expected))
    events = _all_events(service)
    copies = _copies(service, load.waves)
    by_type: dict[str, Counter[str]] = {name: Counter() for name in _EVENTS.split(",")}
    for event in events:
        by_type[event["type"]][event["rcpt_to"]] += 1
    bounced = {each for each in expected if each.startswith("bounce-hard")}
    reached = expected - bounced
    injected = set(by_type["injection"])
    checks = {
        "accepted recipients without injection": expected - injected,
        "injections of nobody": injected - load.accepted - load.unclear,
        "recipients with several injections": _several(by_type["injection"]),
        "recipients without an outcome": injected
        - set(by_type["delivery"])
        - set(by_type["bounce"]),
        "recipients with several outcomes": _several(by_type["delivery"] + by_type["bounce"]),
        "bounces of mail that arrived": set(by_type["bounce"]) & set(copies),
        "deliveries of mail that did not arrive": set(by_type["delivery"]) - set(copies),
    }
    disagreements = [
        f"{len(members)} {name}: {', '.join(sorted(members)[:3])}"
        for name, members in checks.items()
        if members
    ]
    disagreements += [
        f"{each['rcpt_to']}: {json.dumps(each)}"
        for each in events
        if each["rcpt_to"] in checks["recipients with several outcomes"]
    ]
    disagreements += _waited_for(service, target, events, by_type, load.cut_off)
    return Balance(
        len(expected),
        sum(copies.values()),
        len(reached - set(copies)),
        sum(copies.values()) - len(copies),
        disagreements + load.wrong,
    )


def unposted_ids(load: Load, target: Target) -> set[str]:
    """Wait until each received message was posted, or no longer; return the ids of the others.

    The id of a post is that of the message and its recipient's place in it, of which it has one.
    """
    end = time.monotonic() + PATIENCE
    while True:
        posted = {post.batch_id for post in target.batches()}
        missing = {each for each in load.received if f"{each}00" not in posted}
        if not missing or time.monotonic() > end:
            return missing
        time.sleep(1.0)


def _settle(service: Service, outcomes: int) -> None:
    """Wait until there are that many outcomes, or nothing is queued and nothing happens."""
    seen, since = -1, time.monotonic()
    end = since + PATIENCE
    while time.monotonic() < end and seen < outcomes and time.monotonic() < since + _QUIET_SECONDS:
        time.sleep(1.0)
        total = sum(_total(service, kind) for kind in _FINAL)
        if total != seen or service.queued():
            seen, since = total, time.monotonic()


def _total(service: Service, kind: str) -> int:
    response = service.request("GET", f"/api/v1/events/message?events={kind}&per_page=1")
    return response.json["total_count"]


def _all_events(service: Service) -> list[Json]:
    events: list[Json] = []
    path = f"/api/v1/events/message?events={_EVENTS}&per_page=10000"
    while path:
        page = service.request("GET", path).json
        events += page["results"]
        path = page.get("links", {}).get("next", "")
    return events


def _copies(service: Service, waves: int) -> Counter[str]:
    """Return how many copies of its message each recipient has in the sink."""
    copies: Counter[str] = Counter()
    for wave in range(waves):
        copies.update(each["to"] for each in service.mailbox(to=f"*+{wave}.*", limit="10000"))
    return copies


def _several(counts: Counter[str]) -> set[str]:
    return {recipient for recipient, count in counts.items() if count > 1}


def _waited_for(
    service: Service,
    target: Target,
    events: list[Json],
    by_type: dict[str, Counter[str]],
    cut_off: int,
) -> list[str]:
    """Return what webhooks, metrics, suppression and usage still say otherwise after a while."""
    ids = {event["event_id"] for event in events}
    deliveries, bounces = (sum(by_type[kind].values()) for kind in _FINAL)
    injections = sum(by_type["injection"].values())
    expected: dict[str, Any] = {
        "events that no webhook got": 0,
        "count_injected": injections,
        "count_delivered": deliveries,
        "count_bounce": bounces,
        # Transactional and other mail are suppressed by an entry each
        "suppression entries": 2 * len(by_type["bounce"]),
        # A request that dies after its recipients were counted is repeated under another id
        "usage of the month is plausible": True,
        "dead letters": 0,
    }

    def actual() -> dict[str, Any]:
        since = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%M}"
        metrics = ("count_injected", "count_delivered", "count_bounce")
        query = urlencode({"from": since, "metrics": ",".join(metrics)})
        report = service.request("GET", f"/api/v1/metrics/deliverability?{query}").json["results"]
        suppressed = service.request("GET", "/api/v1/suppression-list?per_page=1").json
        usage = service.request("GET", "/api/v1/usage").json["results"]
        return {
            "events that no webhook got": len(ids - target.event_ids()),
            **{name: (report[0] if report else {}).get(name) for name in metrics},
            "suppression entries": suppressed["total_count"],
            "usage of the month is plausible": 0
            <= usage["messaging"]["month"]["used"] - injections
            <= cut_off,
            "dead letters": service.dead_letters(),
        }

    try:
        eventually(lambda: actual() == expected, 120)
    except AssertionError:
        counts = actual()
        return [
            f"{name} is {counts[name]!r}, not {value!r}"
            for name, value in expected.items()
            if counts[name] != value
        ]
    return []
