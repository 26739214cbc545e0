"""Suppression that follows from events (spec 2.9): hard bounces and complaints get no more mail.

Adding an entry again changes nothing, so an event that is met twice does no harm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from chalicelib.core.bounce_classes import HARD
from chalicelib.events.model import Event
from chalicelib.suppression import service
from chalicelib.suppression.model import BLOCKING, NON_TRANSACTIONAL, Entry, entry_about

_BOUNCE_RULE = "Bounce Rule"
_SOURCES = {
    "spam_complaint": "Spam Complaint",
    "list_unsubscribe": "List Unsubscribe",
    "link_unsubscribe": "Unsubscribe Link",
}
_BOUNCED = ("bounce", "out_of_band")
_LONGEST_DESCRIPTION = 250

Owner = tuple[int, int | None]


def suppress(events: Iterable[Event]) -> None:
    """Add the entries that ``events`` call for, to the list of whoever sent the message."""
    lists: dict[Owner, dict[tuple[str, str], Entry]] = defaultdict(dict)
    for event in events:
        subaccount = event.get("subaccount_id")
        owner = int(event["customer_id"]), int(subaccount) if subaccount else None
        for entry in _entries(event):
            lists[owner][entry.recipient, entry.type] = entry
    for (account_id, subaccount_id), entries in lists.items():
        service.add_all(account_id, subaccount_id, entries.values())


def _entries(event: Event) -> Iterator[Entry]:
    source = _source(event)
    if not source:
        return
    description = event.get("reason", "")[:_LONGEST_DESCRIPTION]
    for kind in BLOCKING if source == _BOUNCE_RULE else (NON_TRANSACTIONAL,):
        yield entry_about(event["rcpt_to"], kind, source, description=description)


def _source(event: Event) -> str:
    if event["type"] in _BOUNCED:
        return _BOUNCE_RULE if int(event["bounce_class"]) in HARD else ""
    return _SOURCES.get(event["type"], "")
