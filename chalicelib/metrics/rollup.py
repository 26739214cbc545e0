"""Folding: pending deltas become additions to counters, each exactly once.

It may run at any time, several times at once, and die anywhere: a fold that was begun is found and
completed before another one is fixed, and each counter takes a fold once. What is missed waits.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed, Write
from chalicelib.metrics import counters, pending, registry
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.model import CAMPAIGN, EVENT_COUNTERS, POSITION, SUBACCOUNT
from chalicelib.metrics.pending import Rollup, Waiting

#: Who sent: subaccount (``None`` for the primary account), campaign and sending domain
Sending = tuple[int | None, str, str]

#: Counts accepted messages elsewhere: called with the account, the number of the fold and the
#: numbers. It may be called again with the same ones, even after later ones, and must then change
#: nothing.
Applier = Callable[[int, int, Mapping[Sending, int]], None]

MOST_ACTIONS: Final = 100

_log = logging.getLogger(__name__)
_INJECTED = EVENT_COUNTERS["injection"]


def roll_up_pending(appliers: Sequence[Applier] = ()) -> None:
    """Add everything that waits to the counters, and tell ``appliers`` of each fold.

    An account whose fold fails is tried again at the next call and does not hold up the others.
    """
    failed: set[int] = set()
    for waiting in pending.waiting():
        if waiting.account_id in failed:
            continue
        try:
            _count(waiting, appliers)
        except Exception:
            _log.exception("counting for account %d failed; it is tried again", waiting.account_id)
            failed.add(waiting.account_id)


def _count(waiting: Waiting, appliers: Sequence[Applier]) -> None:
    if waiting.fold:
        _complete(waiting.fold, appliers)
    if waiting.deltas:
        fixed = pending.fix(waiting.account_id, waiting.deltas)
        if fixed:
            _complete(fixed, appliers)


def _complete(fold: Rollup, appliers: Sequence[Applier]) -> None:
    delta = fold.delta()
    actions = counters.additions(fold.account_id, delta.cells(), fold.seq)
    while some := list(islice(actions, MOST_ACTIONS)):
        _apply(some)
    registry.note(fold.account_id, delta)
    sent = injected(delta)
    for apply in appliers if sent else ():
        apply(fold.account_id, fold.seq, sent)
    pending.finish(fold)


def _apply(actions: list[Write]) -> None:
    """Apply the additions that were not applied before."""
    while actions:
        try:
            dynamo.transact(actions)
            return
        except TransactionFailed as failure:
            done = set(failure.failed)
            actions = [action for i, action in enumerate(actions) if i not in done]


def injected(delta: Delta) -> dict[Sending, int]:
    """Return how many messages were accepted, by who sent them."""
    found: dict[Sending, int] = defaultdict(int)
    for cell, counts in delta.cells():
        if cell.facet == MAIN and counts.get(_INJECTED):
            subaccount = int(cell.values[POSITION[SUBACCOUNT.name]])
            campaign = cell.values[POSITION[CAMPAIGN.name]]
            domain = cell.values[POSITION["sending-domain"]]
            found[subaccount or None, campaign, domain] += counts[_INJECTED]
    return dict(found)
