"""Store a message of each seeded campaign as its sample, now and then, while it is generated.

A process stores at most one sample of a campaign in ``SECONDS_BETWEEN`` (threads that do so at the
same time may each store one). Nothing is stored for accounts whose campaigns are not seeded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final

from chalicelib.core import caches, clock
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.store import configs, samples

SECONDS_BETWEEN: Final = 60.0

_MOST_REMEMBERED = 10_000

_next_times: dict[tuple[int, Campaign], float] = {}
_lock = threading.Lock()


def sample_messages(
    account_id: int,
    subaccount_id: int | None,
    campaign_id: str,
    transmission_id: str,
    messages: Iterable[tuple[str, int, StoredRecipient]],
) -> None:
    """Store messages of a transmission that were just generated, one for each sending domain.

    ``messages`` holds the sending domain of each, and the index and stored form of its recipient.
    """
    if not campaign_id:
        return
    config = configs.cached_config(account_id)
    if config is None or not config.covers(campaign_id):
        return
    if not configs.cached_enabled_owners(account_id, [subaccount_id]):
        return
    for domain, index, recipient in messages:
        campaign = Campaign(subaccount_id, campaign_id, domain)
        if _is_time(account_id, campaign):
            samples.put(account_id, campaign, transmission_id, index, recipient)
            # After the sample is stored, so that a put that failed is repeated
            _wait(account_id, campaign)


@caches.register
def clear_cache() -> None:
    """Forget which campaigns this process has sampled."""
    with _lock:
        _next_times.clear()


def _is_time(account_id: int, campaign: Campaign) -> bool:
    with _lock:
        return clock.now() >= _next_times.get((account_id, campaign), 0.0)


def _wait(account_id: int, campaign: Campaign) -> None:
    with _lock:
        if len(_next_times) >= _MOST_REMEMBERED:
            _next_times.clear()
        _next_times[account_id, campaign] = clock.now() + SECONDS_BETWEEN
