"""Seed messages are copies of a message, go to seed addresses, and leave over the duration."""

from __future__ import annotations

import email
import email.policy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from itertools import pairwise
from typing import Any

import pytest

from chalicelib.accounts.store import accounts
from chalicelib.core import due
from chalicelib.core.request import Request
from chalicelib.core.scope import Scope
from chalicelib.events import service as events
from chalicelib.events import stream
from chalicelib.events.positions import EventWindow
from chalicelib.recording.worker import record_batch
from chalicelib.seeding import seed_batches
from chalicelib.seeding.counting import count
from chalicelib.seeding.model import SeedSend, is_seed
from chalicelib.seeding.seed_batches import send_due
from chalicelib.seeding.store import addresses, configs, counters
from chalicelib.seeding.store.samples import erase_recipient
from chalicelib.seeding.store.seed_sends import CONCERN
from chalicelib.suppression import service as suppression
from chalicelib.suppression.store import lookup_items
from chalicelib.tracking import tokens
from chalicelib.tracking.engagement import observe
from chalicelib.tracking.model import OPEN
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.submit import submit
from tests.fake_cloud import sqs_event
from tests.unit.delivery.examples import DEFERRED, REFUSED
from tests.unit.generation.examples import make_sender
from tests.unit.seeding.examples import DOMAIN, HOUR, SEEDS, SPRING, START, seeded
from tests.unit.seeding.simulation import World
from tests.unit.suppression.examples import entry
from tests.unit.transmissions.examples import make_transmission, meter, request_recipients

ANN = {
    "email": "ann@inbox.test",
    "name": "Ann",
    "metadata": {"plan": "gold"},
    "substitution_data": {"name": "Ann"},
}
CONTENT = {
    "from": f"news@{DOMAIN}",
    "subject": "For {{name}}",
    "text": "Hello {{name}} ({{plan}}, {{address.email}})",
}


@pytest.fixture
def world(cloud: None) -> Iterator[World]:
    with World(START / 1000, [send_due]).running() as world:
        make_sender()
        addresses.put(1, SEEDS)
        seeded()
        yield world


def send(*recipients: dict[str, Any], **fields: Any) -> Transmission:
    """Send a campaign to ``ANN``, or to the given recipients."""
    details = {"content": CONTENT, "campaign_id": "spring", "created_ms": START} | fields
    transmission = make_transmission(**details)
    submit(transmission, request_recipients(recipients or [ANN]), meter())
    return transmission


def seeds(world: World) -> list[tuple[float, str]]:
    """Return the seed messages that left: after how many seconds, and to whom."""
    return [
        (moment - START / 1000, to) for moment, to in world.deliveries if to.endswith("@seeds.test")
    ]


def message_to(world: World, recipient: str) -> EmailMessage:
    (result,) = [each for each in world.host.messages if each.recipient == recipient]
    return email.message_from_bytes(result.data, policy=email.policy.default)


@pytest.mark.spec("3-t19")
def test_seeds_leave_one_after_the_other_over_the_duration(world: World) -> None:
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600)
    assert [to for _, to in seeds(world)] == SEEDS
    times = [after - 1 for after, _ in seeds(world)]
    assert all(0 <= after - number * 300 <= 1 for number, after in enumerate(times))


def test_a_seed_is_a_copy_of_a_message_addressed_to_a_seed(world: World) -> None:
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600)
    original, copy = message_to(world, "ann@inbox.test"), message_to(world, SEEDS[0])
    assert copy["To"] == f"Ann <{SEEDS[0]}>"
    assert copy["Subject"] == original["Subject"] == "For Ann"
    assert copy["From"] == original["From"]
    assert copy.get_content().strip() == f"Hello Ann (gold, {SEEDS[0]})"
    assert copy["Message-ID"] != original["Message-ID"]
    assert f"d={DOMAIN}" in copy["DKIM-Signature"].replace(" ", "")


@pytest.mark.parametrize("substitute", [True, False])
def test_a_pre_built_message_is_addressed_to_the_seed_too(world: World, substitute: bool) -> None:
    raw = f"From: a@{DOMAIN}\r\nTo: ann@inbox.test\r\nSubject: For {{{{name}}}}\r\n\r\nHello\r\n"
    send(content={}, raw=raw.encode(), substitute=substitute)
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600)
    copy = message_to(world, SEEDS[1])
    assert copy["To"] == SEEDS[1]
    assert copy["Subject"] == ("For Ann" if substitute else "For {{name}}")
    assert copy.get_content().strip() == "Hello"


