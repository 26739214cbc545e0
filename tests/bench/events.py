"""Measure searches of message events with 2,000 and a million events on the local cloud.

Both accounts hold ten days of the same kinds of events (``sample_events``). All blocks that
searches read are stored, as recording stores them. Only the partitions of single readers, whom no
search here names, are left out of the large account: they would take a million items.
"""

from __future__ import annotations

import time
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from chalicelib.core import clock, dynamo
from chalicelib.core.message_event import Event
from chalicelib.events import service
from chalicelib.events.message_search import search_messages
from chalicelib.events.pages import EventPage
from chalicelib.events.positions import position
from chalicelib.events.store import blocks, day_index, partitions
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.rollup import MOST_ACTIONS
from chalicelib.metrics.store import counters
from tests.bench.local_cloud import counted, local_cloud
from tests.bench.sample_events import CAMPAIGN, DAY_MS, RECIPIENT, TRANSMISSION, Chunk, chunks

SMALL, LARGE = 2_000, 1_000_000
PAGE = 100
ROUNDS = 25
#: Wait so long before measuring, because the local cloud first writes its data to disk
SNAPSHOT_SECONDS = 15
MOST_REQUESTS_PER_EVENT = 0.1
MOST_GROWTH = 1.5
MOST_REQUESTS = 20


class Measurement(NamedTuple):
    """A first page, and the requests and seconds that it took."""

    page: EventPage
    requests: int
    seconds: float


def main() -> None:
    """Measure and print the figures."""
    with local_cloud():
        day_index.clear_cache()
        now = clock.now_ms()
        _fill(1, SMALL, now)
        _fill(2, LARGE, now)
        time.sleep(SNAPSHOT_SECONDS)
        _measure(now)


def _fill(account: int, size: int, now: int) -> None:
    """Store an account's events, each chunk as recording stores the events of a queue message."""
    began = time.monotonic()
    delta = Delta()
    with counted() as requests:
        for chunk in chunks(account, size, now):
            events = chunk.events()
            if size <= SMALL:
                service.put_all(events)
            else:
                _put_searched(chunk, events)
            for event in events:
                delta.add(event)
    seconds, each = time.monotonic() - began, len(requests.operations) / size
    text = f"stored {size:,} events at {size / seconds:,.0f}/s: {each:.3f} requests an event"
    if size <= SMALL:
        _print(text, each <= MOST_REQUESTS_PER_EVENT, f"at most {MOST_REQUESTS_PER_EVENT}")
    else:
        print(f"{text}, without the partitions of single readers", flush=True)
    additions = list(counters.additions(account, delta.cells(), 1))
    for start in range(0, len(additions), MOST_ACTIONS):
        dynamo.transact(additions[start : start + MOST_ACTIONS])


def _put_searched(chunk: Chunk, events: list[Event]) -> None:
    """Store the blocks of a chunk in the partitions that the searches may read."""
    unread = partitions.recipient(chunk.account, "")
    entries, items = list(day_index.campaign_entries(events)), []
    for item, needed in blocks.place(sorted(events, key=position)):
        if chunk.recipient or not item["pk"].startswith(unread):
            items.append(item)
            entries += needed
    new = day_index.unwritten(entries)
    blocks.table.write_all([*items, *(entry.item() for entry in new)])
    day_index.remember(new)


def _measure(now: int) -> None:
    hour = {"from": clock.iso_ms(now - 3_600_000), "to": clock.iso_ms(now)}
    ever = {"from": clock.iso_ms(now - 10 * DAY_MS)}
    for name, query in {
        "by recipient": {"recipients": RECIPIENT},
        "by transmission": {"transmissions": TRANSMISSION},
        "by campaign over an hour": {"campaigns": CAMPAIGN} | hour,
        "by time, a day": {},
        "by time, ten days": ever,
    }.items():
        small, large = _first_pages(query)
        text = f"first {PAGE} {name}: {small.requests} requests, {_ms(small)} of "
        text += f"{small.page.total:,}; {large.requests}, {_ms(large)} of {large.page.total:,}"
        holds = large.requests <= MOST_REQUESTS and large.seconds <= MOST_GROWTH * small.seconds
        _print(text, holds, f"at most {MOST_REQUESTS}, within {MOST_GROWTH} times")
    page = search_messages(2, {"per_page": str(PAGE), **ever})
    for _ in range(20):
        with counted() as counts:
            page = search_messages(2, dict(parse_qsl(urlsplit(page.next_link).query)))
    requests = len(counts.operations)
    _print(f"page 21 by time: {requests} requests", requests <= MOST_REQUESTS, f"{MOST_REQUESTS}")
    for query in ({"subjects": "reader 77"} | ever, {"from_addresses": "a@b.c"} | ever):
        _, large = _first_pages(query, rounds=1)
        text = f"walked, {query}: {large.requests} requests, {_ms(large)}"
        print(f"{text} for {large.page.total:,} of {LARGE:,}", flush=True)


def _first_pages(query: dict[str, str], rounds: int = ROUNDS) -> list[Measurement]:
    """Return the first page of both accounts; the rounds alternate between the accounts."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    results: dict[int, tuple[EventPage, int]] = {}
    for _ in range(rounds):
        for account, each in seconds.items():
            with counted() as requests:
                began = time.perf_counter()
                page = search_messages(account, {"per_page": str(PAGE), **query})
                each.append(time.perf_counter() - began)
            results[account] = page, len(requests.operations)
    # The quickest round counts, because time that a busy machine adds is not the search's
    return [Measurement(*results[account], min(each)) for account, each in seconds.items()]


def _ms(measurement: Measurement) -> str:
    return f"{measurement.seconds * 1000:.0f} ms"


def _print(text: str, holds: bool, bar: str) -> None:
    print(f"{text} [{'holds' if holds else 'FAILS'}: {bar}]", flush=True)
