"""Apply events to suppression lists, and suppression lists to events (spec 2.9).

- Recipients of hard bounces and senders of complaints get no more mail. Who unsubscribes gets no
  more mail of the message's mailing list, or no more non-transactional mail if it had none. Adding
  an entry again changes nothing, so a redelivered event does no harm.
- Opens of recipients who objected to open tracking are not recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from chalicelib.core.bounce_classes import HARD
from chalicelib.core.message_event import Event
from chalicelib.core.reading import Read
from chalicelib.suppression import service
from chalicelib.suppression.model import (
    BLOCKING,
    NON_TRANSACTIONAL,
    Recipient,
    SuppressionEntry,
    entry_about,
)
from chalicelib.suppression.store import lookup_items
from chalicelib.tracking.engagement import OPENS

_BOUNCE_RULE = "Bounce Rule"
_UNSUBSCRIPTIONS = {"list_unsubscribe": "List Unsubscribe", "link_unsubscribe": "Unsubscribe Link"}
_SOURCES = {"spam_complaint": "Spam Complaint", **_UNSUBSCRIPTIONS}
_BOUNCES = ("bounce", "out_of_band")
_LONGEST_DESCRIPTION = 250

Owner = tuple[int, int | None]


def suppress(events: Iterable[Event]) -> None:
    """Add the entries that ``events`` cause to the lists of the messages' senders."""
    lists: dict[Owner, list[SuppressionEntry]] = defaultdict(list)
    for event in events:
        lists[_owner(event)] += _entries(event)
    for (account_id, subaccount_id), entries in lists.items():
        if entries:
            service.add_all(account_id, subaccount_id, entries)


def openers(events: Iterable[Event]) -> set[Recipient]:
    """Return the recipients of the events that are opens."""
    return {_recipient(event) for event in events if event["type"] in OPENS}


def without_suppressed_opens(
    events: Sequence[Event], read: Read = lookup_items.read_eventually
) -> list[Event]:
    """Return the events that may be recorded; takes one request for a hundred recipients."""
    objectors = lookup_items.suppressing_opens(openers(events), read)
    return [e for e in events if e["type"] not in OPENS or _recipient(e) not in objectors]


def _owner(event: Event) -> Owner:
    subaccount = event.get("subaccount_id")
    return int(event["customer_id"]), int(subaccount) if subaccount else None


def _recipient(event: Event) -> Recipient:
    return Recipient(*_owner(event), event["rcpt_to"])


def _entries(event: Event) -> Iterator[SuppressionEntry]:
    source = _source(event)
    if not source:
        return
    description = event.get("reason", "")[:_LONGEST_DESCRIPTION]
    list_id = event.get("list_id") if event["type"] in _UNSUBSCRIPTIONS else None
    # Who leaves a list by its transactional mail gets none of its mail
    leaves_all = list_id and event.get("transactional") == "1"
    for kind in BLOCKING if source == _BOUNCE_RULE or leaves_all else (NON_TRANSACTIONAL,):
        yield entry_about(
            event["rcpt_to"], kind, source, description=description, list_id=list_id or None
        )


def _source(event: Event) -> str:
    """Return the source of the entries that an event causes; empty if it causes none."""
    if event["type"] in _BOUNCES:
        return _BOUNCE_RULE if int(event["bounce_class"]) in HARD else ""
    return _SOURCES.get(event["type"], "")
