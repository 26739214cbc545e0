"""Serve ``/transmissions`` (spec 4.1)."""

from __future__ import annotations

from itertools import islice

from chalicelib.core.errors import ServiceError, missing_parameter
from chalicelib.core.fields import integer
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.transmissions import scheduling
from chalicelib.transmissions.accept import accept
from chalicelib.transmissions.content_view import content_view
from chalicelib.transmissions.model import MOST_LISTED
from chalicelib.transmissions.store import idempotency, transmissions
from chalicelib.transmissions.store.idempotency import Replay
from chalicelib.transmissions.view import (
    acceptance_reply,
    shown_template_id,
    summary_view,
    transmission_view,
)

routes = Routes(__name__)

_MOST_ERRORS = 1_000_000
_REPLAYED = {"X-Idempotent-Replayed": "true"}


@routes.post("/api/v1/transmissions", grant="transmissions/modify")
def create_transmission(request: Request) -> Reply:
    """Accept a transmission and say how many of its recipients were."""
    most_errors = integer(request.query, "num_rcpt_errors", _MOST_ERRORS, 0, _MOST_ERRORS)
    key = request.headers.get("idempotency-key")
    if key is None:
        return acceptance_reply(accept(request.caller, request.json()), most_errors)
    return _accept_once(request, key, most_errors)


@routes.get("/api/v1/transmissions", grant="transmissions/view")
def list_transmissions(request: Request) -> Reply:
    """List the account's transmissions to more than one recipient, or the first ``limit``."""
    scope, query = request.caller.scope, request.query
    limit = integer(query, "limit", None, 1, MOST_LISTED)
    summaries = (
        summary
        for summary in transmissions.in_account(scope.account_id)
        if summary.recipients > 1
        and scope.covers(summary.subaccount_id)
        and query.get("campaign_id") in (None, summary.campaign_id)
        and query.get("template_id") in (None, shown_template_id(summary))
    )
    return ok([summary_view(summary) for summary in islice(summaries, limit)])


@routes.get("/api/v1/transmissions/{transmission_id}", grant="transmissions/view")
def show_transmission(request: Request, transmission_id: str) -> Reply:
    """Show one transmission with its state and counts."""
    record = scheduling.get_in_scope(request.caller.scope, transmission_id)
    return ok({"transmission": transmission_view(record)})


@routes.get("/api/v1/transmissions/{transmission_id}/content", grant="transmissions/view")
def show_content(request: Request, transmission_id: str) -> Reply:
    """Show the content of a transmission of the last 30 days, as it was sent."""
    record = scheduling.get_in_scope(request.caller.scope, transmission_id)
    return ok(content_view(record.transmission))


@routes.delete("/api/v1/transmissions/{transmission_id}", grant="transmissions/modify")
def cancel_transmission(request: Request, transmission_id: str) -> Reply:
    """Cancel a scheduled transmission."""
    scheduling.cancel(request.caller.scope, transmission_id)
    return empty(204)


@routes.delete("/api/v1/transmissions", grant="transmissions/modify")
def cancel_campaign(request: Request) -> Reply:
    """Cancel all that is scheduled for a campaign."""
    campaign_id = request.query.get("campaign_id")
    if not campaign_id:
        raise missing_parameter("campaign_id is a required parameter")
    scheduling.cancel_campaign(request.caller.scope, campaign_id)
    return empty(204)


def _accept_once(request: Request, key: str, most_errors: int) -> Reply:
    """Accept under an idempotency key, or repeat the answer to the first request (spec 4.1)."""
    idempotency.check_key(key)
    body = request.json()
    claim = idempotency.claim(request.caller.scope, key, body)
    if isinstance(claim, Replay):
        return Reply(claim.status, claim.body, _REPLAYED)
    try:
        acceptance = accept(request.caller, body, claim.transmission_id)
    except ServiceError as refusal:
        if refusal.status < 500:
            idempotency.release(claim)
        raise
    reply = acceptance_reply(acceptance, most_errors)
    idempotency.complete(claim, Replay(reply.status, reply.body), acceptance.start_ms / 1000)
    return reply
