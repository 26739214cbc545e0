"""Determine what one event counts (spec 2.13), and under which facet and label.

Most of that follows from the event. Whether it is the first of its kind for its message does not:
:func:`marks` returns what it may be the first of, and recording finds out which marks are new. AMP
parts are not HTML, so their opens count as opens and not as renderings. Reasons are counted without
what differs from one message to the next (``reasons``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from typing import Final

from chalicelib.core.bounce_classes import BOUNCE_CLASSES, UNDETERMINED
from chalicelib.core.message_event import Event
from chalicelib.metrics.model import (
    CATEGORY_COUNTERS,
    EVENT_COUNTERS,
    FIRST_DELAY,
    FIRST_DELIVERY,
    FIRST_DELIVERY_TIME,
    LATER_DELIVERY_TIME,
    LONGEST,
    NONPREFETCHED,
    PLACEMENTS,
    RAW_CLICK,
    UNIQUE_CLICK,
    UNIQUE_CONFIRMED,
    UNIQUE_INITIAL_OPEN,
    UNIQUE_OPEN,
    VOLUME,
    Counts,
)
from chalicelib.metrics.reasons import canonical_reason

#  The facets: other properties by which events are counted, within their dimensions
MAIN: Final = ""
BOUNCES: Final = "bounce"
REJECTIONS: Final = "rejection"
DELAYS: Final = "delay"
LINKS: Final = "link"
ATTEMPTS: Final = "attempt"

_UNIQUE = {
    "open": (UNIQUE_OPEN, UNIQUE_CONFIRMED),
    "initial_open": (UNIQUE_INITIAL_OPEN, UNIQUE_CONFIRMED),
    "amp_open": (UNIQUE_CONFIRMED,),
    "amp_initial_open": (UNIQUE_CONFIRMED,),
}
_CLICK_MARKS = (UNIQUE_CLICK, UNIQUE_CONFIRMED, NONPREFETCHED + UNIQUE_CONFIRMED)
_CLICKS = ("click", "amp_click")
_UNNAMED_LINK = "Raw URL"
_BOUNCE_TYPES = ("bounce", "out_of_band")
_REJECTION_TYPES = ("policy_rejection", "generation_failure", "generation_rejection")
_RENDERINGS = ("open", "initial_open")


def marks(event: Event) -> tuple[str, ...]:
    """Return the marks that are new if the event is the first of its kind for its message."""
    kind = event["type"]
    if kind in _CLICKS:
        return (*_CLICK_MARKS, _link_mark(event))
    unique = _UNIQUE.get(kind, ())
    if unique and not _is_prefetched(event):
        return (*unique, *(NONPREFETCHED + code for code in unique))
    return unique


def counts_of(event: Event, first: Collection[str]) -> Iterator[tuple[str, str, Counts]]:
    """Yield the facets that the event counts in, each with the label and the counts.

    ``first`` are those of its marks that its message did not have before.
    """
    kind = event["type"]
    if kind in PLACEMENTS:
        yield MAIN, "", {PLACEMENTS[kind]: 1}
    if kind not in EVENT_COUNTERS:
        return
    counts: Counts = {EVENT_COUNTERS[kind]: 1}
    counts |= dict.fromkeys((mark for mark in first if not mark.startswith(RAW_CLICK)), 1)
    if kind == "delivery":
        counts |= _delivery(event)
        yield ATTEMPTS, _attempt(event), {EVENT_COUNTERS[kind]: 1}
    elif kind == "delay":
        counts |= {} if _retries(event) else {FIRST_DELAY: 1}
        yield DELAYS, canonical_reason(event.get("reason", "")), dict(counts)
    elif kind in _BOUNCE_TYPES:
        number = _bounce_class(event)
        counts[CATEGORY_COUNTERS[BOUNCE_CLASSES[number].category]] = 1
        yield BOUNCES, _label(canonical_reason(event.get("reason", "")), number), dict(counts)
    elif kind in _REJECTION_TYPES:
        yield REJECTIONS, _label(canonical_reason(event.get("reason", "")), kind), dict(counts)
    elif kind in _CLICKS:
        new = {RAW_CLICK: 1} if _link_mark(event) in first else {}
        yield LINKS, _link_name(event), {EVENT_COUNTERS[kind]: 1, **new}
    elif kind in _RENDERINGS and not _is_prefetched(event):
        counts[NONPREFETCHED + EVENT_COUNTERS[kind]] = 1
    yield MAIN, "", counts


def _delivery(event: Event) -> Counts:
    queue_time = _number(event, "queue_time")
    volume = {VOLUME: _number(event, "msg_size")}
    if _retries(event):
        return volume | {LATER_DELIVERY_TIME: queue_time}
    return volume | {FIRST_DELIVERY: 1, FIRST_DELIVERY_TIME: queue_time}


def _attempt(event: Event) -> str:
    attempt = _retries(event) + 1
    return str(attempt) if attempt < 3 else "3+"


def _retries(event: Event) -> int:
    return _number(event, "num_retries")


def _bounce_class(event: Event) -> int:
    number = _number(event, "bounce_class")
    return number if number in BOUNCE_CLASSES else UNDETERMINED


def _number(event: Event, field: str) -> int:
    """Return a number that events hold as text; anything else counts as 0."""
    text = str(event.get(field, ""))
    return int(text) if text.isascii() and text.isdigit() else 0


def _is_prefetched(event: Event) -> bool:
    # Ingested events may hold it as text
    return (event.get("user_agent_parsed") or {}).get("is_prefetched") in (True, "true")


def _link_name(event: Event) -> str:
    return str(event.get("target_link_name") or _UNNAMED_LINK)[:LONGEST]


def _link_mark(event: Event) -> str:
    link = f"{_link_name(event)}\0{event.get('target_link_url')}"
    return RAW_CLICK + hashlib.blake2b(link.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _label(*parts: str | int) -> str:
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
