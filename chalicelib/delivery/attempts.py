"""Attempt the messages of a batch, several at a time, and record each outcome in the journal.

A process that is asked to stop begins no other attempt. It waits for hosts that have got a final
dot, and abandons the attempts before their dot, which sends nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, partial
from math import inf
from threading import Event, Lock
from time import monotonic

from chalicelib.core import clock, shutdown
from chalicelib.core.addresses import domain_of
from chalicelib.core.bounce_classes import TRANSIENT_FAILURE
from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.fair_queue import Lane
from chalicelib.core.settings import settings
from chalicelib.core.timed_calls import TimedCalls
from chalicelib.delivery.commit_lock import CommitLock
from chalicelib.delivery.commits import NotSent, UnitCommits
from chalicelib.delivery.departures import Departure
from chalicelib.delivery.outcome import Outcome, Retry, internal
from chalicelib.delivery.route import transport
from chalicelib.delivery.shaping.limits import connections_of
from chalicelib.delivery.shaping.shaper import shaper
from chalicelib.delivery.transports import OutboundMessage

_COMMIT_SECONDS = 0.25

#: After this time the events of generation are emitted before the outcomes: they would not share a
#: block of events with them anyway (``events.event_blocks``)
SLOW_SECONDS = 5.0

#: A message that missed its time by more than this waits for another one
LATE_SECONDS = 1.0

#: How soon a process that is to end notices it while it waits for hosts
_LOOK_SECONDS = 0.1

_log = logging.getLogger(__name__)


def attempt_all(
    departures: Sequence[Departure],
    commits: UnitCommits,
    *,
    until: float,
    lane: Lane = (),
    when_slow: Callable[[], None] = lambda: None,
) -> None:
    """Attempt messages until the time ``until`` (``clock.monotonic``).

    Messages of several units for one destination take turns by the ``lane`` of each unit.

    The outcome of each message is added to ``commits`` before a remote host can accept another
    message of this process, as far as hosts answer in time (:mod:`commit_lock`). A message without
    an outcome was not sent. ``when_slow``, which may not raise, is called if the attempts last
    longer than ``SLOW_SECONDS``.
    """

    def attempt(departure: Departure) -> None:
        if commits.is_open and clock.monotonic() < until and not _is_held_up(departure):
            _attempt(departure, commits)

    attempts = [_submit(each, partial(attempt, each), lane) for each in departures]
    ended = _event_of_all(attempts)
    if not _wait(ended, commits, SLOW_SECONDS):
        when_slow()
        _wait(ended, commits)
    for departure, each in zip(departures, attempts, strict=True):
        if each.done() and (error := each.exception()):
            _add_fault(departure, error, commits)


def _event_of_all(attempts: Sequence[Future[None]]) -> Event:
    """Return an event that is set when all attempts have ended.

    It can be looked at often, whatever their number (``concurrent.futures.wait`` locks each).
    """
    ended, lock, pending = Event(), Lock(), len(attempts)

    def count(_: Future[None]) -> None:
        nonlocal pending
        with lock:
            pending -= 1
            if not pending:
                ended.set()

    if not attempts:
        ended.set()
    for each in attempts:
        each.add_done_callback(count)
    return ended


def _wait(ended: Event, commits: UnitCommits, seconds: float = inf) -> bool:
    """Wait until all attempts have ended or are abandoned; ``False`` if that takes longer."""
    deadline = monotonic() + seconds
    while not ended.wait(max(0.0, min(_LOOK_SECONDS, deadline - monotonic()))):
        if shutdown.is_requested() and commits.close():
            return True
        if monotonic() >= deadline:
            return False
    return True


def _submit(departure: Departure, call: Callable[[], None], lane: Lane) -> Future[None]:
    """Run a call as soon as its destination has a place, and not before its time."""
    wait = departure.at - clock.monotonic()
    if wait <= 0:
        return _submit_now(departure, call, lane)
    done: Future[None] = Future()

    def start() -> None:
        attempt = _submit_now(departure, call, lane)
        attempt.add_done_callback(lambda _: _copy(attempt, done))

    _timed_calls().call_after(wait, start)
    return done


def _submit_now(departure: Departure, call: Callable[[], None], lane: Lane) -> Future[None]:
    """Run a call as soon as its destination has a place; how many it has may be unreadable."""
    try:
        return _executor().submit(departure.destination, call, lane)
    except Exception as error:
        failed: Future[None] = Future()
        failed.set_exception(error)
        return failed


def _copy(source: Future[None], target: Future[None]) -> None:
    if error := source.exception():
        target.set_exception(error)
    else:
        target.set_result(None)


def _is_held_up(departure: Departure) -> bool:
    """Tell whether the time of a message is over, or its provider has asked to wait meanwhile."""
    is_late = bool(departure.at) and clock.monotonic() > departure.at + LATE_SECONDS
    return is_late or (bool(departure.path) and shaper().is_paused(departure.path))


def _attempt(departure: Departure, commits: UnitCommits) -> None:
    message, route = departure.message, departure.route
    hosts = departure.hosts or domain_of(message.recipient)

    def commit(finish: Callable[[], Outcome]) -> Outcome:
        with _commit_lock().hold(hosts, departure.destination):
            return commits.commit(message.index, route, finish)

    answers: list[Outcome] = []
    outbound = OutboundMessage(
        message.sender,
        message.recipient,
        message.data,
        route.source_address,
        route.ehlo_name,
        departure.hosts,
        departure.path,
        departure.messages_per_connection,
        answers.append,
        departure.is_tls_report,
    )
    with suppress(NotSent):
        outcome = transport(route).deliver(outbound, commit)
        commits.add(message.index, route, outcome)
    if departure.path:
        for answer in answers:
            shaper().learn(departure.path, answer)


def _add_fault(departure: Departure, error: BaseException, commits: UnitCommits) -> None:
    """Record that a message is to be tried again, unless it has an outcome from before the fault.

    If the fault failed the unit, all its messages would come again and again, and never expire.
    """
    _log.error("an attempt for %s met a fault", departure.destination, exc_info=error)
    text = f"a fault of this service ended the attempt ({type(error).__name__})"
    outcome = Retry(451, internal("4.3.0", text), TRANSIENT_FAILURE)
    commits.add(departure.message.index, departure.route, outcome)


@cache
def _commit_lock() -> CommitLock:
    return CommitLock(_COMMIT_SECONDS, settings().delivery_commit_width)


@cache
def _executor() -> PerKeyExecutor:
    """Return the threads of this process: a slow domain leaves some to the others."""
    return PerKeyExecutor(settings().delivery_connections, _connections, _commit_lock())


def _connections(destination: str) -> int:
    """Return how many connections this process may have to a path, or to the host of a domain."""
    if "|" not in destination:
        return settings().delivery_domain_connections
    return connections_of(destination)


@cache
def _timed_calls() -> TimedCalls:
    return TimedCalls()
