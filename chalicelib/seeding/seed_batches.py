"""Queue the messages of seed sends batch by batch, a minute's worth at a time.

A seed batch is queued when it is due, each message with its own time; then the next batch is due.
This may be repeated, and done twice at once: a message that is queued again names the same work
unit, which is worked on once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final, NotRequired

from chalicelib.core import clock, due, queues
from chalicelib.core.due import Due
from chalicelib.core.queues import Work
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.seeding.model import SeedSend
from chalicelib.seeding.store import seed_sends
from chalicelib.seeding.store.seed_sends import CONCERN, due_entry

QUEUE: Final = "generation"
#: The kind of work that a seed message is
SEED: Final = "seed"

_log = logging.getLogger(__name__)


class SeedRef(TypedDict):
    """A message of the seed send ``run``, by its number."""

    account_id: int
    run: str
    number: int


class SeedHead(TypedDict):
    """The head of a seed message, which waits until ``not_before`` (seconds since the epoch).

    Version 0.1.0 wrote no ``kind`` (goes with 0.3.0).
    """

    kind: NotRequired[str]
    seed: SeedRef
    not_before: float


def send_due(now_ms: int) -> None:
    """Queue all seed batches that are due; one that fails is logged and tried again later."""
    while entries := due.find(CONCERN, now_ms):
        if not sum(_succeeds(entry, now_ms) for entry in entries):
            return


def queue_batch(seed_send: SeedSend, first: int) -> None:
    """Queue the seed batch that begins with ``first``, and make the next one due."""
    batch = seed_send.batch(first)
    queues.send(QUEUE, list(_works(seed_send, batch)))
    if batch.stop < len(seed_send.addresses):
        due.add(due_entry(seed_send, batch.stop))
    due.remove(due_entry(seed_send, first))


def _succeeds(entry: Due, now_ms: int) -> bool:
    try:
        seed_send = seed_sends.get(entry.data["account_id"], entry.data["run"])
        if seed_send:
            queue_batch(seed_send, entry.data["first"])
        if not seed_send or entry.failures:
            due.remove(entry)  # a postponed entry has another key than queue_batch removes
    except Exception:
        _log.exception("seed send %s: a batch was not queued", entry.key)
        due.postpone(entry, now_ms)
        return False
    return True


def _works(seed_send: SeedSend, numbers: range) -> Iterator[Work[SeedHead]]:
    now = clock.now()
    for number in numbers:
        send_time = seed_send.send_ms(number) / 1000
        head: SeedHead = {
            "kind": SEED,
            "seed": {"account_id": seed_send.account_id, "run": seed_send.id, "number": number},
            "not_before": send_time,
        }
        delay = max(0.0, send_time - now)
        yield Work(head, delay=delay, tenant=seed_send.account_id)
