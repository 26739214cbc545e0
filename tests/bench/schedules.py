"""Measure what scheduled functions cost with nothing due, and how evenly seed sends are spaced.

Each scheduled function is called once on the local cloud, with 10,000 accounts that have nothing
due: each has a seeding config, and one work item of each kind that is due tomorrow. Fifty seed
sends are spread over thirty minutes in simulated time; the schedule runs once a minute, and starts
at different seconds of the minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise

from moto import mock_aws

import app
from chalicelib.accounts.model import Account
from chalicelib.core import aws, clock
from chalicelib.core.caches import clear_caches
from chalicelib.core.dynamo import Item, Table
from chalicelib.core.lambda_events import scheduled_event
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.stored_form import encode
from chalicelib.seeding.counting import count
from chalicelib.seeding.seed_batches import send_due
from chalicelib.seeding.store import addresses
from chalicelib.transmissions.recipients import RequestRecipients
from chalicelib.transmissions.submit import submit
from tests.bench.local_cloud import counted, local_cloud
from tests.environment import IN_PROCESS_CLOUD
from tests.fake_cloud import create_resources
from tests.unit.generation.examples import make_sender
from tests.unit.seeding.examples import SPRING, START, seeded
from tests.unit.seeding.simulation import World
from tests.unit.transmissions.examples import make_transmission, meter

ACCOUNTS = 10_000
DUE_KINDS = ("transmissions", "seeding", "ip-warmup", "ab_tests", "sending-domains", "privacy")
MOST_REQUESTS = 1
SEEDS, MINUTES = 50, 30
MOST_DEVIATION = 0.05
PHASES = (0.0, 13.0, 29.5, 59.0)


def main() -> None:
    """Measure and print the figures."""
    with local_cloud():
        _ticks()
    os.environ.pop("AWS_ENDPOINT_URL", None)
    os.environ |= IN_PROCESS_CLOUD
    _clear_clients()
    for phase in PHASES:
        _spacing(phase)


def _ticks() -> None:
    began = time.monotonic()
    Table("config").write_all(list(_items()))
    print(f"{ACCOUNTS:,} accounts stored in {time.monotonic() - began:.0f} s", flush=True)
    for name, function in app.SCHEDULES.items():
        with counted() as requests:
            began = time.perf_counter()
            function(scheduled_event(name), None)
            seconds = time.perf_counter() - began
        text = f"{name}: requests {len(requests.operations)}, {seconds * 1000:.1f} ms"
        _print(text, len(requests.operations) <= MOST_REQUESTS, f"at most {MOST_REQUESTS}")


def _items() -> Iterator[Item]:
    now = clock.now()
    tomorrow = f"{int((now + 86_400) * 1000):013d}"
    for number in range(1, ACCOUNTS + 1):
        account = Account(number, f"Company {number}", created=now, updated=now)
        keys = {"owner": "accounts", "owner_key": f"{number:010d}"}
        yield {"pk": f"account#{number}", "sk": "account"} | keys | asdict(account)
        config = {"threshold": 1000, "duration": 30, "reset": 24, "match": ["*"], "exclude": []}
        yield {"pk": f"inline-seeds#{number}", "sk": "config"} | config
        for kind in DUE_KINDS:
            yield {"pk": f"due#{kind}", "sk": f"{tomorrow}#{number}", "data": {}}


def _spacing(phase: float) -> None:
    with _world() as world:
        addresses.put(1, [f"{number}@seeds.test" for number in range(SEEDS)])
        seeded(duration=MINUTES)
        transmission = make_transmission(campaign_id="spring", created_ms=START)
        recipients = RequestRecipients([encode({"email": "ann@inbox.test"})])
        submit(transmission, recipients, meter())
        world.run(phase)
        count(1, 1, {SPRING: 1000})
        world.run((MINUTES + 10) * 60)
        times = [moment for moment, to in world.deliveries if to.endswith("@seeds.test")]
    even_gap = MINUTES * 60 / SEEDS
    worst = max(abs(gap - even_gap) for gap in _gaps(times)) / even_gap
    text = f"{len(times)} seeds over {MINUTES} minutes, {phase} s after a tick: "
    text += f"one in {even_gap:.0f} s"
    holds = len(times) == SEEDS and worst <= MOST_DEVIATION
    _print(f"{text}, at most {worst:.1%} off", holds, f"at most {MOST_DEVIATION:.0%}")


def _gaps(times: Sequence[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


@contextmanager
def _world() -> Iterator[World]:
    clear_caches()
    with mock_aws():
        create_resources()
        with World(START / 1000, [send_due]).running() as world:
            make_sender()
            yield world
    clear_caches()


def _clear_clients() -> None:
    settings.cache_clear()
    aws.clear_cache()


def _print(text: str, holds: bool, bar: str) -> None:
    print(f"{text} [{'holds' if holds else 'FAILS'}: {bar}]", flush=True)
