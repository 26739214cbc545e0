"""Follow the events of a service as they happen: by its stream, or by its events search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import sleep as pause
from typing import NamedTuple

from postfinch.http_api import Api
from postfinch.json_types import Json
from postfinch.message_events import search

STREAM = "/local/stream"
#: The type of an item that is a message in the mailbox of a local service
MESSAGE = "message"
# Seconds by which an event may be recorded late and is still shown
_OVERLAP = 60.0


class Filters(NamedTuple):
    """What to show: these types (all if there are none), of a recipient, of a campaign."""

    types: frozenset[str] = frozenset()
    to: str | None = None
    campaign: str | None = None

    def allow(self, item: Json) -> bool:
        """Tell whether an item is to be shown."""
        return (
            (not self.types or item["type"] in self.types)
            and self.to in (None, item.get("rcpt_to"))
            and self.campaign in (None, item.get("campaign_id"))
        )

    def query(self) -> dict[str, str]:
        """Return the filters as the events search has them."""
        values = {
            "events": ",".join(sorted(self.types - {MESSAGE})),
            "recipients": self.to,
            "campaigns": self.campaign,
        }
        return {name: value for name, value in values.items() if value}


def follow_stream(api: Api, filters: Filters) -> Iterator[Json | None]:
    """Yield ``None`` once the stream has begun, then each item; raises ApiError without a stream.

    A message of the mailbox has the names of an event's fields, and type ``message``.
    """
    filters = filters._replace(to=filters.to and filters.to.lower())
    has_begun = False
    for name, data in api.events(STREAM):
        if not has_begun:
            yield None
            has_begun = True
        item = _item(data) if name == MESSAGE else data
        if name in (MESSAGE, "event") and filters.allow(item):
            yield item


@dataclass(slots=True)
class Position:
    """How far a search was followed, in seconds since the epoch; ``ids`` are of recent events."""

    start: float = field(default_factory=time.time)
    until: float = 0.0
    ids: dict[str, float] = field(default_factory=dict)


def follow_search(
    api: Api, filters: Filters, interval: float, position: Position
) -> Iterator[Json]:
    """Yield new events, oldest first, by a search every ``interval`` seconds.

    After an error, another call with the same position goes on where this one ended.
    """
    while True:
        now = time.time()
        start = max(position.start, position.until - _OVERLAP)
        query = filters.query() | {"from": _iso(start), "to": _iso(now)}
        events = [e for e in search(api, **query) if e["event_id"] not in position.ids]
        yield from reversed(events)
        position.until = now
        recent = {name: at for name, at in position.ids.items() if at > now - 2 * _OVERLAP}
        position.ids = recent | dict.fromkeys((e["event_id"] for e in events), now)
        pause(interval)


def _item(entry: Json) -> Json:
    """Return a message of the mailbox under the names that events have."""
    return {
        **entry,
        "type": MESSAGE,
        "timestamp": entry["received_at"],
        "rcpt_to": entry["to"].lower(),
        "friendly_from": entry["from"],
    }


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
