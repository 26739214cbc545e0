"""Acceptance of a transmission over HTTP: the steps, in order; each lets it pass or refuses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.accounts.model import DEFAULT_OPTIONS
from chalicelib.core import clock, ids
from chalicelib.core.addresses import is_domain
from chalicelib.core.request import Caller
from chalicelib.sending_domains.lookup import check_sending_domain, invalid_domain
from chalicelib.transmissions.model import Json, Transmission
from chalicelib.transmissions.recipients import Sorted, sort_recipients
from chalicelib.transmissions.request import Content, Options, TransmissionRequest, read_request
from chalicelib.transmissions.submit import submit


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the caller is told: the id, and how many recipients were taken and refused."""

    id: str
    recipients: Sorted


def accept(caller: Caller, body: Any) -> Accepted:
    """Accept a transmission; returns when it is stored and queued, raises when it is refused."""
    request = read_request(body)
    recipients = sort_recipients(request.recipients or [])
    transmission = _describe(caller, request)
    _check_sending_domain(caller, transmission.content["from"])
    submit(transmission, recipients.accepted)
    return Accepted(transmission.id, recipients)


def _describe(caller: Caller, request: TransmissionRequest) -> Transmission:
    content = request.content or Content()
    return Transmission(
        id=ids.transmission_id(),
        account_id=caller.account_id,
        subaccount_id=caller.scope.owner,
        created_ms=clock.now_ms(),
        recv_method="rest",
        options=_options_in_force(request.options or Options()),
        content=content.model_dump(by_alias=True, exclude_none=True),
        campaign_id=request.campaign_id or "",
        description=request.description or "",
        metadata=request.metadata or {},
        substitution_data=request.substitution_data or {},
    )


def _options_in_force(given: Options) -> Json:
    opens = _first(given.open_tracking, DEFAULT_OPTIONS["rest_tracking_default"])
    clicks = _first(given.click_tracking, DEFAULT_OPTIONS["rest_tracking_default"])
    initial = DEFAULT_OPTIONS["initial_open_pixel_tracking"] if opens else False
    return {
        "open_tracking": opens,
        "click_tracking": clicks,
        "initial_open": _first(given.initial_open, initial),
        "transactional": _first(given.transactional, DEFAULT_OPTIONS["transactional_default"]),
        "ip_pool": given.ip_pool or "default",
    }


def _first(given: bool | None, default: bool) -> bool:
    return default if given is None else given


def _check_sending_domain(caller: Caller, sender: str | Json) -> None:
    """Refuse a From domain that is not the caller's; one that a template makes is checked later."""
    email = sender if isinstance(sender, str) else sender["email"]
    name = email.rpartition("@")[2].strip().rstrip(">").strip().lower()
    if "{{" in name or "}}" in name:
        return
    if "@" not in email or not is_domain(name):
        raise invalid_domain("No sending domain specified")
    check_sending_domain(name, caller.account_id, caller.scope.owner)
