"""Delivery attempts of one unit, several connections at a time, each recorded as it is decided."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.delivery.journal import Entry, Journal
from chalicelib.delivery.outcome import Outcome, to_dict
from chalicelib.delivery.parcel import FinishedMessage
from chalicelib.delivery.route import transport
from chalicelib.delivery.transports import OutboundMessage
from chalicelib.ip_pools.routing import Route

_log = logging.getLogger(__name__)

# A host that takes longer than this to answer the end of a message gives up its turn, so that it
# does not hold up the mail to others; a crash in that moment can repeat its message as well.
_TURN_SECONDS = 0.25

_turn = threading.Lock()


def attempt_all(
    messages: Sequence[FinishedMessage],
    routes: Sequence[Route],
    journal: Journal,
    *,
    until: float,
) -> dict[int, Entry]:
    """Attempt messages until the time ``until``; return the entries of those that were attempted.

    Each leaves by the route at its place in ``routes``, and is recorded in ``journal`` before
    another message of this process can be accepted by a remote host.
    """

    def attempt(message: FinishedMessage, route: Route) -> tuple[int, Entry] | None:
        if clock.now() >= until:
            return None
        return message.index, _attempt(message, route, journal)

    routed = zip(messages, routes, strict=True)
    running = [_pool().submit(attempt, message, route) for message, route in routed]
    # All come to their end before a failure of one is told: the journal must outlive them
    wait(running)
    return dict(found for each in running if (found := each.result()))


def _attempt(message: FinishedMessage, route: Route, journal: Journal) -> Entry:
    entries: list[Entry] = []

    def record(outcome: Outcome) -> None:
        entry = {
            "at": clock.now_ms(),
            "outcome": to_dict(outcome),
            "route": route.event_fields(),
        }
        journal.record(message.index, entry)
        entries.append(entry)

    def commit(finish: Callable[[], Outcome]) -> Outcome:
        with _one_at_a_time():
            outcome = finish()
            record(outcome)
        return outcome

    outbound = OutboundMessage(
        message.sender, message.recipient, message.data, route.source_address, route.ehlo_name
    )
    outcome = transport(route).deliver(outbound, commit)
    if not entries:  # it failed before the window
        record(outcome)
    return entries[0]


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    mine = _turn.acquire(timeout=_TURN_SECONDS)
    try:
        yield
    finally:
        if mine:
            _turn.release()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings().delivery_connections, thread_name_prefix="delivery")