def test_a_copy_of_a_carbon_copy_is_addressed_and_tracked_as_its_own(world: World) -> None:
    about = {"header_to": "boss@inbox.test", "tracked_as": {"index": 0, "email": "x@inbox.test"}}
    send(ANN | about | {"rcpt_type": "cc"}, content=CONTENT | {"html": "<p>Hello</p>"})
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600)
    copy = message_to(world, SEEDS[0])
    assert copy["To"] == f"Ann <{SEEDS[0]}>"
    html = copy.get_body(("html",))
    assert html
    (pixel,) = re.findall(r'/t/o/([^"]+)"', html.get_content())
    tracked, _ = tokens.read(OPEN, pixel)
    assert tracked.recipient == SEEDS[0]
    assert is_seed(observe("open", Request(), tracked))


def test_seeds_get_their_messages_whoever_is_suppressed(world: World) -> None:
    suppression.put_all(1, None, [entry(each, "non_transactional") for each in SEEDS])
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600)
    assert len(seeds(world)) == 4


def test_the_events_of_seed_messages_are_not_recorded(world: World) -> None:
    world.host.answers = {SEEDS[1]: [DEFERRED], SEEDS[2]: [REFUSED]}
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(7200)
    of_seeds = [event for event in world.events if is_seed(event)]
    kinds = Counter((event["type"], event["rcpt_to"]) for event in of_seeds)
    assert kinds == {
        **{("injection", seed): 1 for seed in SEEDS},
        ("delivery", SEEDS[0]): 1,
        ("delay", SEEDS[1]): 1,
        ("delivery", SEEDS[1]): 1,
        ("bounce", SEEDS[2]): 1,
        ("delivery", SEEDS[3]): 1,
    }
    assert {event["rcpt_to"] for event in world.events} - set(SEEDS) == {"ann@inbox.test"}
    recorded = recorded_of(world)
    assert {event["rcpt_to"] for event in recorded} == {"ann@inbox.test"}
    assert not lookup_items.blocking(1, None, SEEDS, transactional=False)


def recorded_of(world: World) -> list[dict[str, Any]]:
    """Record all events of a world; return those that can be searched for."""
    stream.emit(world.events)
    bodies = [body for _, _, queue, body in world.queues.messages if queue == stream.QUEUE]
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    return [event for _, event in events.newest_first(1, EventWindow(0, 10**13))]


def test_repeated_queue_messages_and_ticks_send_once(world: World) -> None:
    world.repeats = 2
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    for _ in range(60):
        world.run(60)
        send_due(int(world.now * 1000))
    assert Counter(to for _, to in seeds(world)) == dict.fromkeys(SEEDS, 1)
    assert due.find(CONCERN, START + 1000 * HOUR) == []


def test_seed_messages_due_in_an_hour_without_ticks_leave_at_the_next_tick(world: World) -> None:
    addresses.put(1, [f"{number}@seeds.test" for number in range(10)])
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600, ticking=False)
    assert len(seeds(world)) == 1
    world.run(61)
    assert Counter(to for _, to in seeds(world)).total() == 10
    assert due.find(CONCERN, START + 1000 * HOUR) == []


