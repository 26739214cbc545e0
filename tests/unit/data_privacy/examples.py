"""Make messages with a context and events, for tests."""

from __future__ import annotations

from chalicelib.core import ids
from chalicelib.core.dynamo import Table
from chalicelib.core.message_event import Event
from chalicelib.events import service as events
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.tracking.store import message_context
from tests.unit.tracking.examples import NINE, TRANSMISSION


def send(
    *recipients: str, account: int = 1, transmission: str = TRANSMISSION, at_ms: int = NINE
) -> list[str]:
    """Store the context and the events of a work unit; return the message ids."""
    shared = Sender(account, None, transmission, "rest").fields()
    messages: list[tuple[int, Event]] = []
    for index, email in enumerate(recipients):
        own = recipient_fields(email, metadata={"name": email}, tags=[email]) | {
            "message_id": ids.message_id(transmission, index),
            "subject": f"Dear {email}",
        }
        messages.append((index, own))
    Table("messages").put(message_context.item_of(transmission, 0, shared, messages) or {})
    events.put_all([make_event("injection", shared | own, at_ms) for _, own in messages])
    return [own["message_id"] for _, own in messages]
