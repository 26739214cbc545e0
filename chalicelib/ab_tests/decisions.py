"""The end of a test: who has won, and when that is decided.

A version ends when the time for engagement after its end or its sample is over, or, in bayesian
mode, as soon as it is certain enough that one template is the best. That is asked every few minutes
while it runs, and not before each template was tried on a hundred messages: the first few clicks
are no measure of anything. The winner is the template that is the best with a probability of at
least ``confidence_level``; if there is none it is the default template. In learning mode nobody
wins.

What is due is found by its time (``core.due``), so a tick with nothing to do costs one request,
however many tests exist. Its work may be repeated after a crash anywhere: a version is ended once,
together with a note that its event is to be told; a note goes away when that is done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chalicelib.ab_tests import bayes, engagement, view
from chalicelib.ab_tests.model import BAYESIAN, COMPLETED, SCHEDULED, AbTest, Counts
from chalicelib.ab_tests.store import versions
from chalicelib.core import due
from chalicelib.core.due import Due

Event = dict[str, Any]
Emit = Callable[[list[Event]], None]

FEWEST_ACCEPTED = 100

_log = logging.getLogger(__name__)


def decide_due(now_ms: int, emit: Emit) -> int:
    """Do what is due: end versions and tell of it by ``emit``; return how much was done.

    An event may be told again after a crash, with the same id. What fails is logged and looked at
    again later.
    """
    done = 0
    while notes := due.find(versions.CONCERN, now_ms):
        successes = sum(_succeeds(note, now_ms, emit) for note in notes)
        done += successes
        if not successes:
            break
    return done


def ended(test: AbTest, state: str, winner: str | None, now_ms: int) -> tuple[AbTest, Due]:
    """Return a version as it is when it ends now, and the note that its event is to be told."""
    (counts,) = engagement.counts([test])
    new = replace(
        test,
        state=state,
        ended_ms=now_ms,
        updated_ms=now_ms,
        due_ms=None,
        winning_template_id=winner,
        counts=counts,
    )
    key = f"{test.account_id}#{test.id}#{test.version}#{state}"
    return new, Due(versions.CONCERN, now_ms, key, {"event": view.event(new)})


def winner(test: AbTest, counts: Mapping[str, Counts]) -> str | None:
    """Return the template that is certain enough to be the best, ``None`` if there is none."""
    ids = [share.template_id for share in test.shares]
    observed = [counts.get(each, Counts()).observed(test.metric) for each in ids]
    certain = bayes.probabilities_of_being_best(observed)
    best = max(range(len(ids)), key=certain.__getitem__)
    return ids[best] if certain[best] >= test.confidence_level else None


def _succeeds(note: Due, now_ms: int, emit: Emit) -> bool:
    try:
        _work(note, now_ms, emit)
    except Exception:
        _log.exception("A/B test %s was not looked at", note.key)
        due.postpone(note, now_ms)
        return False
    return True


def _work(note: Due, now_ms: int, emit: Emit) -> None:
    if "event" in note.data:
        emit([note.data["event"]])
    else:
        _look(note, now_ms)
    due.remove(note)


def _look(note: Due, now_ms: int) -> None:
    """End a version or see to it that it is looked at again; do nothing about a stale note."""
    about = note.data
    test = versions.version(about["account_id"], about["id"], about["version"])
    if test is None or test.state != SCHEDULED or test.due_ms != note.at_ms:
        return
    (counts,) = engagement.counts([test])
    certain = winner(test, counts) if test.test_mode == BAYESIAN else None
    if now_ms >= test.completes_ms:
        unclear = test.default_template.template_id if test.test_mode == BAYESIAN else None
        _complete(test, certain or unclear, now_ms)
    elif certain and _enough(test, counts):
        _complete(test, certain, now_ms)
    else:
        versions.update(test, replace(test, due_ms=test.next_look_ms(now_ms)))


def _enough(test: AbTest, counts: Mapping[str, Counts]) -> bool:
    ids = (share.template_id for share in test.shares)
    return all(counts.get(each, Counts()).accepted >= FEWEST_ACCEPTED for each in ids)


def _complete(test: AbTest, winner_id: str | None, now_ms: int) -> None:
    new, telling = ended(test, COMPLETED, winner_id, now_ms)
    versions.update(test, new, [due.addition(telling)])
