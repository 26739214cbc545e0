"""What is known of a message that was sent: what its events share, and how it was delivered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from chalicelib.core import clock
from chalicelib.events import service
from chalicelib.events.model import Event
from chalicelib.events.positions import Window
from chalicelib.tracking.store import message_context

_OF_ROUTE = ("sending_ip", "ip_pool")
_LOOKED_THROUGH = 200  # events of the recipient; the last ones are mostly those of this message


@dataclass(frozen=True, slots=True)
class Sent:
    """A message: the fields that its events share, and its way through the queue.

    ``num_retries`` and ``queue_time`` (milliseconds) are in the form of event fields.
    """

    fields: Event
    num_retries: str
    queue_time: str

    @property
    def recipient(self) -> str:
        """Return whom it was sent to."""
        return str(self.fields["rcpt_to"])


def find(message_id: str) -> Sent | None:
    """Return a message, ``None`` if nothing is known of it (any more).

    Where its delivery is not recorded yet, the time since it was made stands for its queue time.
    """
    known = message_context.of_message(message_id)
    if known is None:
        return None
    now = clock.now_ms()
    made = round(datetime.fromisoformat(known["injection_time"]).timestamp() * 1000)
    delivery = _delivery(known, Window(made, now + 1))
    route = {name: delivery[name] for name in _OF_ROUTE if name in delivery}
    return Sent(
        known | route,
        delivery.get("num_retries", "0"),
        delivery.get("queue_time", str(max(0, now - made))),
    )


def _delivery(known: Event, window: Window) -> Event:
    """Return the event of the message's delivery, empty if it is not found."""
    account, recipient = int(known["customer_id"]), known["rcpt_to"]
    found = service.newest_first(account, window, recipients=[recipient])
    for _, event in islice(found, _LOOKED_THROUGH):
        if event["type"] == "delivery" and event["message_id"] == known["message_id"]:
            return event
    return {}
