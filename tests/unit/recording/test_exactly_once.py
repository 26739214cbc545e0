"""Events count once, though SQS redelivers them in other batches and a process may die anytime.

The process is killed after each of its requests, when the request took effect and the response did
not arrive. Its work is then repeated, as queues and schedules do.
"""

from __future__ import annotations

import functools
import itertools
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.accounts.store import usage
from chalicelib.core import clock
from chalicelib.core.message_event import Event
from chalicelib.events import stream
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.model import COUNTS_IN_USAGE
from chalicelib.metrics.rollup import Sending, injected, roll_up_pending
from chalicelib.metrics.store import dimension_values
from chalicelib.metrics.totals import totals
from chalicelib.recording.worker import record_batch
from tests.client_calls import after_each_call
from tests.fake_cloud import queued, sqs_event
from tests.unit.calling import Client
from tests.unit.metrics import recount
from tests.unit.metrics.examples import mail, random_events
from tests.unit.people import make_account, make_key

pytestmark = pytest.mark.usefixtures("local_cloud")

ACCOUNTS = itertools.count(500)
MOST_STEPS = 100
DOMAINS = ("0.test", "1.test")


class Killed(BaseException):
    """The process dies here. No code of ours may catch it."""


class Process:
    """A process that is killed after its ``kill_at``-th request."""

    def __init__(self) -> None:
        self.kill_at = self.steps = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count requests within the block."""

        def after(_: str) -> None:
            self.steps += 1
            if self.steps == self.kill_at:
                raise Killed

        with after_each_call(after):
            yield

    def do(self, work: Callable[[], Any]) -> bool:
        """Do some work in a process with empty caches; tell whether it survived."""
        dimension_values.clear_cache()
        try:
            with self.running():
                return work() in (None, {"batchItemFailures": []})
        except Killed:
            return False

    def do_until_done(self, work: Callable[[], Any]) -> None:
        """Repeat some work until a process survives it."""
        while not self.do(work):
            pass


def events_of(account: int) -> list[list[Event]]:
    """Return the events of three queue messages: of two messages, and of a failed recipient."""
    at = clock.now_ms()
    first, second = (mail(account, n, campaign="spring", domain=f"{n}.test") for n in (0, 1))
    human = {"user_agent_parsed": {"is_prefetched": False}}
    link = {"target_link_name": "Shop", "target_link_url": "https://b.test"} | human
    missing = mail(account, 2, generated=False)
    uncounted = {COUNTS_IN_USAGE: True}
    return [
        [
            first.event("injection", at, **uncounted),
            second.event("injection", at, **uncounted),
            missing.event("generation_failure", at, "2", reason="554 no", **uncounted),
        ],
        [
            first.event("delivery", at + 1, num_retries="0", queue_time="70"),
            second.event("delay", at + 2, num_retries="0", reason="452 later", bounce_class="22"),
            first.event("open", at + 3, "a", **human),
        ],
        [
            first.event("open", at + 4, "b", **human),
            first.event("click", at + 5, "c", **link),
            second.event("bounce", at + 6, num_retries="1", reason="550 no", bounce_class="10"),
        ],
    ]


def bodies_of(batches: list[list[Event]]) -> list[str]:
    bodies = []
    for batch in batches:
        stream.emit(batch)
        bodies += queued("events")
    return bodies


def summary(client: Client, *domains: str) -> Any:
    names = ",".join(recount.METRICS)
    since = clock.iso_ms(clock.now_ms() - 3_600_000)[:16]
    path = f"/api/v1/metrics/deliverability?from={since}&metrics={names}"
    (of_account,) = client.get(path).results
    filters = f"&campaigns=spring,&domains={','.join(domains)}"
    (of_campaign,) = client.get(path + filters).results
    return of_account, of_campaign


def expected(batches: list[list[Event]], *domains: str) -> Any:
    recorded = recount.recorded_events(event for batch in batches for event in batch)
    filters = {"campaigns": "spring", "domains": ",".join(domains)}
    of_campaign = [each for each in recorded if recount.passes(each, filters)]
    return tuple(
        {name: recount.metric(name, events) for name in recount.METRICS}
        for events in (recorded, of_campaign)
    )


def test_redelivered_events_count_once_after_whichever_request_a_process_dies() -> None:
    process = Process()
    killed_at = 0
    while killed_at == 0 or process.steps >= killed_at < MOST_STEPS:
        killed_at += 1
        account = next(ACCOUNTS)
        process.kill_at, process.steps = killed_at, 0
        counts_by_seq: dict[int, Mapping[Sending, int]] = {}
        batches = events_of(account)
        one, two, three = bodies_of(batches)
        process.do_until_done(lambda: record_batch(sqs_event([one])))  # noqa: B023
        process.do_until_done(lambda: record_batch(sqs_event([two, one])))  # noqa: B023

        def note_counts(owner: int, seq: int, delta: Delta) -> None:
            usage.count(owner, seq, delta.recipients)
            counts = injected(delta)
            if owner == account and counts:  # noqa: B023
                assert counts_by_seq.setdefault(seq, counts) == counts  # noqa: B023

        process.do_until_done(lambda: roll_up_pending([note_counts]))
        process.do_until_done(lambda: record_batch(sqs_event([three, two, three])))  # noqa: B023
        process.do_until_done(lambda: roll_up_pending([note_counts]))
        if process.steps < killed_at:
            process.kill_at = 0
        make_account(account)
        assert summary(make_key(account), *DOMAINS) == expected(batches, *DOMAINS), killed_at
        now = clock.now_ms() // 60_000 * 60_000
        assert totals(account, None, None, now - 3_600_000, now + 120_000, ["open", "click"]) == 3
        assert sum(sum(counts.values()) for counts in counts_by_seq.values()) == 2
        assert {key for counts in counts_by_seq.values() for key in counts} == {
            (None, "spring", "s.test")
        }
        assert usage.get(account)[0].month == 3, killed_at
    assert 15 < killed_at < MOST_STEPS


def test_randomly_redelivered_events_count_once_though_processes_die_at_random() -> None:
    draw = random.Random(1)
    account = next(ACCOUNTS)
    now = clock.now_ms()
    events = random_events(account, 1, 90, now - 3_000_000, now)
    batches = [events[start : start + 9] for start in range(0, len(events), 9)]
    bodies = bodies_of(batches) * 2
    draw.shuffle(bodies)
    work: list[Callable[[], Any]] = []
    while bodies:
        size = draw.randrange(1, 5)
        work.append(functools.partial(record_batch, sqs_event(bodies[:size])))
        del bodies[:size]
        work += [roll_up_pending] * draw.randrange(2)
    process, deaths = Process(), 0
    for step in [*work, roll_up_pending]:
        process.kill_at = process.steps + draw.randrange(1, 6)
        while not process.do(step):
            deaths += 1
            process.kill_at = process.steps + draw.randrange(1, 40)
    assert deaths > 5
    make_account(account)
    assert summary(make_key(account), "x.test") == expected(batches, "x.test")


def test_events_that_several_workers_record_at_once_count_once() -> None:
    account = next(ACCOUNTS)
    batches = events_of(account)
    bodies = bodies_of(batches)
    compositions = [bodies, bodies[::-1], bodies[:2], bodies[1:]]
    barrier = threading.Barrier(len(compositions), timeout=120)

    def work(bodies: list[str]) -> None:
        barrier.wait()
        assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
        barrier.wait()
        roll_up_pending()

    threads = [threading.Thread(target=work, args=(bodies,)) for bodies in compositions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    roll_up_pending()
    make_account(account)
    assert summary(make_key(account), *DOMAINS) == expected(batches, *DOMAINS)
