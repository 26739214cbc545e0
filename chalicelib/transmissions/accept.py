"""Accept a transmission over HTTP: check it, find its content and sender, then submit it.

Each step lets the transmission pass, or raises the error that refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.accounts.store.allowance import Allowance
from chalicelib.core import clock, ids
from chalicelib.core.errors import ApiError, ServiceError, bad_format
from chalicelib.core.request import Caller
from chalicelib.recipient_lists.recipients import Refusals, check_recipients
from chalicelib.recipient_lists.stored_form import decode
from chalicelib.transmissions.audit_lines import send_line
from chalicelib.transmissions.leases import lease_list, lease_template, leases_on, release
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.recipients import ListRecipients, Recipients, RequestRecipients
from chalicelib.transmissions.request import (
    STORED_CONTENT,
    StoredList,
    TransmissionRequest,
    read_request,
    read_start_time,
)
from chalicelib.transmissions.resolve import ResolvedContent, find_content, resolve, withdraw
from chalicelib.transmissions.sender import (
    Sender,
    check_options,
    check_sandbox,
    find_sender,
    from_domain,
    prefetch_with_key,
)
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.submit import submit


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The result of an acceptance; ``start_ms`` is 0 for a transmission that starts at once."""

    id: str
    count: int
    refusals: Refusals
    start_ms: int


def accept(caller: Caller, body: Any, transmission_id: str | None = None) -> Acceptance:
    """Accept a transmission; returns when it is stored and queued, raises when it is refused.

    A request that is repeated under the same ``transmission_id`` is sent once.
    """
    request = read_request(body)
    transmission = _describe(caller, request, transmission_id or ids.transmission_id())
    check_sandbox(transmission)
    content = find_content(
        transmission, _ab_test_recipient(request), starts=not transmission.start_ms
    )
    recipients: Recipients | None = None
    try:
        recipients, refusals = _find_recipients(transmission, request)
        sender = _find_sender(transmission, content)
        if caller.key_id:
            prefetch_with_key(caller.key_id, sender)
        allowance = sender.allowance(transmission)
        _check_allowance(allowance, transmission, recipients.count)
        transmission = check_options(transmission, sender)
        transmission = _with_leases(transmission, content, recipients)
        transmission = _with_defaults(transmission, content, sender)
        submit(transmission, recipients, allowance, send_line(transmission, recipients))
    except ServiceError:
        release(transmission, leases_on(content.template, recipients))
        withdraw(transmission, content)
        raise
    return Acceptance(transmission.id, recipients.count, refusals, transmission.start_ms)


def _describe(caller: Caller, request: TransmissionRequest, transmission_id: str) -> Transmission:
    options = request.options.model_dump(exclude_none=True, exclude={"start_time"})
    content = request.content.model_dump(by_alias=True, exclude_defaults=True)
    names = {name: content[name] for name in STORED_CONTENT if name in content}
    return Transmission(
        id=transmission_id,
        account_id=caller.account_id,
        subaccount_id=caller.scope.owner,
        start_ms=read_start_time(request.options.start_time) or 0,
        created_ms=clock.now_ms(),
        recv_method="rest",
        options=options,
        requested={"options": options, "content": names},
        content=content,
        override=request.override.model_dump(by_alias=True, exclude_none=True),
        campaign_id=request.campaign_id,
        description=request.description,
        metadata=request.metadata,
        substitution_data=request.substitution_data,
        return_path=request.return_path or "",
        tracking_domain=request.tracking_domain or "",
    )


def _ab_test_recipient(request: TransmissionRequest) -> str:
    """Return the recipient for whom an A/B test chooses a template; raises 1300 for several."""
    if not request.content.ab_test_id:
        return ""
    if isinstance(request.recipients, StoredList) or len(request.recipients) != 1:
        raise bad_format("an A/B test is sent to a single recipient")
    return decode(check_recipients(request.recipients).accepted[0])["email"]


def _find_recipients(
    transmission: Transmission, request: TransmissionRequest
) -> tuple[Recipients, Refusals]:
    """Return the recipients of the request or of its list, and the errors of the bad ones."""
    if isinstance(request.recipients, StoredList):
        recipient_list = lease_list(transmission, request.recipients.list_id)
        return ListRecipients(recipient_list), Refusals()
    recipients = check_recipients(request.recipients)
    return RequestRecipients(recipients.accepted), recipients.refusals


def _find_sender(transmission: Transmission, content: ResolvedContent) -> Sender:
    """Return the sender, who must be allowed to use the From domain of the content."""
    # Read first, as this refuses a malformed message even where its From does not count
    content_sender = content.sender
    override_sender = transmission.override.get("from")
    domain = from_domain(override_sender or content_sender, is_template=not override_sender)
    return find_sender(
        transmission.account_id,
        transmission.subaccount_id,
        None if transmission.is_sandbox else domain,
    )


def _check_allowance(allowance: Allowance, transmission: Transmission, count: int) -> None:
    """Raise 420 for recipients over a limit, unless this repeats a request that counted them."""
    try:
        allowance.check(count)
    except ApiError:
        if not transmissions.exists(transmission.id):
            raise


def _with_leases(
    transmission: Transmission, content: ResolvedContent, recipients: Recipients
) -> Transmission:
    """Return the transmission with its leases, on the template only if it is scheduled.

    What starts at once has its content. The sample template needs no lease: no account can delete
    it.
    """
    template = content.template if transmission.start_ms else None
    if template and template.is_sample:
        template = None
    if template:
        lease_template(transmission, template)
    return replace(transmission, leases=leases_on(template, recipients))


def _with_defaults(
    transmission: Transmission, content: ResolvedContent, sender: Sender
) -> Transmission:
    """Return the transmission with the account's choices, and resolved if it starts at once.

    A scheduled one is resolved when it starts: the template may change until then (spec 3).
    """
    transmission = replace(transmission, defaults=sender.defaults("rest_tracking_default"))
    return transmission if transmission.start_ms else resolve(transmission, content)
