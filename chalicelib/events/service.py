"""Store events where searches find them, read them back and erase those of a recipient.

Storing events again changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.addresses import spellings
from chalicelib.core.dynamo import TableItem
from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.events import search
from chalicelib.events.event_blocks import Conditions
from chalicelib.events.positions import EventWindow, position, position_at
from chalicelib.events.store import blocks, day_index, erasures, partitions

#: Blocks of a recipient in which a delivery is looked for: three requests at most
_MOST_BLOCKS: Final = 336


def put_all(events: Sequence[Event], *, along: Sequence[TableItem] = ()) -> None:
    """Store events (of any accounts) of the types that searches find; ignore the others.

    A hundred events of one transmission take 103 items in 5 requests. The items ``along`` are
    written by the first request.
    """
    unique = {(event["customer_id"], event["event_id"]): event for event in events}.values()
    visible = sorted((event for event in unique if not _is_hidden(event)), key=position)
    entries = list(day_index.campaign_entries(visible))
    entries += [day_index.hidden_campaign_entry(event) for event in unique if _is_hidden(event)]
    items = [*along]
    for item, needed in blocks.place(visible):
        items.append((blocks.table, item))
        entries += needed
    new = day_index.unwritten(entries)
    items += [(day_index.table, entry.item()) for entry in new]
    dynamo.write_all(items)
    day_index.remember(new)


def newest_first(
    account_id: int, window: EventWindow, *, before: str = "", recipients: Sequence[str] = ()
) -> Iterator[tuple[str, Event]]:
    """Yield ``(position, event)`` of an account's events, newest first.

    They are read as the caller asks for more. ``before`` is the position after which to begin;
    ``recipients`` narrows to these addresses.
    """
    keys = [partitions.recipient(account_id, address) for address in recipients]
    matches = (
        search.in_partitions(keys, window, before=before)
        if keys
        else search.by_time(account_id, window, before=before)
    )
    return ((match.position, match.event()) for match in matches)


def messages_to(scope: Scope, address: str) -> set[str]:
    """Return the ids of a scope's messages to a recipient of which there are events.

    ``address`` is in the spelling in which events have it.
    """
    events = _recipient_events(scope, partitions.recipient(scope.account_id, address))
    return {event["message_id"] for event in events if "message_id" in event}


def was_delivered(scope: Scope, address: str, since_ms: int) -> bool:
    """Tell whether a host took a message of a scope to an address since a moment.

    The newest blocks of the recipient are read, one request mostly, however the address is spelled.
    """
    low = position_at(since_ms)
    conditions: Conditions = {
        "type": lambda type: type == "delivery",
        "subaccount_id": lambda subaccount: scope.covers(int(subaccount or 0) or None),
    }
    for spelling in spellings(address):
        newest = blocks.read(partitions.recipient(scope.account_id, spelling), low)
        for stored_block in islice(newest, _MOST_BLOCKS):
            rows = stored_block.block.rows(conditions)
            positions = stored_block.block.positions() if rows else []
            if any(positions[row] >= low for row in rows):
                return True
    return False


def erase_recipient(scope: Scope, address: str) -> int:
    """Delete a recipient's events in a scope for good; return how many there were.

    ``address`` is in the spelling in which the events have it.
    An interrupted erasure can be repeated: the recipient's own partition, from which the events in
    the other partitions are known, is changed last.
    """
    return _erase(scope, address, lambda _: True)


def erase_received(scope: Scope, address: str, relay_ids: Collection[str]) -> int:
    """Delete the events of messages that were received for an address, as erase_recipient does."""
    return _erase(scope, address, lambda event: event.get("relay_id") in relay_ids)


def _erase(scope: Scope, address: str, is_meant: Callable[[Event], bool]) -> int:
    own = partitions.recipient(scope.account_id, address)
    matches = filter(is_meant, _recipient_events(scope, own))
    erased = {position(event): event for event in matches}
    entries = dict.fromkeys(day_index.erasure_entry(event) for event in erased.values())
    dynamo.write_all(
        [
            *((day_index.table, entry.item()) for entry in entries),
            *((erasures.table, erasures.item(event)) for event in erased.values()),
        ]
    )
    by_partition: dict[str, list[Event]] = defaultdict(list)
    for event in erased.values():
        for partition in partitions.of_stored_event(event):
            by_partition[partition].append(event)
    last = by_partition.pop(own, [])
    for partition, events in [*by_partition.items(), (own, last)]:
        blocks.remove(partition, events)
    return len(erased)


def _is_hidden(event: Event) -> bool:
    """Tell whether the event is one of the service's own measurements: searches do not find it."""
    prefix = settings().hidden_campaigns
    return bool(prefix) and event.get("campaign_id", "").startswith(prefix)


def _recipient_events(scope: Scope, partition: str) -> Iterator[Event]:
    """Yield the events of a recipient's partition that belong to a scope."""
    for stored_block in blocks.read(partition, consistent=True):
        for event in map(stored_block.block.event, range(stored_block.block.count)):
            if scope.covers(int(event.get("subaccount_id") or 0) or None):
                yield event
