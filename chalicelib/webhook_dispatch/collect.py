"""Which webhooks want which events: what they want goes on to the ``webhook-events`` queue.

Called by whoever records events. An account's webhooks are remembered for a few seconds, so a lot
of events costs no request but that of its queue message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from chalicelib.core import clock, packing, queues
from chalicelib.core.queues import Work
from chalicelib.events.model import Event
from chalicelib.webhooks import lookup, payload
from chalicelib.webhooks.model import Webhook

QUEUE: Final = "webhook-events"
_MOST_IN_ONE = 400


def collect(events: Sequence[Event]) -> None:
    """Queue the events for the webhooks that want them; returns when the queue holds them all."""
    by_account: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_account[int(event["customer_id"])].append(event)
    works = [
        work
        for account_id, own in by_account.items()
        if (webhooks := lookup.collecting(account_id))
        for work in _works(account_id, own, webhooks)
    ]
    if works:
        queues.send(QUEUE, works)


def read(message: queues.Received) -> Iterator[tuple[int, str, list[bytes]]]:
    """Yield what a message holds: an account, one of its webhooks, and that one's events."""
    wanted, elements = packing.unpack(message.payload())
    for webhook_id, places in wanted.items():
        yield message.head["account"], webhook_id, [elements[place] for place in places]


def _works(account_id: int, events: Sequence[Event], webhooks: Sequence[Webhook]) -> Iterator[Work]:
    types = {webhook.id: webhook.types for webhook in webhooks}
    chosen: list[tuple[Mapping[str, Any], list[str]]] = []
    for event in events:
        takers = [w.id for w in webhooks if event["type"] in types[w.id] and w.covers(event)]
        if takers:
            chosen.append((event, takers))
    for start in range(0, len(chosen), _MOST_IN_ONE):
        yield _work(account_id, chosen[start : start + _MOST_IN_ONE])


def _work(account_id: int, chosen: Sequence[tuple[Mapping[str, Any], list[str]]]) -> Work:
    wanted: dict[str, list[int]] = defaultdict(list)
    for place, (_, takers) in enumerate(chosen):
        for webhook_id in takers:
            wanted[webhook_id].append(place)
    head = {"account": account_id, "at": clock.now_ms(), "count": len(chosen)}
    return Work(head, packing.pack(wanted, [payload.element(event) for event, _ in chosen]))
