"""One page of a search: as many events as were asked for and fit, the link to the rest, the count.

A reply of Lambda has at most 6 MB, so a page ends before ``MAX_REPLY_BYTES`` as well; its link then
leads on as ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from chalicelib.core.settings import settings
from chalicelib.events import cursors
from chalicelib.events.cursors import Place
from chalicelib.events.model import Event, as_search_result
from chalicelib.events.page_request import PageRequest
from chalicelib.events.reading import Match

#: Tells how many events there are in all, given the positions of all of them, newest first
Count = Callable[[Iterator[str]], int]


@dataclass(frozen=True, slots=True)
class Found:
    """One page of a search; ``next_link`` is empty on the last page."""

    events: list[Event]
    total: int
    next_link: str


def how_many(positions: Iterator[str]) -> int:
    """Count by going through all that is found."""
    return sum(1 for _ in positions)


def page(asked: PageRequest, found: Iterator[Match], count: Count = how_many) -> Found:
    """Return the page that ``found`` begins with.

    How much there is in all is known if the page holds all of it. Else ``count`` is asked.
    """
    shown: list[Event] = []
    places: list[str] = []
    room = settings().max_reply_bytes
    for match in found:
        event = as_search_result(match.event())
        room -= _size(event)
        if shown and (len(shown) == asked.per_page or room < 0):
            break
        shown.append(event)
        places.append(match.position)
    else:
        return Found(shown, len(shown) if asked.total is None else asked.total, "")
    total = asked.total
    if total is None:
        rest = (each.position for each in found)
        total = max(count(chain(places, [match.position], rest)), len(shown) + 1)
    cursor = cursors.write(Place(asked.window, places[-1], total), asked.about)
    return Found(shown, total, cursors.link(asked.path, asked.query, cursor))


def _size(event: Event) -> int:
    """Return what an event takes in the reply, which is JSON as a text within JSON."""
    text = json.dumps(event, separators=(",", ":"))
    return len(text) + text.count('"') + text.count("\\") + 1
