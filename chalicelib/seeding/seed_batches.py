"""Runs on their way, a stretch of a minute after the other.

A stretch is queued when it is due, each message with its own time; then the next one is due. That
is safe to repeat and to do twice at once: who queues a message again names the same unit of
delivery, which is worked on once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from chalicelib.core import clock, due, queues
from chalicelib.core.due import Due
from chalicelib.core.queues import Work
from chalicelib.seeding.store import seed_sends
from chalicelib.seeding.store.seed_sends import CONCERN, Run

QUEUE: Final = "generation"
#: The kind of work that a seed message is
SEED: Final = "seed"

_log = logging.getLogger(__name__)


def send_due(now_ms: int) -> None:
    """Queue what is due of all runs; what fails is logged and comes again later."""
    while notes := due.find(CONCERN, now_ms):
        if not sum(_succeeds(note, now_ms) for note in notes):
            return


def queue_stretch(run: Run, first: int) -> None:
    """Queue the messages of the stretch that begins with ``first``, and note the next one."""
    stretch = run.stretch(first)
    queues.send(QUEUE, list(_works(run, stretch)))
    if stretch.stop < len(run.addresses):
        due.add(run.due(stretch.stop))
    due.remove(run.due(first))


def _succeeds(note: Due, now_ms: int) -> bool:
    try:
        run = seed_sends.get(note.data["account_id"], note.data["run"])
        if run:
            queue_stretch(run, note.data["first"])
        if not run or note.failures:
            due.remove(note)  # and not only where it would be if nothing had failed
    except Exception:
        _log.exception("seeds of run %s are not sent", note.key)
        due.postpone(note, now_ms)
        return False
    return True


def _works(run: Run, numbers: range) -> Iterator[Work]:
    now = clock.now()
    for number in numbers:
        at = run.at_ms(number) / 1000
        named = {"account_id": run.account_id, "run": run.id, "number": number}
        yield Work({"kind": SEED, "seed": named, "not_before": at}, delay=max(0.0, at - now))
