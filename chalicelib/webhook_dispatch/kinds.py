"""Tell of which kind a batch is."""

from __future__ import annotations

from functools import cache

from chalicelib.webhook_dispatch.batch import BatchHead
from chalicelib.webhook_dispatch.batch_kind import BatchKind
from chalicelib.webhook_dispatch.event_batches import EventBatches


def kind_of(head: BatchHead) -> BatchKind:
    """Return the kind of a batch."""
    return EVENTS if head.relay is None else relays()


@cache
def relays() -> BatchKind:
    """Return the kind of received messages, whose parts are loaded when the first one is met."""
    from chalicelib.webhook_dispatch.relay_batches import RelayBatches

    return RelayBatches()


EVENTS = EventBatches()
