"""Inbound domains for tests."""

from __future__ import annotations

from typing import Any

from chalicelib.inbound_domains import store
from chalicelib.inbound_domains.model import InboundDomain


def store_inbound_domain(name: str = "in.test", account: int = 1, **fields: Any) -> InboundDomain:
    """Store a domain without routes and relay webhook."""
    domain = InboundDomain(name, account, 1, **fields)
    assert store.create(domain)
    return domain
