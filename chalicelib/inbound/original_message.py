"""Find the message that a report is about: its context, and how it was delivered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from chalicelib.core import clock
from chalicelib.core.addresses import domain_of
from chalicelib.events import service
from chalicelib.events.model import Event
from chalicelib.events.positions import Window
from chalicelib.tracking.store import message_context

_OF_ROUTE = ("sending_ip", "ip_pool")
_MOST_EVENTS = 200  # events of the recipient; the last ones are mostly those of this message


@dataclass(frozen=True, slots=True)
class OriginalMessage:
    """A message that was sent: the fields that its events share, and its time in the queue.

    ``num_retries`` and ``queue_time`` (milliseconds) are in the form of event fields.
    """

    fields: Event
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

    While its delivery is not recorded, its queue time is the time since its injection.
    """
    context = message_context.of_message(message_id)
    if context is None:
        return None
    now_ms = clock.now_ms()
    injected_ms = round(datetime.fromisoformat(context["injection_time"]).timestamp() * 1000)
    delivery = _delivery(context, Window(injected_ms, now_ms + 1))
    route = {name: delivery[name] for name in _OF_ROUTE if name in delivery}
    return OriginalMessage(
        context | route,
        delivery.get("num_retries", "0"),
        delivery.get("queue_time", str(max(0, now_ms - injected_ms))),
    )


def was_sent_from(message_id: str, domain: str) -> bool:
    """Tell whether the envelope sender of a message had this domain; no, if nothing is known."""
    context = message_context.of_message(message_id) if message_id else None
    return context is not None and domain_of(context.get("msg_from", "")) == domain.lower()


def _delivery(context: Event, window: Window) -> Event:
    """Return the event of the message's delivery, empty if it is not found."""
    account, recipient = int(context["customer_id"]), context["rcpt_to"]
    events = service.newest_first(account, window, recipients=[recipient])
    for _, event in islice(events, _MOST_EVENTS):
        if event["type"] == "delivery" and event["message_id"] == context["message_id"]:
            return event
    return {}
