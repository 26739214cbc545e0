"""Keep the day index, which says where an account has events, so that searches skip the rest.

Access patterns of ``events``:

- the shards of some days that hold events → ``<account>#days`` / ``<yyyymmdd>#<shard>``
- the campaigns of some days whose events are counted but not stored → ``<account>#days`` /
  ``<yyyymmdd>#hidden#<campaign>``
- the days of which events were erased → ``<account>#days`` / ``<yyyymmdd>#erased``
- the campaigns of an account → ``<account>#campaigns`` / ``<campaign>``

An entry is written together with the events that it is about. A process writes each entry once a
day. Entries expire a day after the events do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from chalicelib.core import caches, clock
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.core.message_event import Event
from chalicelib.events.documentation import SEARCHED_TYPES
from chalicelib.events.store import expiry


class DayIndexItem(Keyed):
    """An entry of the day index, or the name of a campaign."""

    expires: int


table: Table[DayIndexItem] = Table("events")

_DAY_MS: Final = 86_400_000
_MOST_REMEMBERED: Final = 20_000
_HIDDEN: Final = "hidden#"
_ERASED: Final = "erased"


class DayEntry(NamedTuple):
    """One entry; ``day_ms`` is the beginning of the last day whose events it is for.

    That is at least today: an entry that is written for a late event must not expire before the
    events of today.
    """

    pk: str
    sk: str
    day_ms: int

    def item(self) -> DayIndexItem:
        """Return the item to store."""
        return {"pk": self.pk, "sk": self.sk, "expires": expiry(self.day_ms + 2 * _DAY_MS)}


class Day(NamedTuple):
    """The entries of one day: the shards that hold events, and the hidden campaigns.

    ``erased`` tells whether events of the day were erased.
    """

    name: str
    shards: list[str]
    hidden: list[str]
    erased: bool


_cache: set[DayEntry] = set()
_lock = threading.Lock()


def day_of(moment_ms: int) -> str:
    """Return the day (UTC) of a moment as ``yyyymmdd``."""
    return _day(moment_ms // _DAY_MS)


@lru_cache(maxsize=64)
def _day(days: int) -> str:
    """Return the day that is so many days after the first of 1970."""
    return datetime.fromtimestamp(days * _DAY_MS // 1000, UTC).strftime("%Y%m%d")


def campaign_entries(events: Iterable[Event]) -> Iterator[DayEntry]:
    """Yield the entries of the campaigns that stored events belong to."""
    for event in events:
        if event.get("campaign_id") and event["type"] in SEARCHED_TYPES:
            yield _entry(event, _campaigns(event["customer_id"]), event["campaign_id"])


def hidden_campaign_entry(event: Event) -> DayEntry:
    """Return the entry for an event that is counted but not stored."""
    return _day_entry(event, f"{_HIDDEN}{event['campaign_id']}")


def shard_entry(event: Event, shard: int) -> DayEntry:
    """Return the entry that a shard of the event's day holds events."""
    return _day_entry(event, str(shard))


def erasure_entry(event: Event) -> DayEntry:
    """Return the entry that events of the event's day were erased."""
    return _day_entry(event, _ERASED)


def unwritten(entries: Iterable[DayEntry]) -> list[DayEntry]:
    """Return those entries, without duplicates, that this process has not written yet."""
    with _lock:
        return [entry for entry in dict.fromkeys(entries) if entry not in _cache]


def remember(entries: Iterable[DayEntry]) -> None:
    """Remember that these entries are written."""
    with _lock:
        if len(_cache) > _MOST_REMEMBERED:
            _cache.clear()
        _cache.update(entries)


@caches.register
def clear_cache() -> None:
    """Forget which entries this process wrote (tests start with empty tables)."""
    with _lock:
        _cache.clear()


def days(account_id: int, first_ms: int, last_ms: int) -> list[Day]:
    """Return the days with entries between two moments, newest first."""
    bounds = {"low": day_of(first_ms), "high": f"{day_of(last_ms)}~"}
    items = table.query_all(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {"pk": _days(account_id)} | bounds,
        newest_first=True,
    )
    by_name: dict[str, Day] = {}
    for item in items:
        name, _, entry = item["sk"].partition("#")
        day = by_name.setdefault(name, Day(name, [], [], False))
        if entry == _ERASED:
            by_name[name] = day._replace(erased=True)
        elif entry.startswith(_HIDDEN):
            day.hidden.append(entry.removeprefix(_HIDDEN))
        else:
            day.shards.append(entry)
    return list(by_name.values())


def shards(days: Iterable[Day]) -> list[int]:
    """Return the shards in which some days may have events; 0 is one of them."""
    return sorted({0, *(int(shard) for day in days for shard in day.shards)})


def campaigns(account_id: int) -> list[str]:
    """Return the campaigns of which an account may have events."""
    items = table.query_all("#pk = :pk", {"pk": _campaigns(account_id)})
    return [item["sk"] for item in items]


def _days(account: object) -> str:
    return f"{account}#days"


def _campaigns(account: object) -> str:
    return f"{account}#campaigns"


def _day_entry(event: Event, entry: str) -> DayEntry:
    return _entry(event, _days(event["customer_id"]), f"{day_of(event['timestamp'])}#{entry}")


def _entry(event: Event, pk: str, sk: str) -> DayEntry:
    return DayEntry(pk, sk, max(event["timestamp"], clock.now_ms()) // _DAY_MS * _DAY_MS)
