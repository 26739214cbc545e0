"""Searches of message events: with 2,000 and with 200,000 events of ten days, on the local cloud.

A small and a large account are filled alike, with sends to a hundred recipients each. Both have a
recipient, a transmission and a campaign of the last hour with 400 events.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from chalicelib.core import clock, dynamo, ids
from chalicelib.events import notes, store
from chalicelib.events.model import Event, Sender, make, recipient_fields
from chalicelib.events.pages import Found
from chalicelib.events.search import search
from chalicelib.metrics import counters
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.fold import MOST_ACTIONS
from tests.bench.local_cloud import counted, local_cloud

SMALL, LARGE = 2_000, 200_000
CHUNK, SAME, PAGE = 100, 400, 100
ROUNDS = 25
#: For which the local cloud is busy writing down what it was given
SNAPSHOT_SECONDS = 15
DAY_MS = 86_400_000
MOST_REQUESTS_PER_EVENT = 0.1
MOST_GROWTH = 1.5
MOST_REQUESTS = 20

RECIPIENT = "everywhere@inbox.test"
CAMPAIGN = "hourly-news"
TRANSMISSION = "111111111111111111"


class Measured(NamedTuple):
    """A first page, the requests that it took and its seconds."""

    found: Found
    requests: int
    seconds: float


def main() -> None:
    """Run and print."""
    with local_cloud():
        notes.forget()
        now = clock.now_ms()
        _fill(1, SMALL, now)
        _fill(2, LARGE, now)
        time.sleep(SNAPSHOT_SECONDS)
        _measure(now)


def _fill(account: int, size: int, now: int) -> None:
    """Store an account's events, each chunk as recording stores what one queue message brings."""
    began = time.monotonic()
    delta = Delta()
    with counted() as made:
        for chunk in _chunks(account, size, now):
            store.put_all(chunk)
            for event in chunk:
                delta.add(event)
    seconds, each = time.monotonic() - began, len(made.operations) / size
    text = f"stored {size:,} events at {size / seconds:,.0f}/s: {each:.3f} requests an event"
    _print(text, each <= MOST_REQUESTS_PER_EVENT, f"at most {MOST_REQUESTS_PER_EVENT}")
    additions = list(counters.additions(account, delta.cells(), 1))
    for start in range(0, len(additions), MOST_ACTIONS):
        dynamo.transact(additions[start : start + MOST_ACTIONS])


def _chunks(account: int, size: int, now: int) -> Iterator[list[Event]]:
    spread = (size - 3 * SAME) // CHUNK
    for number in range(spread):
        sent = _sender(account, str(3 * 10**17 + number), f"bulk-{number % 7}")
        at = now - 60_000 - number * 10 * DAY_MS // spread
        yield [_event(sent, i, at - 10 * i) for i in range(CHUNK)]
    for number in range(SAME // CHUNK):
        at, indexes = now - 600_000 * (number + 1), range(number * CHUNK, (number + 1) * CHUNK)
        sent = _sender(account, TRANSMISSION, "one")
        yield [_event(sent, i, at - 10 * i) for i in indexes]
        sent = _sender(account, str(4 * 10**17 + number), CAMPAIGN)
        yield [_event(sent, i, at - 10 * i) for i in indexes]
        yield [
            _event(_sender(account, str(5 * 10**17 + i), "triggered"), 0, at - 10 * i, RECIPIENT)
            for i in indexes
        ]


def _sender(account: int, transmission: str, campaign: str) -> Sender:
    return Sender(account, None, transmission, "rest", campaign_id=campaign, template_id="news")


def _event(sent: Sender, index: int, at: int, recipient: str = "") -> Event:
    message = ids.message_id(sent.transmission_id, index)
    about = recipient_fields(
        recipient or f"reader-{index}@inbox.test",
        metadata={"order": index},
        tags=[],
    )
    fields = {
        "message_id": message,
        "subject": f"News for reader {index}",
        "friendly_from": "news@example.test",
        "sending_domain": "example.test",
        "msg_from": f"b.{message}.{ids.recipient_hash(message)[:16]}@example.test",
        "msg_size": str(4000 + index),
        "queue_time": str(index),
    }
    return make("delivery", sent.fields() | about | fields, at, attempt=1)


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
        text += f"{small.found.total:,}; {large.requests}, {_ms(large)} of {large.found.total:,}"
        holds = large.requests <= MOST_REQUESTS and large.seconds <= MOST_GROWTH * small.seconds
        _print(text, holds, f"at most {MOST_REQUESTS}, within {MOST_GROWTH} times")
    page = search(2, {"per_page": str(PAGE), **ever})
    for _ in range(20):
        with counted() as made:
            page = search(2, dict(parse_qsl(urlsplit(page.next_link).query)))
    requests = len(made.operations)
    _print(f"page 21 by time: {requests} requests", requests <= MOST_REQUESTS, f"{MOST_REQUESTS}")
    for query in ({"subjects": "reader 77"} | ever, {"from_addresses": "a@b.c"} | ever):
        _, large = _first_pages(query, rounds=1)
        text = f"walked, {query}: {large.requests} requests, {_ms(large)}"
        print(f"{text} for {large.found.total:,} of {LARGE:,}", flush=True)


def _first_pages(query: dict[str, str], rounds: int = ROUNDS) -> list[Measured]:
    """Return the first page of both accounts, asked for in turns."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    answers: dict[int, tuple[Found, int]] = {}
    for _ in range(rounds):
        for account, each in seconds.items():
            with counted() as made:
                began = time.perf_counter()
                found = search(account, {"per_page": str(PAGE), **query})
                each.append(time.perf_counter() - began)
            answers[account] = found, len(made.operations)
    # The quickest: what a busy machine adds says nothing about the search
    return [Measured(*answers[account], min(each)) for account, each in seconds.items()]


def _ms(found: Measured) -> str:
    return f"{found.seconds * 1000:.0f} ms"


def _print(text: str, holds: bool, bar: str) -> None:
    print(f"{text} [{'holds' if holds else 'FAILS'}: {bar}]", flush=True)
