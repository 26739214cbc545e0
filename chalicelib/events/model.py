"""Describe message events (spec 2.11) and make them.

Inside the service an event is a flat dictionary of the fields of spec 2.11, without those that do
not apply, and with ``timestamp`` as whole milliseconds. Searches (``view``) and webhooks give it
their public forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.core import ids
from chalicelib.core.addresses import spelling

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sender:
    """The event fields that all messages of one transmission share."""

    account_id: int
    subaccount_id: int | None
    transmission_id: str
    recv_method: str
    campaign_id: str = ""
    template_id: str = ""
    template_version: str = ""
    ip_pool: str = "default"
    transactional: bool = False
    open_tracking: bool = False
    click_tracking: bool = False
    initial_pixel: bool = False
    scheduled_time: str = ""

    def fields(self) -> Event:
        """Return the event fields."""
        fields: Event = {
            "customer_id": str(self.account_id),
            "transmission_id": self.transmission_id,
            "recv_method": self.recv_method,
            "ip_pool": self.ip_pool,
            "open_tracking": self.open_tracking,
            "click_tracking": self.click_tracking,
            "initial_pixel": self.initial_pixel,
            "amp_enabled": False,
        }
        optional = {
            "subaccount_id": str(self.subaccount_id or ""),
            "campaign_id": self.campaign_id,
            "template_id": self.template_id,
            "template_version": self.template_version,
            "transactional": "1" if self.transactional else "",
            "scheduled_time": self.scheduled_time,
        }
        return fields | {name: value for name, value in optional.items() if value}


def recipient_fields(
    email: str, *, metadata: Mapping[str, Any], tags: list[str], rcpt_type: str = ""
) -> Event:
    """Return the event fields about the recipient; ``metadata`` is already merged."""
    address = spelling(email)
    domain = address.rpartition("@")[2]
    fields: Event = {
        "rcpt_to": address,
        "raw_rcpt_to": email,
        "rcpt_hash": ids.recipient_hash(address),
        "rcpt_meta": dict(metadata),
        "rcpt_tags": tags,
        "recipient_domain": domain,
        "routing_domain": domain,
    }
    return fields | ({"rcpt_type": rcpt_type} if rcpt_type else {})


def make_event(
    kind: str,
    base: Mapping[str, Any],
    at_ms: int,
    *,
    attempt: int = 0,
    nonce: str = "",
    **fields: Any,
) -> Event:
    """Return an event of type ``kind`` at ``at_ms`` on top of its message's ``base`` fields.

    Its id derives from the message (or from transmission and recipient if no message was
    generated), the type and the attempt: making it again makes the same event. A ``nonce`` tells
    apart events that can happen to a message any number of times, such as opens.
    """
    subject = base.get("message_id") or f"{base['transmission_id']}/{base['rcpt_to']}"
    return {
        **base,
        **fields,
        "type": kind,
        "timestamp": at_ms,
        "event_id": ids.event_id(subject, f"{kind}/{nonce}" if nonce else kind, attempt),
    }
