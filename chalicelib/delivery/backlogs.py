"""Keep account of the messages that are held back, for the queue page and for pacing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.delivery_results import Rest
from chalicelib.delivery.departures import Departures
from chalicelib.delivery.shaping import store
from chalicelib.delivery.shaping.store import Backlog
from chalicelib.delivery.store.work_units import WorkUnit


def remember(batch: DeliveryBatch, unit: WorkUnit, planned: Departures) -> None:
    """Remember what waits for long in ``unit``, by path."""
    reasons = {hold.path: hold.reason for hold in planned.holds.values() if hold.lasts}
    counts = Counter(hold.path for hold in planned.holds.values() if hold.lasts)
    account = str(batch.account_id)
    # Units are named anew with each part that leaves; their time is counted from the same moment
    since_ms = batch.injected_ms
    for path, messages in counts.items():
        backlog = Backlog(account, str(unit), messages, since_ms, reasons[path], batch.is_small)
        store.hold(path, backlog)


def move(batch: DeliveryBatch, planned: Departures, rest: Sequence[Rest]) -> None:
    """Remember what waits in the rest of a unit, and forget what waited in the unit itself."""
    if any(each.batch.paths for each in rest):
        remember(batch, batch.unit.continued, planned)
    for path in batch.paths:
        store.release(path, str(batch.account_id), str(batch.unit))
