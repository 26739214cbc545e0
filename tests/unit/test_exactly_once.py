"""Redelivered queue messages and crashes neither send mail twice nor count events twice.

One transmission runs from the request to the recorded events, on the fake cloud. Every queue
message is handled twice. In each round the process is killed after another step: after an AWS
request took effect but before its response is read, or after a mail host's reply but before the
reply is recorded. A killed process loses its memory; the client repeats its request, and the
queues deliver their messages again.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib import generation_queue
from chalicelib.accounts import usage_window
from chalicelib.accounts.store import usage
from chalicelib.core import clock, config_cache, due, queues
from chalicelib.core.caches import clear_caches
from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.http import Request
from chalicelib.core.request import Caller
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.delivery import attempts
from chalicelib.delivery.store.journal_files import FileJournal
from chalicelib.delivery.worker import deliver_batch
from chalicelib.events import service as events
from chalicelib.events.positions import EventWindow
from chalicelib.fleet import warmup
from chalicelib.generation_queue import generate_batch, send_small_batch
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.store import pending
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import contents, lists
from chalicelib.recipient_lists.stored_form import encode
from chalicelib.recording.worker import record_batch
from chalicelib.transmissions import view
from chalicelib.transmissions.routes import create_transmission
from chalicelib.transmissions.scheduling import start_due
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.idempotency import CLAIM_SECONDS
from chalicelib.transmissions.submit import CONCERN
from infrastructure.admin import container_queues
from tests.client_calls import Call, observed_calls
from tests.fake_cloud import queued, restore_tables, sqs_event, tables
from tests.unit.delivery.examples import DEFERRED, REFUSED
from tests.unit.delivery.mail_host import MailHost
from tests.unit.fleet.examples import add, an_ip, warming
from tests.unit.generation.examples import make_sender
from tests.unit.moving_clock import Clock
from tests.unit.people import limit
from tests.unit.transmissions.examples import CREATED, body


def deliver_in(container: str, queue: str) -> Callable[[Any], Any]:
    """Return what handles a queue in a delivery container, which has some addresses only."""

    def handle(event: Any) -> Any:
        with patch.dict(os.environ, DELIVERY_CONTAINER=container):
            settings.cache_clear()
            try:
                return deliver_batch(event, queue)
            finally:
                settings.cache_clear()

    return handle


HANDLERS: dict[str, Callable[[Any], Any]] = {
    "generation": generate_batch,
    "small-sends": send_small_batch,
    "delivery": deliver_batch,
    "events": record_batch,
}
CONTAINER_HANDLERS = {
    "small-deliveries": deliver_in("", "small-deliveries"),
    "held-deliveries": deliver_in("", "held-deliveries"),
    "container-east": deliver_in("east", "container-east"),
    "container-east-held": deliver_in("east", "container-east-held"),
    "container-east-small": deliver_in("east", "container-east-small"),
}
MOST_ROUNDS = 400
MOST_STEPS = 200


class Killed(BaseException):
    """The process dies here. The service's code must not catch this exception."""


class Process:
    """The running process, which dies at its step number ``kill_at``.

    ``in_window`` is set when it died after a host's reply and before the reply was recorded. Only
    then may a message be sent twice. ``sent_to`` collects the names of queues that got messages.
    """

    def __init__(self) -> None:
        self._alive = False
        self._dead = False
        self.kill_at = self.steps = 0
        self.in_window = False
        self.sent_to: set[str] = set()
        self._counting = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count steps within the block; a new process begins with it."""
        self._alive, self._dead = True, False
        try:
            yield
        finally:
            self._alive = False

    def check_alive(self) -> None:
        """Stop the other threads of a process that has died."""
        if self._alive and self._dead:
            raise Killed

    def step(self, *, is_reply: bool = False) -> None:
        """End a step; ``is_reply`` says that the step was a host's reply."""
        if not self._alive:
            return
        with self._counting:
            self.steps += 1
            if self.steps != self.kill_at:
                return
            self._dead = True
        self.in_window = is_reply
        raise Killed

    @contextmanager
    def watched(self, monkeypatch: pytest.MonkeyPatch, host: MailHost) -> Iterator[None]:
        """Count each AWS request, each host's reply and each journal line as a step."""

        def observe(_: str, make: Call, operation: str, parameters: dict[str, Any]) -> Any:
            self.check_alive()
            if "QueueUrl" in parameters:
                name = parameters["QueueUrl"].rpartition("/")[2]
                self.sent_to.add(name.removeprefix(settings().queue("")))
            try:
                return make(operation, parameters)
            finally:
                self.step()

        real = FileJournal.record

        def record(journal: FileJournal, index: int, entry: Any) -> None:
            self.check_alive()
            real(journal, index, entry)
            self.step()

        monkeypatch.setattr(FileJournal, "record", record)
        host.before = lambda _: self.check_alive()
        host.after = lambda _: self.step(is_reply=True)
        with observed_calls(observe):
            yield


