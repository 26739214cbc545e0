"""Notes of where an account has events, so that searches need not ask everywhere.

A note is written with the events that it is about, and once a day by each process that has such
events. It is kept a day longer than they are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chalicelib.core import clock
from chalicelib.core.dynamo import Item
from chalicelib.events import places
from chalicelib.events.model import Event
from chalicelib.events.table import events, expiry

_MOST_REMEMBERED = 20_000
_HIDDEN = "hidden#"
_ERASED = "erased"


class Note(NamedTuple):
    """One note; ``day_ms`` is the beginning of the last day whose events it is for.

    That is today at least: a note that comes with a late event must not expire before the events
    of today do.
    """

    pk: str
    sk: str
    day_ms: int

    def item(self) -> Item:
        """Return what is stored."""
        return {"pk": self.pk, "sk": self.sk, "expires": expiry(self.day_ms + 2 * places.DAY_MS)}


class Day(NamedTuple):
    """What is noted of a day: the parts of it that hold events, the campaigns whose events are not
    kept, and whether events were erased.
    """

    name: str
    shards: list[str]
    hidden: list[str]
    erased: bool


_written: set[Note] = set()
_lock = threading.Lock()


def of_events(kept: Iterable[Event], hidden: Iterable[Event]) -> Iterator[Note]:
    """Yield the notes of the campaigns of events."""
    for event in kept:
        if event.get("campaign_id") and event["type"] in places.SEARCHED_TYPES:
            yield _note(event, places.campaigns(event["customer_id"]), event["campaign_id"])
    for event in hidden:
        yield _of_day(event, f"{_HIDDEN}{event['campaign_id']}")


def of_run(event: Event, shard: int) -> Note:
    """Return the note that there are events in a part of the day of ``event``."""
    return _of_day(event, str(shard))


def of_erased(event: Event) -> Note:
    """Return the note that events of the day of ``event`` were erased."""
    return _of_day(event, _ERASED)


def _of_day(event: Event, what: str) -> Note:
    sk = f"{places.day_of(event['timestamp'])}#{what}"
    return _note(event, places.days(event["customer_id"]), sk)


def _note(event: Event, pk: str, sk: str) -> Note:
    return Note(pk, sk, places.day_begins(max(event["timestamp"], clock.now_ms())))


def unwritten(notes: Iterable[Note]) -> list[Note]:
    """Return those notes, each once, that this process has not written."""
    with _lock:
        return [note for note in dict.fromkeys(notes) if note not in _written]


def remember(notes: Iterable[Note]) -> None:
    """Remember that these notes are written."""
    with _lock:
        if len(_written) > _MOST_REMEMBERED:
            _written.clear()
        _written.update(notes)


def forget() -> None:
    """Forget which notes were written (tests start with empty tables)."""
    with _lock:
        _written.clear()


def days(account_id: int, first_ms: int, last_ms: int) -> list[Day]:
    """Return the days between two moments of which there are notes, newest first."""
    bounds = {"low": places.day_of(first_ms), "high": f"{places.day_of(last_ms)}~"}
    noted = events.query_all(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {"pk": places.days(account_id)} | bounds,
        newest_first=True,
    )
    found: dict[str, Day] = {}
    for item in noted:
        name, _, what = item["sk"].partition("#")
        day = found.setdefault(name, Day(name, [], [], False))
        if what == _ERASED:
            found[name] = day._replace(erased=True)
        elif what.startswith(_HIDDEN):
            day.hidden.append(what.removeprefix(_HIDDEN))
        else:
            day.shards.append(what)
    return list(found.values())


def campaigns(account_id: int) -> list[str]:
    """Return the campaigns of which an account may have events."""
    noted = events.query_all("#pk = :pk", {"pk": places.campaigns(account_id)})
    return [item["sk"] for item in noted]
