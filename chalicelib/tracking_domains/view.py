"""Build what the API shows of tracking domains."""

from __future__ import annotations

from typing import Any

from chalicelib.tracking_domains.model import HTTP_PORT, HTTPS_PORT, TrackingDomain, cname_target


def domain_view(domain: TrackingDomain) -> dict[str, Any]:
    """Return the tracking domain object."""
    view = {
        "domain": domain.domain,
        "port": HTTPS_PORT if domain.secure else HTTP_PORT,
        "secure": domain.secure,
        "default": domain.default,
        "status": status_view(domain),
    }
    if domain.subaccount_id is not None:
        view["subaccount_id"] = domain.subaccount_id
    return view


def dns_record_view(domain: TrackingDomain) -> dict[str, Any]:
    """Return the record to publish, with the stored result of its check."""
    return {
        "purpose": "cname",
        "type": "CNAME",
        "name": domain.domain,
        "value": cname_target(),
        "required": True,
        "status": domain.cname_status,
    }


def status_view(domain: TrackingDomain) -> dict[str, Any]:
    """Return the status object of a domain."""
    return {
        "verified": domain.verified,
        "cname_status": domain.cname_status,
        "compliance_status": domain.compliance_status,
    }
