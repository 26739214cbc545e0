"""Attempt the messages of a batch, several at a time, and record each outcome in the journal.

A process that is asked to stop begins no other attempt. It waits for hosts that have got a final
dot, and abandons the attempts before their dot, which sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache, partial
from math import inf
from time import monotonic

from chalicelib.core import clock, shutdown
from chalicelib.core.addresses import domain_of
from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.settings import settings
from chalicelib.delivery.commit_lock import CommitLock
from chalicelib.delivery.commits import NotSent, UnitCommits
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.delivery.outcome import Outcome
from chalicelib.delivery.route import transport
from chalicelib.delivery.transports import OutboundMessage
from chalicelib.fleet.routing import Route

_COMMIT_SECONDS = 0.25

#: What was generated is told without the outcomes if these take longer than this: events further
#: apart would share no block (``events.event_blocks``)
SLOW_SECONDS = 5.0

#: How soon a process that is to end notices it while it waits for hosts
_LOOK_SECONDS = 0.1


def attempt_all(
    messages: Sequence[FinishedMessage],
    routes: Sequence[Route],
    commits: UnitCommits,
    *,
    until: float,
    when_slow: Callable[[], None] = lambda: None,
) -> None:
    """Attempt messages until the time ``until`` (``clock.monotonic``).

    Each message leaves by the route at its place in ``routes``. Its outcome is added to ``commits``
    before a remote host can accept another message of this process, as far as hosts answer in time
    (:mod:`commit_lock`). A message without an outcome was not sent. ``when_slow`` is called if the
    attempts last longer than ``SLOW_SECONDS``.
    """

    def attempt(message: FinishedMessage, route: Route) -> None:
        if commits.is_open and clock.monotonic() < until:
            _attempt(message, route, commits)

    attempts = [
        _executor().submit(domain_of(message.recipient), partial(attempt, message, route))
        for message, route in zip(messages, routes, strict=True)
    ]
    # All attempts end before one of them may raise: the journal must stay open for them
    try:
        if not _wait(attempts, commits, SLOW_SECONDS):
            when_slow()
    finally:
        _wait(attempts, commits)
    for each in attempts:
        if each.done():
            each.result()


def _wait(attempts: Sequence[Future[None]], commits: UnitCommits, seconds: float = inf) -> bool:
    """Wait until all attempts have ended or are abandoned; ``False`` if that takes longer."""
    deadline = monotonic() + seconds
    pending = set(attempts)
    while pending:
        pending = wait(pending, max(0.0, min(_LOOK_SECONDS, deadline - monotonic()))).not_done
        if shutdown.is_requested() and commits.close():
            return True
        if pending and monotonic() >= deadline:
            return False
    return True


def _attempt(message: FinishedMessage, route: Route, commits: UnitCommits) -> None:
    def commit(finish: Callable[[], Outcome]) -> Outcome:
        with _commit_lock().hold(domain_of(message.recipient)):
            return commits.commit(message.index, route, finish)

    outbound = OutboundMessage(
        message.sender, message.recipient, message.data, route.source_address, route.ehlo_name
    )
    with suppress(NotSent):
        commits.add(message.index, route, transport(route).deliver(outbound, commit))


@cache
def _commit_lock() -> CommitLock:
    return CommitLock(_COMMIT_SECONDS, settings().delivery_commit_width)


@cache
def _executor() -> PerKeyExecutor:
    """Return the threads of this process: a slow domain leaves some to the others."""
    current = settings()
    return PerKeyExecutor(current.delivery_connections, current.delivery_domain_connections)
