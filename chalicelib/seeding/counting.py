"""Count the messages of campaigns, and begin to seed a campaign at its threshold (spec 3).

The metrics of an account are counted in steps, one after the other, each with a number; a step
that was interrupted is repeated with the same number. Each step calls :func:`count`. That costs an
account without a config one cached read, and any other one request for each campaign that its
config covers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from chalicelib.core import clock, due, dynamo, ids
from chalicelib.core.dynamo import TransactionFailed
from chalicelib.seeding.model import Campaign, Config, Counter, Seeding, SeedSend
from chalicelib.seeding.seed_batches import queue_batch
from chalicelib.seeding.store import addresses, configs, counters, samples, seed_sends

_log = logging.getLogger(__name__)


def count(account_id: int, seq: int, counts: Mapping[tuple[int | None, str, str], int]) -> None:
    """Count messages that were injected, once for each step ``seq`` of an account.

    ``counts`` holds their number by subaccount (``None``: the primary account), campaign and
    sending domain. A campaign that reaches the threshold of the config is seeded.
    """
    config = configs.cached_config(account_id)
    if config is None:
        return
    campaigns = [Campaign(*key) for key in counts if config.covers(key[1])]
    if not campaigns:
        return
    subaccount_ids = {campaign.subaccount_id for campaign in campaigns}
    owners = configs.cached_enabled_owners(account_id, subaccount_ids)
    now_ms = clock.now_ms()
    for campaign in campaigns:
        if campaign.subaccount_id in owners:
            counter = counters.add(account_id, campaign, seq, counts[campaign], now_ms)
            if counter.seeding is None and counter.count >= config.threshold:
                _begin(account_id, counter, config, now_ms)


def _begin(account_id: int, counter: Counter, config: Config, now_ms: int) -> None:
    """Begin to seed a campaign, once; without a sample or a seed address, wait for a later step.

    The transaction makes the seed send due, so if a worker dies after the transaction, the next
    tick sends the messages that it has not queued.
    """
    campaign = counter.campaign
    sample = samples.newest(account_id, campaign)
    seeds = addresses.of_account(account_id)
    if sample is None or not seeds:
        missing = "seed addresses" if sample else "message to copy"
        _log.warning("account %s: no %s for campaign %r", account_id, missing, campaign)
        return
    seed_send = SeedSend(
        account_id,
        ids.transmission_id(),
        campaign,
        now_ms,
        config.duration_ms,
        tuple(seeds),
        sample,
    )
    eligible_ms = now_ms + config.reset_ms
    seeding = Seeding(now_ms, config.threshold, config.duration, eligible_ms)
    try:
        dynamo.transact(
            [
                counters.start_of_seeding(account_id, campaign, seeding),
                seed_sends.addition(seed_send),
                due.addition(seed_sends.due_entry(seed_send, 0)),
            ]
        )
    except TransactionFailed:
        return
    queue_batch(seed_send, 0)
