"""Acceptance of a transmission over HTTP: the steps, in order; each lets it pass or refuses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from chalicelib.accounts.store.usage import Allowance
from chalicelib.core import clock, ids
from chalicelib.core.addresses import is_domain, read_mailbox
from chalicelib.core.errors import ApiError, ServiceError, bad_format, invalid_domain
from chalicelib.core.request import Caller
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.recipients import Refusals, sort_recipients
from chalicelib.transmissions.checks import check_options
from chalicelib.transmissions.leases import noted, release, use_list, use_template
from chalicelib.transmissions.model import Json, Transmission
from chalicelib.transmissions.request import StoredList, TransmissionRequest, read_request
from chalicelib.transmissions.resolve import Found, find_content, resolved, withdraw
from chalicelib.transmissions.sandbox import allowance, check_sandbox, is_sandbox
from chalicelib.transmissions.sender import find_sender
from chalicelib.transmissions.start_time import read_start_time
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.submit import submit


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the caller is told; ``start_ms`` is 0 for a transmission that starts at once."""

    id: str
    count: int
    refusals: Refusals
    start_ms: int


def accept(caller: Caller, body: Any, transmission_id: str | None = None) -> Accepted:
    """Accept a transmission; returns when it is stored and queued, raises when it is refused.

    A request that is repeated under the same ``transmission_id`` is sent once.
    """
    request = read_request(body)
    start_ms = read_start_time(request.options.start_time) or 0
    sent = _describe(caller, request, transmission_id or ids.transmission_id(), start_ms)
    check_sandbox(sent)
    found = find_content(sent, _only_recipient(request), starts=not start_ms)
    named: RecipientList | None = None
    try:
        if isinstance(request.recipients, StoredList):
            named = use_list(sent, request.recipients.list_id)
            return _accept(sent, found, named, Refusals())
        sorted_ = sort_recipients(request.recipients)
        return _accept(sent, found, sorted_.accepted, sorted_.refusals)
    except ServiceError:
        release(sent, noted(found.template, named))
        withdraw(sent, found)
        raise


def _accept(
    sent: Transmission,
    found: Found,
    recipients: Sequence[Json] | RecipientList,
    refusals: Refusals,
) -> Accepted:
    named = recipients if isinstance(recipients, RecipientList) else None
    count = recipients.count if isinstance(recipients, RecipientList) else len(recipients)
    given = found.sender  # refuses a message that is none, even where its From does not count
    domain = _sending_domain(sent.override.get("from") or given)
    own_domain = None if is_sandbox(sent) else domain
    sender = find_sender(sent.account_id, sent.subaccount_id, own_domain)
    meter = allowance(sent, sender)
    _check_room(sent, meter, count)
    sent = check_options(sent, sender)
    takes_time = sent.start_ms or count > settings().chunk_recipients
    template = found.template if takes_time else None
    if template:
        use_template(sent, template, count)
    defaults = sender.defaults("rest_tracking_default")
    sent = replace(sent, defaults=defaults, uses=noted(template, named))
    # What starts later is resolved when it starts: the template may change until then (spec 3)
    submit(sent if sent.start_ms else resolved(sent, found), recipients, meter)
    return Accepted(sent.id, count, refusals, sent.start_ms)


def _check_room(sent: Transmission, meter: Allowance, count: int) -> None:
    """Raise 420 for recipients over a limit, unless this repeats a request that counted them."""
    try:
        meter.check(count)
    except ApiError:
        if not transmissions.exists(sent.id):
            raise


def _describe(
    caller: Caller, request: TransmissionRequest, transmission_id: str, start_ms: int
) -> Transmission:
    return Transmission(
        id=transmission_id,
        account_id=caller.account_id,
        subaccount_id=caller.scope.owner,
        created_ms=clock.now_ms(),
        recv_method="rest",
        options=request.options.model_dump(exclude_none=True, exclude={"start_time"}),
        content=request.content.model_dump(by_alias=True, exclude_defaults=True),
        override=request.override.model_dump(by_alias=True, exclude_none=True),
        campaign_id=request.campaign_id,
        description=request.description,
        metadata=request.metadata,
        substitution_data=request.substitution_data,
        return_path=request.return_path or "",
        tracking_domain=request.tracking_domain or "",
        start_ms=start_ms,
    )


def _only_recipient(request: TransmissionRequest) -> str:
    """Return the recipient for whom an A/B test chooses a template; raises 1300 for several."""
    if not request.content.ab_test_id:
        return ""
    if isinstance(request.recipients, StoredList) or len(request.recipients) != 1:
        raise bad_format("an A/B test is sent to a single recipient")
    return sort_recipients(request.recipients).accepted[0]["email"]


def _sending_domain(sender: str | Json) -> str | None:
    """Return the From domain, or ``None`` for one that a template makes: that is checked later."""
    email = sender if isinstance(sender, str) else sender["email"]
    if "{{" not in email:
        mailbox = read_mailbox(email)  # none of several: another's domain may be among them
        if mailbox is None:
            raise invalid_domain("No sending domain specified")
        return mailbox.domain
    name = email.rpartition("@")[2].strip().rstrip(">").strip().lower()
    if "{{" in name or "}}" in name:
        return None
    if "@" not in email or not is_domain(name):
        raise invalid_domain("No sending domain specified")
    return name
