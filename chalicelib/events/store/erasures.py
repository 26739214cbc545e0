"""Keep the fields of erased events that counting needs; none of them is about a person.

Access patterns of ``events``:

- the erased events of a span of time → ``<account>#erased`` / ``<ms>#<event id>``
"""

from __future__ import annotations

from typing import Final, NotRequired, cast

from chalicelib.core.dynamo import Keyed, Table, attributes_of
from chalicelib.core.message_event import Event
from chalicelib.events.positions import EventWindow, position
from chalicelib.events.store import expiry


class ErasureItem(Keyed):
    """The fields that stay of an erased event, those that it had."""

    type: str
    subaccount_id: NotRequired[str]
    campaign_id: NotRequired[str]
    template_id: NotRequired[str]
    ip_pool: NotRequired[str]
    sending_domain: NotRequired[str]
    sending_ip: NotRequired[str]
    expires: int


table: Table[ErasureItem] = Table("events")

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


def item(event: Event) -> ErasureItem:
    """Return the item that is stored when an event is erased."""
    key: Keyed = {"pk": _partition(event["customer_id"]), "sk": position(event)}
    fields = attributes_of(event, FIELDS)
    return cast(ErasureItem, {**key, **fields, "expires": expiry(event["timestamp"])})


def erased_events(account_id: int, window: EventWindow) -> list[ErasureItem]:
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
