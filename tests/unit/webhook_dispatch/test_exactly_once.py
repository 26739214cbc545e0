"""Each event reaches its webhook, though a process may die anytime on the way there.

The process is killed after each of its requests, from recording to the record of the post: when the
request took effect and its response was not read. SQS then shows its message again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.events import stream
from chalicelib.recording.worker import record_batch
from chalicelib.webhook_dispatch.merge import merge_events
from chalicelib.webhook_dispatch.worker import post_batches
from tests.client_calls import after_each_call
from tests.fake_cloud import queued, sqs_event
from tests.http_target import Target
from tests.unit.events.examples import event_at
from tests.unit.webhook_dispatch.simulation import NINE, Simulation, make_webhook

NOW = int(NINE * 1000)
MOST_STEPS = 100

_HANDLERS = {
    "events": record_batch,
    "webhook-events": merge_events,
    "webhook-batches": post_batches,
}


class Killed(BaseException):
    """The process dies here. No code of ours may catch it."""


class Process:
    """A process that is killed after its ``kill_at``-th request."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.steps = 0

    def handle(self, queue: str, body: str) -> bool:
        """Handle a queue message; tell whether it can be deleted."""

        def after(_: str) -> None:
            self.steps += 1
            if self.steps == self.kill_at:
                raise Killed

        try:
            with after_each_call(after):
                return _HANDLERS[queue](sqs_event([body])) == {"batchItemFailures": []}
        except Killed:
            return False


def run(process: Process) -> None:
    """Handle each message of each queue, until none is left."""
    for queue in _HANDLERS:
        for body in queued(queue):
            tries = 0
            while not process.handle(queue, body):
                tries += 1
                assert tries < 5


def rounds() -> Iterator[Process]:
    """Yield processes that die one step later each, until one does its work to the end."""
    for kill_at in range(1, MOST_STEPS):
        yield (process := Process(kill_at))
        if process.steps < kill_at:
            return
    raise AssertionError("the work has too many steps")


@pytest.mark.spec("6-r2")
@pytest.mark.spec("6-r3")
def test_each_event_is_posted_after_whichever_request_a_process_dies(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    killed = 0
    for number, process in enumerate(rounds()):
        events = [event_at(NOW + each, 10 * number + each) for each in (1, 2, 3)]
        stream.emit(events)
        target.posts.clear()
        run(process)
        batches: dict[str, set[bytes]] = defaultdict(set)
        posts_of_event: dict[Any, set[str]] = defaultdict(set)
        for post in target.posts:
            batches[post.batch_id].add(post.body)
            for event in post.events():
                posts_of_event[event["event_id"]].add(post.batch_id)
        assert set(posts_of_event) == {event["event_id"] for event in events}, process.kill_at
        assert all(len(bodies) == 1 for bodies in batches.values())
        assert all(len(ids) <= 2 for ids in posts_of_event.values())
        killed += process.steps >= process.kill_at
    assert killed >= 6
    (post,) = target.posts  # of the process that was not killed
