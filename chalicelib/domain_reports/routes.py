"""Serve the figures of reports about a sending domain, which is beyond the specification."""

from __future__ import annotations

from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.domain_reports import store
from chalicelib.domain_reports.request import read_period
from chalicelib.domain_reports.view import dmarc_view, tls_view
from chalicelib.sending_domains.lookup import get_owned

routes = Routes(__name__)

_GRANT = "sending_domains/view"


@routes.get("/api/v1/sending-domains/{domain}/dmarc-reports", grant=_GRANT)
def show_dmarc_reports(request: Request, domain: str) -> Reply:
    """Sum up the DMARC reports about a domain: which addresses send in its name, what passes."""
    period = read_period(request.query)
    owned = get_owned(request.caller.scope, domain)
    reports = store.dmarc_reports(owned.account_id, owned.domain, period)
    return ok(dmarc_view(owned.domain, period, reports))


@routes.get("/api/v1/sending-domains/{domain}/tls-reports", grant=_GRANT)
def show_tls_reports(request: Request, domain: str) -> Reply:
    """Sum up the TLS reports about a domain: whether others reach its mail hosts by TLS."""
    period = read_period(request.query)
    owned = get_owned(request.caller.scope, domain)
    reports = store.tls_reports(owned.account_id, owned.domain, period)
    return ok(tls_view(owned.domain, period, reports))