class World:
    """The service with its client, its queues and the host that it sends to.

    Each run begins with the tables of the first one: moto copies and sorts whole tables.
    """

    def __init__(self, process: Process, host: MailHost, time: Clock) -> None:
        self._tables: Any = None
        self.handlers = HANDLERS
        self.process = process
        self.host = host
        self.time = time

    def run(self, name: str, kind: str, to: Sequence[int] = (0, 1, 2)) -> str:
        """Send to some of three recipients until all work is done; return the transmission id."""
        self._begin(name)
        transmission_id = self._accept(name, kind, to)
        if kind == "scheduled":
            self.time.now += 700
        self._finish(kind)
        return transmission_id

    def run_group(self, name: str) -> list[str]:
        """Send to each of three recipients alone until all work is done; return the ids."""
        self._begin(name)
        ids = [self._accept(name, "now", [number], f"{name}-{number}") for number in range(3)]
        self._finish("group")
        return ids

    def _begin(self, name: str) -> None:
        """Forget the runs before; let the second recipient be deferred, and the third refused."""
        if self._tables is None:
            self._tables = tables()
        restore_tables(self._tables)
        clear_caches()
        for queue in self.handlers:
            queues._url(queue)
        _, second, third = self.recipients(name)
        self.host.answers = {second: [DEFERRED], third: [REFUSED] * 9}

    def _finish(self, kind: str) -> None:
        """Handle each queue message twice, those of small sends as a group, until none is left."""
        pending: list[tuple[str, str]] = []
        handled: set[str] = set()
        for _ in range(MOST_ROUNDS):
            if kind == "scheduled":
                self._attempt(start_due)
            for queue in self.process.sent_to:
                pending += [(queue, text) for text in queued(queue)]
            self.process.sent_to.clear()
            if not pending and not due.find(CONCERN, clock.now_ms()):
                break
            if not pending:
                continue
            queue = pending[0][0]
            together = [each for each in pending if each[0] == queue]
            batch = together if (kind, queue) == ("group", "small-sends") else together[:1]
            texts = [text for _, text in batch]
            response = self._attempt(lambda: self.handlers[queue](sqs_event(texts)))  # noqa: B023
            succeeded = response == {"batchItemFailures": []}
            again = [each for each in batch if not succeeded or each[1] not in handled]
            pending = [each for each in pending if each not in batch] + again
            handled.update(texts)
            self.time.now += 500
        assert pending == [], "it never came to an end"

    def recipients(self, name: str) -> list[str]:
        return [f"r{number}-{name}@example.test" for number in range(3)]

    def _accept(self, name: str, kind: str, to: Sequence[int], key: str = "") -> str:
        data = self._body(name, kind, to)
        headers = {"content-type": "application/json", "idempotency-key": key or name}
        caller = Caller(Scope(1, 0), "key", frozenset())
        request = Request(raw_body=json.dumps(data).encode(), headers=headers, authenticated=caller)
        for _ in range(5):
            response = self._attempt(lambda: create_transmission(request))
            if response is not None:
                assert response.status == 200
                return str(response.body["results"]["id"])
            self.time.now += CLAIM_SECONDS
        raise AssertionError("the request was never answered")

    def _body(self, name: str, kind: str, numbers: Sequence[int]) -> dict[str, Any]:
        emails = self.recipients(name)
        to: Any = [{"address": emails[number]} for number in numbers]
        options = {}
        if kind == "list":
            version = contents.write(1, name, [encode({"email": each}) for each in emails])
            lists.create(RecipientList(1, name, name, version.name, 3, version.parts))
            to = {"list_id": name}
        if kind == "scheduled":
            options["start_time"] = clock.iso_offset(self.time.now + 600)
        return body(recipients=to, options=options)

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """Do some work in a new process; return the result, or ``None`` if it was killed."""
        config_cache.clear_cache()
        transmissions.get_submitted.cache_clear()
        try:
            with self.process.running():
                return work()
        except Killed:
            self.time.now += settings().delivery_lease
        return None


