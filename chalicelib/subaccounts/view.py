"""Show subaccounts as the API does (spec 2.6)."""

from __future__ import annotations

from typing import Any

from chalicelib.subaccounts.model import DEFAULT_OPTIONS, Subaccount


def subaccount_view(subaccount: Subaccount) -> dict[str, Any]:
    """Return a subaccount as the API shows it."""
    return {
        "id": subaccount.id,
        "name": subaccount.name,
        "status": subaccount.status,
        "compliance_status": subaccount.effective_compliance_status,
        "ip_pool": subaccount.ip_pool,
        "options": DEFAULT_OPTIONS | subaccount.options,
    }
