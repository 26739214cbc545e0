"""Select the events that webhooks get, and queue them for merging (``webhook-events``).

Recording calls this. An account's webhooks are cached for a few seconds, so a group of events
usually costs only the request that queues it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from chalicelib.core import clock, packing, queues
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received, Work
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.webhooks import lookup, payload
from chalicelib.webhooks.model import Webhook

#: An event and the ids of the webhooks that get it
Selection = tuple[Event, list[str]]

QUEUE: Final = "webhook-events"
_MOST_PER_MESSAGE = 400


class SelectionHead(TypedDict):
    """The head of a message with events of an account; ``at`` is when they were collected (ms)."""

    account: int
    at: int
    count: int


def collect(events: Sequence[Event]) -> None:
    """Queue the events for the webhooks that select them; returns when the queue holds them all."""
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


def read(message: Received[SelectionHead]) -> Iterator[tuple[int, str, list[bytes]]]:
    """Yield account, webhook id and events for each webhook in a message."""
    indexes_by_webhook: dict[str, list[int]]
    indexes_by_webhook, elements = packing.unpack(message.payload())
    for webhook_id, indexes in indexes_by_webhook.items():
        yield message.head["account"], webhook_id, [elements[index] for index in indexes]


def _works(
    account_id: int, events: Sequence[Event], webhooks: Sequence[Webhook]
) -> Iterator[Work[SelectionHead]]:
    types = {webhook.id: webhook.types for webhook in webhooks}
    selections: list[Selection] = []
    for event in events:
        ids = [w.id for w in webhooks if event["type"] in types[w.id] and w.covers(event)]
        if ids:
            selections.append((event, ids))
    for start in range(0, len(selections), _MOST_PER_MESSAGE):
        yield _work(account_id, selections[start : start + _MOST_PER_MESSAGE])


def _work(account_id: int, selections: Sequence[Selection]) -> Work[SelectionHead]:
    indexes: dict[str, list[int]] = defaultdict(list)
    for index, (_, webhook_ids) in enumerate(selections):
        for webhook_id in webhook_ids:
            indexes[webhook_id].append(index)
    head: SelectionHead = {"account": account_id, "at": clock.now_ms(), "count": len(selections)}
    elements = [payload.element(event) for event, _ in selections]
    return Work(head, packing.pack(indexes, elements), tenant=account_id)
