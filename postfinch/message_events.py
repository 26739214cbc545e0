"""Search the message events of a service, and wait for those that end a transmission."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from postfinch.http_api import Api
from postfinch.json_types import Json

DELIVERY = "delivery"
#: The types of which each recipient of a transmission gets one, unless the service still tries
FINAL = (
    DELIVERY,
    "bounce",
    "policy_rejection",
    "generation_failure",
    "generation_rejection",
)
_PATH = "/events/message"
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0


def search(api: Api, **query: Any) -> Iterator[Json]:
    """Yield the events that match, newest first, from all pages of the search."""
    page_query = {"per_page": 1000, "cursor": "initial", **query}
    while True:
        page: Json = api.document("GET", _PATH, query=page_query)
        yield from page["results"]
        link = (page.get("links") or {}).get("next")
        if not link:
            return
        page_query = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))


def wait_for_ends(api: Api, transmission_id: str, count: int, seconds: float) -> list[Json]:
    """Return the event that ended each message, of ``count`` or of those until the deadline."""
    deadline = time.monotonic() + seconds
    pause = _SHORTEST_PAUSE
    while True:
        ends: dict[tuple[str, str], Json] = {}
        for event in search(api, transmissions=transmission_id, events=",".join(FINAL)):
            # Events come newest first, and the first one of a message ended it
            ends[event.get("rcpt_to", ""), event.get("message_id", "")] = event
        remaining = deadline - time.monotonic()
        if len(ends) >= count or remaining <= 0:
            return list(reversed(ends.values()))
        time.sleep(min(pause, remaining))
        pause = min(2 * pause, _LONGEST_PAUSE)
