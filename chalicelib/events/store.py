"""Events into the table ``events`` and out of it; ``events.places`` lists the access patterns.

Storing events again changes nothing, and an event that comes in runs which were put together
differently is read once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from chalicelib.core.dynamo import ConditionFailed, Item
from chalicelib.core.scope import Scope
from chalicelib.events import day_index, event_blocks, places, reading
from chalicelib.events.day_index import Note
from chalicelib.events.event_blocks import moment_of, position
from chalicelib.events.model import Event
from chalicelib.events.reading import Stored, Window
from chalicelib.events.table import events, expiry

__all__ = ["Window", "erase_recipient", "erased", "messages_to", "newest_first", "put_all"]

# Erased events no further apart are looked for together
_NEAR_MS = 60_000

#: What counting may still need to know of an erased event: nothing about a person
ERASED_FIELDS = (
    "type",
    "subaccount_id",
    "campaign_id",
    "template_id",
    "ip_pool",
    "sending_domain",
    "sending_ip",
)


def put_all(given: Sequence[Event]) -> None:
    """Store events (of any accounts) where searches find them; others are passed over.

    A hundred events of one transmission take 103 items in 5 requests.
    """
    unique = {(event["customer_id"], event["event_id"]): event for event in given}.values()
    kept = sorted((e for e in unique if not places.is_hidden(e)), key=position)
    hidden = [event for event in unique if places.is_hidden(event)]
    about = list(day_index.of_events(kept, hidden))
    items: list[Item] = []
    for item, note in _runs(kept):
        items.append(item)
        about += [note] if note else []
    new = day_index.unwritten(about)
    events.write_all([*items, *(note.item() for note in new)])
    day_index.remember(new)


def newest_first(
    account_id: int, window: Window, *, before: str = "", recipients: Sequence[str] = ()
) -> Iterator[tuple[str, Event]]:
    """Yield ``(position, event)`` of an account, newest first, as far as they are asked for.

    ``before`` is the position behind which to go on; ``recipients`` narrows to these addresses.
    """
    keys = [places.recipient(account_id, address) for address in recipients]
    found = (
        reading.in_partitions(keys, window, before=before)
        if keys
        else reading.by_time(account_id, window, before=before)
    )
    return ((match.position, match.event()) for match in found)


def messages_to(scope: Scope, address: str) -> set[str]:
    """Return the ids of the messages of a scope that a recipient's events tell of."""
    found = _to(scope, places.recipient(scope.account_id, address.lower()))
    return {event["message_id"] for event in found if "message_id" in event}


def erase_recipient(scope: Scope, address: str) -> int:
    """Delete a recipient's events in a scope for good; return how many there were.

    An erasure that is interrupted can be done again: the recipient's own partition, which tells
    of the other ones, is changed last.
    """
    key = places.recipient(scope.account_id, address.lower())
    gone = {position(event): event for event in _to(scope, key)}
    noted = dict.fromkeys(day_index.of_erased(event) for event in gone.values())
    left = [_what_is_left(event) for event in gone.values()]
    events.write_all([*(note.item() for note in noted), *left])
    elsewhere: dict[str, list[Event]] = defaultdict(list)
    for event in gone.values():
        for partition in _partitions(event):
            elsewhere[partition].append(event)
    own = elsewhere.pop(key, [])
    for partition, those in [*elsewhere.items(), (key, own)]:
        _remove(partition, those)
    return len(gone)


def erased(account_id: int, window: Window) -> list[Item]:
    """Return what is left of the events of a window that were erased: ``ERASED_FIELDS``."""
    low, high = reading.bounds(window)
    if low >= high:
        return []
    found = events.query_all(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {"pk": places.erased(account_id), "low": low, "high": high},
    )
    return list(found)


def _to(scope: Scope, key: str) -> Iterator[Event]:
    """Yield the events of a recipient's partition that belong to a scope."""
    for stored in reading.stored_runs(key, consistent=True):
        for event in map(stored.run.event, range(stored.run.count)):
            if scope.covers(int(event.get("subaccount_id") or 0) or None):
                yield event


def _runs(kept: Iterable[Event]) -> Iterator[tuple[Item, Note | None]]:
    """Yield the runs of events in order of position, each with the note that it calls for."""
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in kept:
        for partition in places.partitions_of(event):
            groups[partition].append(event)
    # The runs of a bulk send are the same for its day, its transmission and its campaign
    written: dict[tuple[int, ...], list[tuple[Sequence[Event], event_blocks.Written]]] = {}
    for partition, members in groups.items():
        for some in event_blocks.cut(members):
            same = tuple(map(id, some))
            if same not in written:
                written[same] = list(event_blocks.write(some))
            for whole, run in written[same]:
                yield _placed(partition, whole, run)


def _placed(
    partition: str, members: Sequence[Event], run: event_blocks.Written
) -> tuple[Item, Note | None]:
    sk = places.run_key(run.newest_ms, (event["event_id"] for event in members))
    note = None
    if places.is_day(partition):
        shard = places.shard_of(sk)
        partition = f"{partition}{shard}"
        note = day_index.of_run(members[0], shard)
    return _item(partition, sk, run), note


def _item(pk: str, sk: str, run: event_blocks.Written) -> Item:
    return {
        "pk": pk,
        "sk": sk,
        "count": run.size,
        "data": run.data,
        "expires": expiry(run.newest_ms),
    }


def _what_is_left(event: Event) -> Item:
    known = {name: event[name] for name in ERASED_FIELDS if name in event}
    key = {"pk": places.erased(event["customer_id"]), "sk": position(event)}
    return key | known | {"expires": expiry(event["timestamp"])}


def _partitions(event: Event) -> Iterator[str]:
    """Yield the partitions in which there may be a run with the event."""
    at = event["timestamp"]
    for partition in places.partitions_of(event):
        if not places.is_day(partition):
            yield partition
            continue
        for day in day_index.days(event["customer_id"], at, at):
            yield from (f"{partition}{shard}" for shard in day.shards)


def _remove(partition: str, gone: Iterable[Event]) -> None:
    """Take events out of the runs of a partition."""
    for near in _near_ones(sorted(map(position, gone))):
        for stored in reading.stored_runs(partition, near[0], near[-1], consistent=True):
            while not _rewritten(stored, frozenset(near)):
                again = events.get(stored.pk, stored.sk)
                if again is None:
                    break
                stored = Stored(stored.pk, stored.sk, event_blocks.Run(again["data"]))


def _near_ones(places: Sequence[str]) -> Iterator[list[str]]:
    """Yield positions in order, those together that are few runs apart."""
    near: list[str] = []
    for place in places:
        if near and moment_of(place) - moment_of(near[-1]) > _NEAR_MS:
            yield near
            near = []
        near.append(place)
    if near:
        yield near


def _rewritten(stored: Stored, gone: frozenset[str]) -> bool:
    """Write a run without some events; ``False`` if somebody else has changed it."""
    run = stored.run
    positions = run.positions()
    if gone.isdisjoint(positions):
        return True
    rest = [run.event(row) for row in range(run.count) if positions[row] not in gone]
    unchanged, count = "#count = :count", {"count": run.count}
    try:
        if not rest:
            events.delete(stored.pk, stored.sk, condition=unchanged, values=count)
        else:
            left = event_blocks.Written(moment_of(stored.sk), len(rest), event_blocks.encode(rest))
            events.put(_item(stored.pk, stored.sk, left), condition=unchanged, values=count)
    except ConditionFailed:
        return False
    return True
