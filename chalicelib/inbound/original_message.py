"""Find the message that a report is about: its context, and how it was delivered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from chalicelib.core import clock, ids
from chalicelib.core.addresses import domain_of
from chalicelib.core.message_event import Event, EventFields
from chalicelib.delivery import deliveries
from chalicelib.events import service
from chalicelib.events.model import route_fields
from chalicelib.events.positions import EventWindow
from chalicelib.tracking.engagement import OBSERVED
from chalicelib.tracking.store import message_context
from chalicelib.tracking.store.message_context import Context

_MOST_EVENTS = 200  # events of the recipient; the last ones are mostly those of this message


@dataclass(frozen=True, slots=True)
class OriginalMessage:
    """A message that was sent: the fields that its events share, and its time in the queue.

    ``num_retries`` and ``queue_time`` (milliseconds) are in the form of event fields.
    """

    fields: EventFields
    num_retries: str
    queue_time: str

    @property
    def recipient(self) -> str:
        """Return the address of its recipient."""
        return str(self.fields["rcpt_to"])

    @property
    def subject(self) -> str:
        """Return its subject, empty if it is not known."""
        return str(self.fields.get("subject", ""))


def find(message_id: str) -> OriginalMessage | None:
    """Return a message, ``None`` if its context is not stored (any more).

    While nothing tells of its delivery, its queue time is the time since its injection, and its
    fields say that the events about it are completed when they are recorded.
    """
    context = message_context.of_message(message_id)
    if context is None:
        return None
    fields, now_ms = context.fields, clock.now_ms()
    injected_ms = round(datetime.fromisoformat(fields["injection_time"]).timestamp() * 1000)
    delivery: EventFields | None = _recorded_delivery(fields, EventWindow(injected_ms, now_ms + 1))
    if delivery is None:
        delivery = _delivery_in_journal(message_id, context, injected_ms)
    if delivery is None:
        incomplete: EventFields = {**fields, OBSERVED: {"unit": context.first_index}}
        return OriginalMessage(incomplete, "0", str(max(0, now_ms - injected_ms)))
    fields = {**fields, **route_fields(delivery)}
    return OriginalMessage(fields, delivery["num_retries"], delivery["queue_time"])


def find_each(message_ids: Iterable[str]) -> dict[str, OriginalMessage]:
    """Return those of the messages whose contexts are stored, by id.

    Their deliveries are looked up in the journal only. It takes two requests for the messages of a
    work unit.
    """
    contexts = message_context.of_each(message_ids)
    units = {
        (ids.transmission_of(message_id)[0], context.unit)
        for message_id, context in contexts.items()
        if context.unit
    }
    deliveries_by_unit = {unit: deliveries.of_unit(*unit) for unit in units}
    messages: dict[str, OriginalMessage] = {}
    for message_id, context in contexts.items():
        transmission_id, index = ids.transmission_of(message_id)
        delivery = deliveries_by_unit.get((transmission_id, context.unit), {}).get(index)
        fields: EventFields = {**context.fields, **(delivery.route if delivery else {})}
        messages[message_id] = OriginalMessage(
            fields, str(delivery.retries if delivery else 0), "0"
        )
    return messages


def was_sent_from(message_id: str, domain: str) -> bool:
    """Tell whether the envelope sender of a message had this domain; no, if nothing is known."""
    context = message_context.of_message(message_id) if message_id else None
    return context is not None and domain_of(context.fields.get("msg_from", "")) == domain.lower()


def _recorded_delivery(fields: EventFields, window: EventWindow) -> Event | None:
    """Return the event of the message's delivery, ``None`` if it is not found."""
    account, recipient = int(fields["customer_id"]), fields["rcpt_to"]
    events = service.newest_first(account, window, recipients=[recipient])
    for _, event in islice(events, _MOST_EVENTS):
        if event["type"] == "delivery" and event["message_id"] == fields["message_id"]:
            return event
    return None


def _delivery_in_journal(message_id: str, context: Context, injected_ms: int) -> EventFields | None:
    """Return the same fields of a delivery that is not recorded yet."""
    transmission_id, index = ids.transmission_of(message_id)
    delivery = (
        deliveries.of_unit(transmission_id, context.unit).get(index) if context.unit else None
    )
    if delivery is None:
        return None
    fields: EventFields = {
        **context.fields,
        **delivery.route,
        "num_retries": str(delivery.retries),
        "queue_time": str(max(0, delivery.at_ms - injected_ms)),
    }
    return fields
