"""Roll up pending deltas: add each of them to the counters exactly once.

A rollup may run at any time, several times at once, and die anywhere. A rollup that was begun is
completed before another one of its account begins, and each counter takes a rollup once. Deltas
that a run does not reach stay pending.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed, Write
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.model import CAMPAIGN, EVENT_COUNTERS, POSITION, SUBACCOUNT
from chalicelib.metrics.store import counters, dimension_values, pending
from chalicelib.metrics.store.pending import PendingDeltas, Rollup

#: Who sent: subaccount (``None`` for the primary account), campaign and sending domain
Sending = tuple[int | None, str, str]

#: Counts elsewhere: called with the account, the number of the rollup and its delta. It may be
#: called again with the same ones, even after later ones, and must then change nothing.
Applier = Callable[[int, int, Delta], None]

MOST_ACTIONS: Final = 100

_log = logging.getLogger(__name__)
_INJECTED = EVENT_COUNTERS["injection"]


def roll_up_pending(appliers: Sequence[Applier] = ()) -> None:
    """Add all pending deltas to the counters, and call ``appliers`` for each rollup.

    An account whose rollup fails is tried again at the next call and does not hold up the others.
    """
    failed: set[int] = set()
    for deltas in pending.of_all_accounts():
        if deltas.account_id in failed:
            continue
        try:
            _roll_up(deltas, appliers)
        except Exception:
            _log.exception("rollup for account %d failed; it is tried again", deltas.account_id)
            failed.add(deltas.account_id)


def injected(delta: Delta) -> dict[Sending, int]:
    """Return how many messages were accepted, by who sent them."""
    numbers: dict[Sending, int] = defaultdict(int)
    for cell, counts in delta.cells():
        if cell.facet == MAIN and counts.get(_INJECTED):
            subaccount = int(cell.values[POSITION[SUBACCOUNT.name]])
            campaign = cell.values[POSITION[CAMPAIGN.name]]
            domain = cell.values[POSITION["sending-domain"]]
            numbers[subaccount or None, campaign, domain] += counts[_INJECTED]
    return dict(numbers)


def _roll_up(pending_deltas: PendingDeltas, appliers: Sequence[Applier]) -> None:
    if pending_deltas.rollup:
        _complete(pending_deltas.rollup, appliers)
    if pending_deltas.deltas:
        rollup = pending.begin_rollup(pending_deltas.account_id, pending_deltas.deltas)
        if rollup:
            _complete(rollup, appliers)


def _complete(rollup: Rollup, appliers: Sequence[Applier]) -> None:
    delta = rollup.delta()
    actions = counters.additions(rollup.account_id, delta.cells(), rollup.seq)
    while batch := list(islice(actions, MOST_ACTIONS)):
        _apply(batch)
    dimension_values.add(rollup.account_id, delta)
    for apply in appliers:
        apply(rollup.account_id, rollup.seq, delta)
    pending.finish_rollup(rollup)


def _apply(actions: list[Write]) -> None:
    """Apply the additions that were not applied before."""
    while actions:
        try:
            dynamo.transact(actions)
            return
        except TransactionFailed as failure:
            done = set(failure.failed)
            actions = [action for i, action in enumerate(actions) if i not in done]
