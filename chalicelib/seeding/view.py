"""Show configs and counters of campaigns as the API does (spec 4.12)."""

from __future__ import annotations

from typing import Any

from chalicelib.core.domain_names import spelling
from chalicelib.seeding.model import Config, Counter


def config_view(config: Config) -> dict[str, Any]:
    """Return a config as the API shows it."""
    return {
        "threshold": config.threshold,
        "duration": config.duration,
        "reset": config.reset,
        "match": list(config.match),
        "exclude": list(config.exclude),
    }


def counter_view(counter: Counter, config: Config) -> dict[str, Any]:
    """Return a counter as a status item; ``config`` is the present one of the account.

    A campaign that has been seeded shows the config at that time.
    """
    seeding = counter.seeding
    view = {
        "campaign": counter.campaign.campaign_id,
        "sending_domain": spelling(counter.campaign.sending_domain),
        "count": counter.count,
        "threshold": seeding.threshold if seeding else config.threshold,
        "seed_start": seeding.start_ms if seeding else None,
        "duration": seeding.duration if seeding else config.duration,
    }
    if counter.campaign.subaccount_id is not None:
        view["subaccount_id"] = counter.campaign.subaccount_id
    return view
