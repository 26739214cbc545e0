"""Keep the fields of erased events that counting needs; none of them is about a person.

Access patterns of ``events``:

- the erased events of a span of time → ``<account>#erased`` / ``<ms>#<event id>``
"""

from __future__ import annotations

from typing import Final

from chalicelib.core.dynamo import Item, Table
from chalicelib.core.message_event import Event
from chalicelib.events.positions import EventWindow, position
from chalicelib.events.store import expiry

table = Table("events")

#: The fields that stay: searches may filter by them while the count comes from counters
FIELDS: Final = (
    "type",
    "subaccount_id",
    "campaign_id",
    "template_id",
    "ip_pool",
    "sending_domain",
    "sending_ip",
)


def item(event: Event) -> Item:
    """Return the item that is stored when an event is erased."""
    fields = {name: event[name] for name in FIELDS if name in event}
    key = {"pk": _partition(event["customer_id"]), "sk": position(event)}
    return key | fields | {"expires": expiry(event["timestamp"])}


def erased_events(account_id: int, window: EventWindow) -> list[Item]:
    """Return the remaining fields (``FIELDS``) of the erased events of a window."""
    low, high = window.positions()
    if low >= high:
        return []
    items = table.query_all(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {"pk": _partition(account_id), "low": low, "high": high},
    )
    return list(items)


def _partition(account: object) -> str:
    return f"{account}#erased"
