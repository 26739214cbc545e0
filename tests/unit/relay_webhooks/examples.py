"""Make inbound domains and their relay webhooks."""

from __future__ import annotations

from typing import Any

from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.relay_webhooks import store
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.webhooks.credentials import Credentials, seal

DOMAIN = "in.example.test"


def make_domain(name: str = DOMAIN, **fields: Any) -> InboundDomain:
    """Store an inbound domain of account 1."""
    inbound_domains.create(InboundDomain(name, **{"account_id": 1, "created_ms": 0} | fields))
    domain = inbound_domains.get(name)
    assert domain is not None
    return domain


def make_relay_webhook(
    target: str, name: str = "100000000000000001", domain: str = DOMAIN, **fields: Any
) -> RelayWebhook:
    """Store a relay webhook of account 1 with its domain."""
    sealed = seal(fields.pop("credentials", Credentials()), name)
    usual = {"account_id": 1, "name": "Ours", "created_ms": 0, "sealed": sealed}
    webhook = RelayWebhook(name, target=target, domain=domain, **usual | fields)
    store.create(webhook, inbound_domains.relay_webhook_write(make_domain(domain), name))
    return webhook
