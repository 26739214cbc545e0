"""Make campaigns that are seeded, for tests."""

from __future__ import annotations

from typing import Any

from chalicelib.seeding.model import Campaign, Config
from chalicelib.seeding.sampling import sample_messages
from chalicelib.seeding.store import configs

START = 1_790_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE
DOMAIN = "mail.example.test"
SPRING = Campaign(None, "spring", DOMAIN)
SEEDS = ["a@seeds.test", "b@seeds.test", "c@seeds.test", "d@seeds.test"]


def seeded(account: int = 1, *owners: int | None, **fields: Any) -> Config:
    """Turn on seeding for an account's owners, with the least threshold by default."""
    defaults: dict[str, Any] = {"threshold": 1000, "duration": 20, "match": ("spr*",)}
    config = Config(**defaults | fields)
    configs.put_config(account, config)
    for owner in owners or (None,):
        configs.set_enabled(account, owner or 0, enabled=True)
    return config


def sample(campaign: Campaign = SPRING, transmission: str = "191930000000000001") -> None:
    """Store a sample of a campaign."""
    recipient = {"email": "ann@inbox.test", "name": "Ann", "substitution_data": {"n": 1}}
    messages = [(campaign.sending_domain, 0, recipient)]
    sample_messages(1, campaign.subaccount_id, campaign.campaign_id, transmission, messages)
