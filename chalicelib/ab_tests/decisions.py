"""End A/B tests when their time is over or a winner is certain.

A version ends when the time for engagement after its end or its sample is over, or, in bayesian
mode, as soon as it is certain enough that one template is the best. A running test is checked for
that every few minutes, once each template was tried on a hundred messages, because the first few
clicks prove nothing. The winner is the template that is the best with a probability of at least
``confidence_level``; if there is none it is the default template. In learning mode nobody wins.

What is due is found by its time (``core.due``), so a tick with nothing to do costs one request,
however many tests exist. All of it may be repeated after a crash anywhere: a version is ended once,
in the transaction that makes its event due; a due entry is removed when its work is done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from chalicelib.ab_tests import bayes, leases, view
from chalicelib.ab_tests.model import BAYESIAN, COMPLETED, SCHEDULED, AbTest, Counts
from chalicelib.ab_tests.store import counts, versions
from chalicelib.core import due
from chalicelib.core.due import Due
from chalicelib.core.dynamo import TransactionFailed
from chalicelib.core.message_event import Event

Emit = Callable[[list[Event]], None]

FEWEST_ACCEPTED = 100

_log = logging.getLogger(__name__)


def decide_due(now_ms: int, emit: Emit) -> int:
    """End the versions that are due and ``emit`` their events; return the number of entries done.

    An event may be emitted again after a crash, with the same id. An entry that fails is logged and
    tried again later.
    """
    done = 0
    while entries := due.find(versions.CONCERN, now_ms):
        successes = sum(_succeeds(entry, now_ms, emit) for entry in entries)
        done += successes
        if not successes:
            break
    return done


def end_version(test: AbTest, state: str, winner: str | None, now_ms: int) -> AbTest:
    """End a version now, make its event due, and release its templates, in one transaction.

    Raises ``TransactionFailed`` if the version has changed.
    """
    (test_counts,) = counts.of_tests([test])
    new = replace(
        test,
        state=state,
        ended_ms=now_ms,
        updated_ms=now_ms,
        due_ms=None,
        winning_template_id=winner,
        counts=test_counts,
    )
    key = f"{test.account_id}#{test.id}#{test.version}#{state}"
    event = Due(versions.CONCERN, now_ms, key, {"event": view.event_view(new)})
    versions.update(test, new, [due.addition(event), *leases.changes(test, new)])
    return new


def winner(test: AbTest, counts: Mapping[str, Counts]) -> str | None:
    """Return the template that is certain enough to be the best, ``None`` if there is none."""
    ids = [share.template_id for share in test.shares]
    observations = [counts.get(each, Counts()).observation(test.metric) for each in ids]
    probabilities = bayes.probabilities_of_being_best(observations)
    best = max(range(len(ids)), key=probabilities.__getitem__)
    return ids[best] if probabilities[best] >= test.confidence_level else None


def _succeeds(entry: Due, now_ms: int, emit: Emit) -> bool:
    try:
        _work(entry, now_ms, emit)
    except Exception:
        _log.exception("A/B test %s was not checked", entry.key)
        due.postpone(entry, now_ms)
        return False
    return True


def _work(entry: Due, now_ms: int, emit: Emit) -> None:
    if "event" in entry.data:
        emit([entry.data["event"]])
    else:
        _check(entry, now_ms)
    due.remove(entry)


def _check(entry: Due, now_ms: int) -> None:
    """End a version or make it due for its next check; ignore a stale entry."""
    data = entry.data
    test = versions.version(data["account_id"], data["id"], data["version"])
    if test is None or test.state != SCHEDULED or test.due_ms != entry.at_ms:
        return
    with suppress(TransactionFailed):  # the change made the version due again
        _decide(test, now_ms)


def _decide(test: AbTest, now_ms: int) -> None:
    (test_counts,) = counts.of_tests([test])
    best = winner(test, test_counts) if test.test_mode == BAYESIAN else None
    if now_ms >= test.completes_ms:
        default = test.default_template.template_id if test.test_mode == BAYESIAN else None
        end_version(test, COMPLETED, best or default, now_ms)
    elif best and _has_enough(test, test_counts):
        end_version(test, COMPLETED, best, now_ms)
    else:
        versions.update(test, replace(test, due_ms=test.next_check_ms(now_ms)))


def _has_enough(test: AbTest, counts: Mapping[str, Counts]) -> bool:
    ids = (share.template_id for share in test.shares)
    return all(counts.get(each, Counts()).accepted >= FEWEST_ACCEPTED for each in ids)
