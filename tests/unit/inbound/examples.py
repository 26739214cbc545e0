"""A message that was sent, and the addresses to which hosts report about it."""

from __future__ import annotations

from typing import Any

from chalicelib.core import clock, ids, queues
from chalicelib.core.dynamo import Table
from chalicelib.core.message_event import Event
from chalicelib.events import stream
from chalicelib.events.model import Sender, recipient_fields
from chalicelib.sending_domains import return_path
from chalicelib.tracking import unsubscribe
from chalicelib.tracking.store import message_context
from tests.fake_cloud import queued
from tests.unit.inbound.samples import RCPT

INJECTED_MS = 1_769_850_000_000  # 2026-01-31 09:00:00 UTC
TRANSMISSION = "191930000000000001"
DOMAIN = "bounce.test"
MESSAGE = ids.message_id(TRANSMISSION, 3)

COMMON_FIELDS = Sender(1, 7, TRANSMISSION, "rest", campaign_id="spring").fields()


def own_fields(index: int = 3, **more: Any) -> Event:
    """Return the event fields of one message of the transmission."""
    message_id = ids.message_id(TRANSMISSION, index)
    return {
        **recipient_fields(RCPT, metadata={"n": index}, tags=["t"], rcpt_type="cc"),
        "message_id": message_id,
        "subject": "Hello",
        "msg_from": f"{return_path.local_part(message_id, INJECTED_MS)}@{DOMAIN}",
        "injection_time": clock.iso_ms(INJECTED_MS),
        "sending_domain": "example.test",
        **more,
    }


def store_context(index: int = 3, unit: str = "", **more: Any) -> None:
    """Store the context of a message, as generation does."""
    about = [(index, own_fields(index, **more))]
    item = message_context.item_of(TRANSMISSION, index, COMMON_FIELDS, about, unit)
    Table("messages").put(item or {})


def bounce_address(message_id: str = MESSAGE, domain: str = DOMAIN) -> str:
    """Return the envelope sender of a message."""
    return f"{return_path.local_part(message_id, INJECTED_MS)}@{domain}"


def unsubscribe_address(message_id: str = MESSAGE, domain: str = DOMAIN) -> str:
    """Return the address in the List-Unsubscribe header of a message."""
    return unsubscribe.address(message_id, domain)


def emitted() -> list[Event]:
    """Take the events off their queue."""
    return [event for body in queued("events") for event in stream.decode(queues.read(body))]
