"""Tracking domains for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chalicelib.core.scope import Scope
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.model import TrackingDomain


def store_tracking_domain(name: str = "t.test", account: int = 1, **fields: Any) -> TrackingDomain:
    """Store a verified domain; ``default=True`` makes it the default of its owner."""
    default = fields.pop("default", False)
    domain = TrackingDomain(name, account, 1.0, **{"cname_status": "valid"} | fields)
    assert store.create(domain)
    if default:
        store.change(Scope(account, None), name, lambda before: replace(before, default=True))
    return domain
