"""Attempt the messages of a batch, several at a time, and record each outcome in the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import cache, partial

from chalicelib.core import clock
from chalicelib.core.addresses import domain_of
from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.settings import settings
from chalicelib.delivery.commit_lock import CommitLock
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.delivery.outcome import Outcome, to_dict
from chalicelib.delivery.route import transport
from chalicelib.delivery.store.journal import Journal
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.delivery.transports import OutboundMessage
from chalicelib.fleet.routing import Route

_COMMIT_SECONDS = 0.25

#: What was generated is told without the outcomes if these take longer than this: events further
#: apart would share no block (``events.event_blocks``)
SLOW_SECONDS = 5.0


def attempt_all(
    messages: Sequence[FinishedMessage],
    routes: Sequence[Route],
    journal: Journal,
    *,
    until: float,
    when_slow: Callable[[], None] = lambda: None,
) -> dict[int, Entry]:
    """Attempt messages until the time ``until``; return the entries of those that were attempted.

    Each message leaves by the route at its place in ``routes``. It is recorded in ``journal``
    before a remote host can accept another message of this process, as far as hosts answer in time
    (:mod:`commit_lock`). ``when_slow`` is called if the attempts last longer than ``SLOW_SECONDS``.
    """

    def attempt(message: FinishedMessage, route: Route) -> tuple[int, Entry] | None:
        if clock.now() >= until:
            return None
        return message.index, _attempt(message, route, journal)

    attempts = [
        _executor().submit(domain_of(message.recipient), partial(attempt, message, route))
        for message, route in zip(messages, routes, strict=True)
    ]
    # All attempts end before one of them may raise: the journal must stay open for them
    if wait(attempts, SLOW_SECONDS).not_done:
        try:
            when_slow()
        finally:
            wait(attempts)
    return dict(entry for each in attempts if (entry := each.result()))


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
        with _commit_lock().hold(domain_of(message.recipient)):
            outcome = finish()
            record(outcome)
        return outcome

    outbound = OutboundMessage(
        message.sender, message.recipient, message.data, route.source_address, route.ehlo_name
    )
    outcome = transport(route).deliver(outbound, commit)
    if not entries:  # it failed before the commit window
        record(outcome)
    return entries[0]


@cache
def _commit_lock() -> CommitLock:
    return CommitLock(_COMMIT_SECONDS, settings().delivery_commit_width)


@cache
def _executor() -> PerKeyExecutor:
    """Return the threads of this process: a slow domain leaves some to the others."""
    current = settings()
    return PerKeyExecutor(current.delivery_connections, current.delivery_domain_connections)
