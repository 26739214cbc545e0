"""Mail that its provider's limits hold back goes on later, and its sender is told once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chalicelib.core import clock, queues
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import attempts, delivery_batch
from chalicelib.delivery.commit_lock import CommitLock
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.outcome import Retry
from chalicelib.delivery.shaping import groups, queue_page, shaper, store
from chalicelib.delivery.shaping.providers import Limits
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.delivery.worker import deliver_unit
from chalicelib.events import stream
from chalicelib.fleet import warmup
from tests.fake_cloud import aws_requests, queued
from tests.unit.delivery.examples import INJECTED, UNIT, batch_of, message
from tests.unit.delivery.mail_host import MailHost
from tests.unit.fleet.examples import add, an_ip, warming
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.zones import Zone, served_zone

PATH = "host.test|"
BUSY = Retry(421, "4.7.0 Too many connections from you", 20)

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture(autouse=True)
def time() -> Iterator[Clock]:
    with moving_clock(INJECTED / 1000, step=1e-5) as moving:
        yield moving


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> MailHost:
    return MailHost().install(monkeypatch)


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """Send to the hosts of MX records; all recipients are at ``host.test``."""
    monkeypatch.setenv("TRANSPORT", "mx")
    for zone in served_zone(monkeypatch):
        zone.set("example.test", ("MX", "10 mx.host.test"))
        groups.clear_cache()
        shaper.forget()
        yield zone


def limit(**limits: float) -> None:
    store.change_overrides(lambda before: before | {"host.test": Limits(2, 20, **limits)})


def received(count: int = 30, *, small: bool = False, unit: WorkUnit = UNIT) -> Received:
    batch = batch_of(count, 1, unit)
    batch = replace(batch, event=batch.event | {"ip_pool": "default"}, is_small=small)
    delivery_batch.queue(batch)
    return taken()


def taken() -> Received:
    (body,) = queued("delivery")
    return queues.read(body)


def rest_after(message: Received) -> Received:
    """Deliver a message; return what is queued for later."""
    with aws_requests() as requests:
        deliver_unit(message)
    (body,) = [
        request.parameters["MessageBody"]
        for request in requests
        if request.operation == "SendMessage"
        and "/postfinch-" in request.parameters["QueueUrl"]
        and request.parameters["QueueUrl"].endswith("-delivery")
    ]
    return queues.read(body)


def events(kind: str) -> list[Event]:
    decoded = [event for body in queued("events") for event in stream.decode(queues.read(body))]
    return [event for event in decoded if event["type"] == kind]


def batch_from(message: Received) -> DeliveryBatch:
    return delivery_batch.from_received(message)


def test_a_paused_provider_gets_nothing_and_the_sender_is_told_once(
    host: MailHost, time: Clock
) -> None:
    shaper.shaper().learn(PATH, BUSY)
    message = rest_after(received(3))
    assert host.recipients == []
    decoded = [event for body in queued("events") for event in stream.decode(queues.read(body))]
    assert sorted(event["type"] for event in decoded) == ["delay"] * 3 + ["injection"] * 3
    (delay, *_) = [event for event in decoded if event["type"] == "delay"]
    assert delay["raw_reason"] == (
        "451 4.4.5 [internal] host.test asked to wait: 421 4.7.0 Too many connections from you"
    )
    assert (delay["error_code"], delay["num_retries"]) == ("451", "0")
    assert message.head["paths"] == [PATH]
    assert [each.messages for each in store.backlogs_of(PATH)] == [3]
    time.passes(30)
    message = rest_after(message)
    assert events("delay") == []
    time.passes(40)
    deliver_unit(message)
    assert len(host.recipients) == 3
    assert len(events("delivery")) == 3
    assert store.backlogs_of(PATH) == []


@pytest.mark.cost
def test_a_unit_that_still_waits_costs_one_queue_message(time: Clock) -> None:
    shaper.shaper().learn(PATH, BUSY)
    message = rest_after(received(3))
    with aws_requests() as requests:
        deliver_unit(message)
    assert [each.operation for each in requests] == ["SendMessage"]


def test_the_rest_of_a_unit_goes_on_when_the_rate_is_used_up(host: MailHost) -> None:
    limit(per_second=1_000)
    account = batch_of(1).event["customer_id"]
    shaper.shaper().ask(PATH, shaper.Lane(account, UNIT.transmission_id), 3_999)
    rest = batch_from(rest_after(received(3)))
    assert len(host.recipients) == 2
    assert rest.unit == UNIT.continued
    assert len(rest.messages) + len(host.recipients) == 3
    assert rest.paths == ()


def test_mail_to_other_providers_leaves_meanwhile(host: MailHost, zone: Zone) -> None:
    zone.set("other.test", ("MX", "10 mx.other.test"))
    shaper.shaper().learn(PATH, BUSY)
    batch = batch_from(received(3))
    first, *others = batch.messages
    messages = [replace(first, recipient="ann@other.test"), *others]
    delivery_batch.queue(replace(batch, messages=messages))
    rest = batch_from(rest_after(taken()))
    assert host.recipients == ["ann@other.test"]
    assert (rest.unit, rest.paths) == (UNIT.continued, (PATH,))
    assert [each.messages for each in store.backlogs_of(PATH)] == [2]


def test_mail_waits_since_it_was_generated_whatever_part_of_its_unit_leaves(
    host: MailHost, zone: Zone, time: Clock
) -> None:
    zone.set("other.test", ("MX", "10 mx.other.test"))
    shaper.shaper().learn(PATH, BUSY)
    shaper.shaper().learn("other.test|", BUSY)
    batch = batch_from(received(3))
    first, *others = batch.messages
    messages = [replace(first, recipient="ann@other.test"), *others]
    delivery_batch.queue(replace(batch, messages=messages))
    message = rest_after(taken())
    time.passes(70)
    shaper.shaper().learn(PATH, BUSY)
    rest_after(message)
    assert host.recipients == ["ann@other.test"]
    (entry,) = queue_page.entries("1")
    assert (entry["waiting"], entry["waiting_since"]) == (2, clock.iso_ms(INJECTED))


def test_a_host_that_asks_to_wait_gets_no_other_message_of_the_unit(host: MailHost) -> None:
    host.answers = {f"R{number}@example.test": [BUSY] for number in range(30)}
    settings.cache_clear()
    deliver_unit(received(30))
    assert len(host.recipients) < 30
    assert shaper.shaper().is_paused(PATH)


def test_a_message_that_is_held_back_bounces_when_its_time_is_over(
    host: MailHost, time: Clock
) -> None:
    shaper.shaper().learn(PATH, BUSY)
    message = rest_after(received(3))
    assert len(events("delay")) == 3
    time.passes(settings().retry_expiry)
    shaper.shaper().learn(PATH, BUSY)
    deliver_unit(message)
    assert host.recipients == []
    bounces = events("bounce")
    assert [(each["error_code"], each["bounce_class"]) for each in bounces] == [("554", "24")] * 3
    assert "message timeout, held back" in bounces[0]["raw_reason"]
    assert queued("delivery") == []
    assert store.backlogs_of(PATH) == []


def test_a_path_that_is_soon_free_does_not_wait_for_one_that_is_paused(
    host: MailHost, zone: Zone, time: Clock
) -> None:
    zone.set("other.test", ("MX", "10 mx.other.test"))
    store.change_overrides(lambda before: before | {"other.test": Limits(2, 20, per_second=5)})
    lane = shaper.Lane("1", UNIT.transmission_id)
    shaper.shaper().ask("other.test|", lane, 21)
    shaper.shaper().learn(PATH, BUSY)
    batch = batch_from(received(2))
    first, second = batch.messages
    messages = [replace(first, recipient="ann@other.test"), second]
    delivery_batch.queue(replace(batch, messages=messages))
    message = rest_after(taken())
    assert message.head["paths"] == [PATH, "other.test|"]
    time.passes(5)
    deliver_unit(message)
    assert host.recipients == ["ann@other.test"]


def test_mail_that_waits_takes_the_volume_of_a_warming_ip_once(host: MailHost, time: Clock) -> None:
    ip = warming(1)
    add(ip)
    shaper.shaper().learn(PATH, BUSY)
    message = received(30)
    for _ in range(2):
        message = rest_after(message)
        assert host.recipients == []
        time.passes(70)
        shaper.shaper().learn(PATH, BUSY)
    time.passes(900)
    message = rest_after(message)
    assert 0 < len(host.recipients) < 30, "after pauses the rate is lower"
    time.passes(900)
    deliver_unit(message)
    assert len(host.recipients) == 30
    assert {each["sending_ip"] for each in events("delivery")} == {ip.external_ip}
    assert warmup.reserve(1, ip, clock.now(), 200) == 200 - 30


def test_the_rest_of_a_unit_keeps_its_warming_ip(host: MailHost, time: Clock) -> None:
    ip = warming(1)
    add(ip)
    limit(per_second=1_000)
    account = batch_of(1).event["customer_id"]
    shaper.shaper().ask(PATH, shaper.Lane(account, UNIT.transmission_id), 3_991)
    message = rest_after(received(30))
    assert 0 < len(host.recipients) < 30
    time.passes(10)
    deliver_unit(message)
    assert len(host.recipients) == 30
    assert warmup.reserve(1, ip, clock.now(), 200) == 200 - 30


def test_a_unit_keeps_the_ips_of_all_its_messages(host: MailHost) -> None:
    """Some leave by a warming IP, up to its volume, and the others by another one."""
    add(warming(1), an_ip(2))
    assert warmup.reserve(1, warming(1), clock.now(), 190) == 190
    shaper.shaper().learn(PATH, BUSY)
    message = rest_after(received(30))
    assert message.head["sending_ips"] == [[10, "192.0.2.1"], [20, "192.0.2.2"]]
    ips = [each.sending_ip for each in batch_from(message).messages]
    assert ips == ["192.0.2.1"] * 10 + ["192.0.2.2"] * 20


def test_hosts_that_are_slow_are_so_for_all_their_domains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    destinations = set[str]()

    class Lock(CommitLock):
        def _acquire(self, destination: str) -> None:
            destinations.add(destination)

    lock = Lock(1.0)
    monkeypatch.setattr(attempts, "_commit_lock", lambda: lock)
    deliver_unit(received(3))
    assert destinations == {"mx.host.test"}


@pytest.mark.parametrize("account", [0, 1])
def test_a_tls_report_of_the_service_itself_leaves_as_one(account: int, host: MailHost) -> None:
    report = message(0, b"From: a@b.c\r\nTLS-Report-Submitter: b.c\r\n\r\nhi\r\n")
    batch = batch_of(2, 1, UNIT)
    event = batch.event | {"ip_pool": "default", "customer_id": str(account)}
    delivery_batch.queue(replace(batch, event=event, messages=[report, message(1)]))
    deliver_unit(taken())
    assert {each.recipient: each.is_tls_report for each in host.messages} == {
        report.recipient: account == 0,
        message(1).recipient: False,
    }


def test_what_is_held_back_does_not_wait_behind_the_mail_of_others(
    monkeypatch: pytest.MonkeyPatch, host: MailHost
) -> None:
    """The rest of a unit, a unit of which nothing may leave yet, and one that comes again."""
    monkeypatch.setenv("DELIVERY", "container")
    settings.cache_clear()
    limit(per_second=1)
    assert queues_of_units(received(30)) == {"held-deliveries": [UNIT.continued.name]}
    assert 0 < len(host.recipients) < 30
    second = received(30, unit=replace(UNIT, name="1"))
    assert queues_of_units(second) == {"held-deliveries": ["1"]}
    again = replace(second, head=second.head | {"paths": [PATH]})
    assert queues_of_units(again) == {"held-deliveries": ["1"]}


def queues_of_units(message: Received) -> dict[str, list[str]]:
    """Deliver a message; return the units that are queued for later, by queue."""
    with aws_requests() as requests:
        deliver_unit(message)
    units: dict[str, list[str]] = {}
    for request in requests:
        if request.operation == "SendMessage":
            queue = request.parameters["QueueUrl"].partition("postfinch-test-")[2]
            unit = queues.read(request.parameters["MessageBody"]).head.get("unit")
            if unit:
                units.setdefault(queue, []).append(unit)
    return units
