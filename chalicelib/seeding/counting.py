"""Counting the messages of campaigns, and the beginning of seeding at the threshold (spec 3).

The metrics of an account are counted in steps, one after the other, each with a number; a step
that was interrupted is made again under the same number. :func:`count` is called in each of them.
It costs an account without a config one read that is remembered, and any other a request for each
campaign that is seeded.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from chalicelib.core import clock, due, dynamo, ids
from chalicelib.core.dynamo import TransactionFailed
from chalicelib.seeding.model import Campaign, Config, Counter, Seeding
from chalicelib.seeding.seed_batches import queue_stretch
from chalicelib.seeding.store import configs, counters, samples, seed_sends
from chalicelib.seeding.store.seed_sends import Run

_log = logging.getLogger(__name__)


def count(account_id: int, seq: int, counts: Mapping[tuple[int | None, str, str], int]) -> None:
    """Count messages that were injected, once for each step ``seq`` of an account.

    ``counts`` holds how many there were, by subaccount (``None``: the primary account), campaign
    and sending domain. A campaign that is seeded and has as many as its threshold begins to be.
    """
    config = configs.acting_config(account_id)
    if config is None:
        return
    covered = [Campaign(*key) for key in counts if config.covers(key[1])]
    if not covered:
        return
    owners = configs.acting_owners(account_id, {campaign.subaccount_id for campaign in covered})
    now_ms = clock.now_ms()
    for campaign in covered:
        if campaign.subaccount_id in owners:
            counter = counters.add(account_id, campaign, seq, counts[campaign], now_ms)
            if counter.seeding is None and counter.count >= config.threshold:
                _begin(account_id, counter, config, now_ms)


def _begin(account_id: int, counter: Counter, config: Config, now_ms: int) -> None:
    """Begin a campaign's seeding, once; without anything to send, or anybody to send it to, later.

    What was begun is due: whoever dies behind the transaction leaves the rest to the next tick.
    """
    campaign = counter.campaign
    sample = samples.newest(account_id, campaign)
    addresses = configs.addresses(account_id)
    if sample is None or not addresses:
        missing = "seed addresses" if sample else "message to copy"
        _log.warning("account %s: no %s for campaign %r", account_id, missing, campaign)
        return
    run = Run(
        account_id,
        ids.transmission_id(),
        campaign,
        now_ms,
        config.duration_ms,
        tuple(addresses),
        sample,
    )
    eligible_ms = now_ms + config.reset_ms
    seeding = Seeding(now_ms, config.threshold, config.duration, eligible_ms)
    try:
        dynamo.transact(
            [
                counters.starting(account_id, campaign, seeding),
                seed_sends.addition(run),
                due.addition(run.due(0)),
            ]
        )
    except TransactionFailed:
        return
    queue_stretch(run, 0)