def test_a_tick_begins_a_seed_send_that_was_not_queued(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    send()
    world.run(1)
    with monkeypatch.context() as dying:
        dying.setattr("chalicelib.seeding.seed_batches.queues.send", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            count(1, 1, {SPRING: 1000})
    world.run(61)
    assert [to for _, to in seeds(world)] == SEEDS[:1]


def test_a_seed_send_that_fails_is_continued_later_and_does_not_hold_up_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SPRING._replace(campaign_id="sprint")
    send(campaign_id="spring", id="191930000000000001")
    send(campaign_id="sprint", id="191930000000000002")
    world.run(1)
    count(1, 1, {SPRING: 1000, other: 1000})
    first, second = due.find(CONCERN, START + HOUR)
    queue = seed_batches.queue_batch

    def failing(seed_send: SeedSend, number: int) -> None:
        if seed_send.id == first.data["run"]:
            raise ConnectionError
        queue(seed_send, number)

    with monkeypatch.context() as out_of_order:
        out_of_order.setattr(seed_batches, "queue_batch", failing)
        for _ in range(6):
            world.run(60)
    failures = {note.data["run"]: note.failures for note in due.find(CONCERN, START + HOUR)}
    assert failures == {first.data["run"]: 3, second.data["run"]: 0}
    world.run(3600)
    assert Counter(to for _, to in seeds(world)) == dict.fromkeys(SEEDS, 2)
    assert due.find(CONCERN, START + 1000 * HOUR) == []


@pytest.mark.spec("3-t21")
def test_a_pause_does_not_interrupt_a_campaign_that_is_being_seeded(world: World) -> None:
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(5 * 60)
    configs.set_enabled(1, 0, enabled=False)
    addresses.put(1, ["other@seeds.test"])
    seeded(duration=720)
    world.run(3600)
    assert [to for _, to in seeds(world)] == SEEDS
    assert seeds(world)[-1][0] < 20 * 60


@pytest.mark.spec("3-t20")
def test_three_days_of_a_daily_campaign_are_seeded_each_day(world: World) -> None:
    seeded(reset=22)
    for day in range(3):
        send(id=f"19193000000000000{day}")
        world.run(1)
        for step in range(2):
            count(1, 2 * day + step, {SPRING: 600})
        world.run(3599)
        world.run(23 * 3600, ticking=False)
    days = Counter(int(after // 86_400) for after, _ in seeds(world))
    assert days == {0: 4, 1: 4, 2: 4}
    (result,) = counters.in_scope(Scope(1, None))
    assert result.count == 1200


def test_copies_that_leave_after_an_erasure_hold_no_erased_data(world: World) -> None:
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(60)
    erase_recipient(Scope(1, None), "ann@inbox.test")
    world.run(3600)
    copies = [message_to(world, seed) for seed in SEEDS]
    assert [copy["Subject"] for copy in copies] == ["For Ann", "For", "For", "For"]
    assert "gold" not in copies[1].get_content()


def test_several_senders_of_a_campaign_are_seeded_separately(world: World) -> None:
    seeded(1, None, duration=30)
    other = SPRING._replace(campaign_id="sprint")
    send(campaign_id="spring", id="191930000000000001")
    send(campaign_id="sprint", id="191930000000000002")
    world.run(1)
    count(1, 1, {SPRING: 1000, other: 1000})
    world.run(3600)
    assert Counter(to for _, to in seeds(world)) == dict.fromkeys(SEEDS, 2)
    ids = [
        email.message_from_bytes(each.data)["Message-ID"]
        for each in world.host.messages
        if each.recipient in SEEDS
    ]
    assert len(set(ids)) == 8


@pytest.mark.parametrize("status", ["suspended", "terminated"])
def test_an_account_that_may_not_send_sends_no_seeds(world: World, status: str) -> None:
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(60)
    accounts.change(1, lambda account: replace(account, status=status))
    world.run(3600)
    assert len(seeds(world)) == 1
    assert due.find(CONCERN, START + 1000 * HOUR) == []


def test_a_message_that_cannot_be_generated_again_is_left_out(world: World) -> None:
    send(
        ANN,
        content=CONTENT | {"text": "{{if address.email == 'b@seeds.test'}}{{1 > x}}{{end}}ok"},
    )
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600)
    assert [to for _, to in seeds(world)] == [SEEDS[0], *SEEDS[2:]]


def test_a_seed_send_whose_time_is_over_is_dropped(world: World) -> None:
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    (note,) = due.find(CONCERN, START + HOUR)
    due.add(replace(note, data=note.data | {"run": "1"}, at_ms=START))
    send_due(START)
    assert due.find(CONCERN, START + HOUR) == [note]


def test_fifty_seeds_leave_evenly(world: World) -> None:
    addresses.put(1, [f"{number}@seeds.test" for number in range(50)])
    seeded(duration=30)
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(3600)
    times = [after for after, _ in seeds(world)]
    assert len(times) == 50
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(abs(gap - 36) <= 0.05 * 36 for gap in gaps)


def test_a_seed_that_is_deferred_for_three_days_is_given_up(world: World) -> None:
    addresses.put(1, SEEDS[:1])
    world.host.answers = {SEEDS[0]: [DEFERRED] * 1000}
    send()
    world.run(1)
    count(1, 1, {SPRING: 1000})
    world.run(60)
    world.run(80 * 3600, ticking=False)
    kinds = [event["type"] for event in world.events if is_seed(event)]
    assert kinds == ["injection", *["delay"] * (len(kinds) - 2), "bounce"]
    assert len(kinds) > 8
    assert world.queues.messages == []
