"""Make one page of a search: its events, the link to the next page, and the count of all events.

A reply of Lambda holds at most 6 MB. A page therefore ends at ``MAX_REPLY_BYTES`` even if it has
fewer events than the request asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from chalicelib.core.json_types import Json
from chalicelib.core.reply import bytes_in_reply
from chalicelib.core.settings import settings
from chalicelib.events import cursors
from chalicelib.events.cursors import Cursor
from chalicelib.events.request import PageRequest
from chalicelib.events.search import Match
from chalicelib.events.view import event_view

#: Returns the number of all events of a search, given their positions, newest first
Count = Callable[[Iterator[str]], int]


@dataclass(frozen=True, slots=True)
class EventPage:
    """One page of a search; ``next_link`` is empty on the last page."""

    events: list[Json]
    total: int
    next_link: str


def count_each(positions: Iterator[str]) -> int:
    """Count by going through all events."""
    return sum(1 for _ in positions)


def page_of(request: PageRequest, matches: Iterator[Match], count: Count = count_each) -> EventPage:
    """Return the page that ``matches`` begins with.

    ``count`` is called if the page does not hold all matches and the cursor does not hold a count.
    """
    views: list[Json] = []
    positions: list[str] = []
    room = settings().max_reply_bytes
    for match in matches:
        view = event_view(match.event())
        room -= bytes_in_reply(view)
        if views and (len(views) == request.per_page or room < 0):
            break
        views.append(view)
        positions.append(match.position)
    else:
        return EventPage(views, len(views) if request.total is None else request.total, "")
    total = request.total
    if total is None:
        rest = (each.position for each in matches)
        total = max(count(chain(positions, [match.position], rest)), len(views) + 1)
    cursor = cursors.encode(Cursor(request.window, positions[-1], total), request.binding)
    return EventPage(views, total, cursors.link(request.path, request.query, cursor))
