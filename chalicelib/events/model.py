"""Describe message events (spec 2.11) and make them.

Inside the service an event is a dictionary (``core.message_event``). Searches (``view``) and
webhooks give it their public forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from chalicelib.core import ids
from chalicelib.core.addresses import spelling
from chalicelib.core.message_event import Event, EventFields, RouteFields


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

    def fields(self) -> EventFields:
        """Return the event fields."""
        fields: EventFields = {
            "customer_id": str(self.account_id),
            "transmission_id": self.transmission_id,
            "recv_method": self.recv_method,
            "ip_pool": self.ip_pool,
            "open_tracking": self.open_tracking,
            "click_tracking": self.click_tracking,
            "initial_pixel": self.initial_pixel,
            "amp_enabled": False,
        }
        if self.subaccount_id:
            fields["subaccount_id"] = str(self.subaccount_id)
        if self.campaign_id:
            fields["campaign_id"] = self.campaign_id
        if self.template_id:
            fields["template_id"] = self.template_id
        if self.template_version:
            fields["template_version"] = self.template_version
        if self.transactional:
            fields["transactional"] = "1"
        if self.scheduled_time:
            fields["scheduled_time"] = self.scheduled_time
        return fields


def recipient_fields(
    email: str, *, metadata: Mapping[str, Any], tags: list[str], rcpt_type: str = ""
) -> EventFields:
    """Return the event fields about the recipient; ``metadata`` is already merged."""
    address = spelling(email)
    domain = address.rpartition("@")[2]
    fields: EventFields = {
        "rcpt_to": address,
        "raw_rcpt_to": email,
        "rcpt_hash": ids.recipient_hash(address),
        "rcpt_meta": dict(metadata),
        "rcpt_tags": tags,
        "recipient_domain": domain,
        "routing_domain": domain,
    }
    if rcpt_type:
        fields["rcpt_type"] = rcpt_type
    return fields


def route_fields(event: EventFields) -> RouteFields:
    """Return those fields of an event that tell how its message left."""
    route: RouteFields = {}
    if "sending_ip" in event:
        route["sending_ip"] = event["sending_ip"]
    if "ip_pool" in event:
        route["ip_pool"] = event["ip_pool"]
    return route


def make_event(
    kind: str,
    base: EventFields,
    at_ms: int,
    *,
    attempt: int = 0,
    nonce: str = "",
    **fields: Unpack[EventFields],
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
