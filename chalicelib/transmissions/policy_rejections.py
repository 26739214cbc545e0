"""Make the events of an SMTP message that is refused because its From is not the sender's to use.

The reply tells the client; one event for each recipient tells the account.
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.core import clock, ids
from chalicelib.core.addresses import domain_of, in_a_labels
from chalicelib.core.errors import ApiError
from chalicelib.core.message_event import Event, EventFields
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.templates.prebuilt import PrebuiltContent
from chalicelib.tracking.mailbox_providers import mailbox_provider
from chalicelib.transmissions.model import Transmission

_ADMIN_FAILURE = "25"


def policy_rejections(
    transmission: Transmission,
    recipients: Sequence[StoredRecipient],
    refusal: ApiError,
    *,
    mail_from: str,
    friendly_from: str,
    peer_ip: str,
    content: PrebuiltContent,
) -> list[Event]:
    """Return one event for each recipient (stored form) of a message that was not accepted.

    The transmission has its options in force. ``friendly_from`` is empty where the From holds no
    single address.
    """
    reason = f"550 5.7.1 {refusal.text}"
    options = transmission.options
    fields = Sender(
        account_id=transmission.account_id,
        subaccount_id=transmission.subaccount_id,
        transmission_id=transmission.id,
        recv_method=transmission.recv_method,
        campaign_id=transmission.campaign_id,
        transactional=options["transactional"],
        open_tracking=options["open_tracking"],
        click_tracking=options["click_tracking"],
        initial_pixel=options["initial_open"] and content.has_markup,
    ).fields() | {
        "amp_enabled": content.has_amp,
        "injection_time": clock.iso_ms(transmission.created_ms),
        "bounce_class": _ADMIN_FAILURE,
        "error_code": reason[:3],
        "reason": reason,
        "raw_reason": reason,
        "remote_addr": peer_ip,
    }
    if mail_from:
        fields["msg_from"] = in_a_labels(mail_from) or mail_from
    if friendly_from:
        fields |= {"friendly_from": friendly_from, "sending_domain": domain_of(friendly_from)}
    return [
        make_event(
            "policy_rejection",
            fields
            | _recipient_fields(transmission, recipient)
            | {"message_id": ids.message_id(transmission.id, index)},
            transmission.created_ms,
        )
        for index, recipient in enumerate(recipients)
    ]


def _recipient_fields(transmission: Transmission, recipient: StoredRecipient) -> EventFields:
    provider = mailbox_provider(domain_of(recipient["email"]))
    return recipient_fields(
        recipient["email"],
        metadata=transmission.metadata,
        tags=recipient.get("tags") or [],
        rcpt_type=recipient.get("rcpt_type", ""),
    ) | {"mailbox_provider": provider.provider, "mailbox_provider_region": provider.region}