@pytest.fixture
def world(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("CHUNK_RECIPIENTS", "2")
    settings.cache_clear()
    # Delayed messages arrive at once: the worker sends them again until they are due
    monkeypatch.setattr(queues, "_whole_seconds", lambda _: 0)
    # Time goes on for months here; the usage of one of them tells what was counted
    monkeypatch.setattr(usage_window, "month_of", lambda _: (2026, 1))
    one = PerKeyExecutor(1, 1)
    monkeypatch.setattr(attempts, "_executor", lambda: one)
    process, host = Process(), MailHost().install(monkeypatch)
    time = Clock(CREATED / 1000, step=1e-4)
    with clock.use(time):
        make_sender()
        with process.watched(monkeypatch, host):
            yield World(process, host, time)


def recorded_kinds(transmission_id: str, since: float, until: float) -> Counter[tuple[str, str]]:
    """Return the recorded events of a transmission: kinds and recipients."""
    window = EventWindow(int(since * 1000), int(until * 1000))
    recorded = [event for _, event in events.newest_first(1, window)]
    own = [event for event in recorded if event["transmission_id"] == transmission_id]
    assert len({event["event_id"] for event in own}) == len(own)
    return Counter((event["type"], event["rcpt_to"]) for event in own)


def recorded_by_all(ids: Sequence[str], since: float, until: float) -> Counter[tuple[str, str]]:
    """Return the recorded events of transmissions, each of which must have come to its end."""
    recorded: Counter[tuple[str, str]] = Counter()
    for transmission_id in ids:
        recorded += recorded_kinds(transmission_id, since, until)
        record = transmissions.get(transmission_id)
        assert record is not None
        assert view.transmission_view(record)["state"] == "Success"
    return recorded


def recipients_to_count() -> int:
    """Return how many recipients the next rollup adds to the usage; forget them."""
    groups = list(pending.of_all_accounts())
    items = [item for group in groups for item in group.deltas]
    pending.table.write_all([], delete=[(item["pk"], item["sk"]) for item in items])
    return sum(Delta.merged(item["data"] for item in items).recipients.values())


@pytest.fixture
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kind of the journal: files, or items of a table."""
    kind = str(request.param)
    monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path) if kind == "file" else "")
    settings.cache_clear()
    return kind


@dataclass
class Rounds:
    """Rounds in each of which the process is killed one step later, until it survives."""

    world: World
    most_steps: int = MOST_STEPS
    killed_at: int = 0
    windows: int = 0

    def run(self, send: Callable[[str], Sequence[str]]) -> Iterator[Counter[tuple[str, str]]]:
        """Send under the name of each round; yield the events that the round recorded.

        ``send`` gets the name and returns the ids of the transmissions.
        """
        process, host, time = self.world.process, self.world.host, self.world.time
        while self.killed_at == 0 or process.steps >= self.killed_at < self.most_steps:
            self.killed_at += 1
            process.kill_at, process.steps, process.in_window = self.killed_at, 0, False
            begin = time.now
            transmission_ids = send(self.name)
            self.windows += process.in_window
            yield recorded_by_all(transmission_ids, begin, time.now)
            host.messages.clear()
            host.recipients.clear()

    @property
    def name(self) -> str:
        """The name of the present round."""
        return f"round-{self.killed_at}"

    def check_three(self, recorded: Counter[tuple[str, str]]) -> None:
        """Check what became of three recipients: one accepts, one defers once, one refuses."""
        first, second, third = self.world.recipients(self.name)
        host = self.world.host
        attempted = Counter(message.recipient for message in host.messages)
        if self.world.process.in_window:
            assert sum(attempted.values()) - recorded[("delay", second)] == 4
        else:
            assert attempted == {first: 1, second: 2, third: 1}, self.killed_at
            assert recorded[("delay", second)] == 1
        assert host.counts.total() - host.counts[first] - host.counts[second] == 0
        expected = {("delivery", first), ("delivery", second), ("bounce", third)}
        expected |= {("injection", each) for each in (first, second, third)}
        assert recorded - Counter([("delay", second)]) == Counter(expected), self.killed_at


@pytest.mark.parametrize("journal", ["file", "table"], indirect=True)
def test_each_recipient_gets_one_message_despite_redeliveries_and_crashes(
    world: World, journal: str
) -> None:
    rounds = Rounds(world)
    for recorded in rounds.run(lambda name: [world.run(name, "now")]):
        rounds.check_three(recorded)
        assert recipients_to_count() == 3, rounds.killed_at
    assert 30 < rounds.killed_at < MOST_STEPS
    assert rounds.windows == 4


# After the start these run like the others, so fewer steps are enough
@pytest.mark.parametrize("journal", ["table"], indirect=True)
@pytest.mark.parametrize("kind", ["scheduled", "list"])
def test_stored_transmissions_survive_redeliveries_and_crashes(
    world: World, kind: str, journal: str
) -> None:
    rounds = Rounds(world, most_steps=20)
    for recorded in rounds.run(lambda name: [world.run(name, kind)]):
        rounds.check_three(recorded)
        assert recipients_to_count() == 3, rounds.killed_at


@pytest.mark.parametrize("journal", ["table"], indirect=True)
def test_recipients_that_count_against_a_limit_are_counted_once_at_acceptance(
    world: World, journal: str
) -> None:
    limit(monthly=10**9)
    rounds = Rounds(world, most_steps=20)
    for recorded in rounds.run(lambda name: [world.run(name, "now")]):
        rounds.check_three(recorded)
        assert recipients_to_count() == 0
        assert usage.get(1)[0].month == 3


@pytest.mark.parametrize(
    ("journal", "alone"),
    [("file", False), ("table", False), ("table", True)],
    indirect=["journal"],
)
@pytest.mark.parametrize(
    ("number", "kinds", "attempts"),
    [
        (0, ["injection", "delivery"], 1),
        (1, ["injection", "delay", "delivery"], 2),
        (2, ["injection", "bounce"], 1),
    ],
)
def test_the_only_recipient_gets_one_message_despite_redeliveries_and_crashes(
    world: World,
    journal: str,
    alone: bool,
    number: int,
    kinds: list[str],
    attempts: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The worker of a lone send records its events itself
    monkeypatch.setattr(generation_queue, "ends_lull", lambda: alone)
    rounds, host = Rounds(world), world.host
    for recorded in rounds.run(lambda name: [world.run(name, "now", [number])]):
        recipient = world.recipients(rounds.name)[number]
        if world.process.in_window:
            assert len(host.messages) - recorded[("delay", recipient)] == 2
        else:
            assert len(host.messages) == attempts, rounds.killed_at
            assert recorded == Counter((kind, recipient) for kind in kinds), rounds.killed_at
        assert recipients_to_count() == 1, rounds.killed_at
    assert 10 < rounds.killed_at < MOST_STEPS
    assert rounds.windows == attempts


@pytest.mark.parametrize("journal", ["file", "table"], indirect=True)
def test_a_group_of_single_sends_survives_redeliveries_and_crashes(
    world: World, journal: str
) -> None:
    rounds = Rounds(world)
    for recorded in rounds.run(world.run_group):
        rounds.check_three(recorded)
    assert 25 < rounds.killed_at < MOST_STEPS
    # Threads take their steps in another order each round: a kill may miss a reply or meet it twice
    assert rounds.windows > 0


@pytest.fixture
def containers(cloud: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let containers deliver: east has an address that warms up, for one message a day."""
    monkeypatch.setenv("DELIVERY", "container")
    settings.cache_clear()
    monkeypatch.setattr(warmup, "daily_volume", lambda _: 1)
    container_queues.create("east")


@pytest.mark.usefixtures("containers")
@pytest.mark.parametrize("journal", ["table"], indirect=True)
@pytest.mark.parametrize("to", [(0, 1, 2), (1,)])
def test_messages_that_go_on_to_another_container_survive_redeliveries_and_crashes(
    world: World, journal: str, to: Sequence[int]
) -> None:
    world.handlers = HANDLERS | CONTAINER_HANDLERS
    add(warming(1, container="east"), an_ip(2))
    rounds, host, names = Rounds(world), world.host, set[str]()
    for recorded in rounds.run(lambda name: [world.run(name, "now", to)]):
        names.update(message.ehlo_name or "" for message in host.messages)
        if len(to) == 3:
            rounds.check_three(recorded)
            continue
        recipient = world.recipients(rounds.name)[1]
        if world.process.in_window:
            assert len(host.messages) - recorded[("delay", recipient)] == 2
        else:
            assert len(host.messages) == 2, rounds.killed_at
        assert recorded[("delivery", recipient)] == 1
    assert 10 < rounds.killed_at < MOST_STEPS
    assert rounds.windows == (4 if len(to) == 3 else 2)
    assert names == {"mta1.example.test", "mta2.example.test"}
