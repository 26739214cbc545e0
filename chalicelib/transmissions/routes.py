"""``/transmissions`` (spec 4.1)."""

from __future__ import annotations

from typing import Any

from chalicelib.core.errors import ServiceError, missing_parameter
from chalicelib.core.fields import integer
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.transmissions import scheduling, view
from chalicelib.transmissions.accept import Accepted, accept
from chalicelib.transmissions.store import idempotency, transmissions
from chalicelib.transmissions.store.idempotency import Replay

routes = Routes(__name__)

_MOST_ERRORS = 1_000_000
_REPLAYED = {"X-Idempotent-Replayed": "true"}


@routes.post("/api/v1/transmissions", grant="transmissions/modify")
def create_transmission(request: Request) -> Reply:
    """Accept a transmission and say how many of its recipients were."""
    shown = integer(request.query, "num_rcpt_errors", _MOST_ERRORS, 0, _MOST_ERRORS)
    key = request.headers.get("idempotency-key")
    if key is None:
        return _reply(accept(request.caller, request.json()), shown)
    return _accept_once(request, key, shown)


@routes.get("/api/v1/transmissions", grant="transmissions/view")
def list_transmissions(request: Request) -> Reply:
    """List the account's transmissions to more than one recipient."""
    scope, query = request.caller.scope, request.query
    found = [
        view.summary(each)
        for each in transmissions.in_account(scope.account_id)
        if each.recipients > 1
        and scope.covers(each.subaccount_id)
        and query.get("campaign_id") in (None, each.campaign_id)
        and query.get("template_id") in (None, each.template_id)
    ]
    return ok(found)


@routes.get("/api/v1/transmissions/{transmission_id}", grant="transmissions/view")
def show_transmission(request: Request, transmission_id: str) -> Reply:
    """Show one transmission with its state and counts."""
    record = scheduling.owned(request.caller.scope, transmission_id)
    return ok({"transmission": view.show(record)})


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
        text = "campaign_id is a required parameter"
        raise missing_parameter(text)
    scheduling.cancel_campaign(request.caller.scope, campaign_id)
    return empty(204)


def _accept_once(request: Request, key: str, shown: int) -> Reply:
    """Accept under an idempotency key, or repeat the answer that was given (spec 4.1)."""
    idempotency.check_key(key)
    body = request.json()
    claimed = idempotency.claim(request.caller.scope, key, body)
    if isinstance(claimed, Replay):
        return Reply(claimed.status, claimed.body, _REPLAYED)
    try:
        accepted = accept(request.caller, body, claimed.transmission_id)
    except ServiceError as refusal:
        if refusal.status < 500:
            idempotency.release(claimed)
        raise
    reply = _reply(accepted, shown)
    idempotency.complete(claimed, Replay(reply.status, reply.body), accepted.start_ms / 1000)
    return reply


def _reply(accepted: Accepted, shown: int) -> Reply:
    rejected = accepted.refusals.count
    results: dict[str, Any] = {
        "id": accepted.id,
        "total_accepted_recipients": accepted.count,
        "total_rejected_recipients": rejected,
    }
    if not rejected:
        return ok(results)
    error = {
        "message": "transmission created, but with validation errors",
        "code": "2000",
        "description": f"{rejected} recipient(s) were not accepted",
    }
    return ok(results | {"rcpt_to_errors": accepted.refusals.shown(shown)}, errors=[error])
