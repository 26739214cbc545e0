"""Unsubscriptions, complaints and late bounces of a message count once, however often they come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pytest

from chalicelib.core import clock
from chalicelib.core.message_event import Event
from chalicelib.core.request import Request
from chalicelib.core.scope import Scope
from chalicelib.events import service, stream
from chalicelib.events.positions import EventWindow
from chalicelib.inbound import inbound_events
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.original_message import OriginalMessage, find
from chalicelib.inbound.report import Bounce
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.metrics.totals import totals
from chalicelib.recording.worker import record_batch
from chalicelib.suppression import removal
from chalicelib.suppression.model import BLOCKING
from chalicelib.tracking.engagement import OBSERVED, observe
from chalicelib.tracking.model import Link, Message
from tests.client_calls import after_each_call
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.inbound.examples import INJECTED_MS, MESSAGE, store_context
from tests.unit.inbound.samples import RCPT
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.suppression.examples import entries_of

TYPES = ["list_unsubscribe", "link_unsubscribe", "spam_complaint", "out_of_band"]
LINK = Link("https://a.test/", "Bye", unsubscribes=True)


@pytest.fixture
def time(request: pytest.FixtureRequest) -> Iterator[Clock]:
    """Set the clock to a minute after the message, whose context is stored in the test's cloud."""
    is_local = "local_cloud" in request.fixturenames
    request.getfixturevalue("local_cloud" if is_local else "cloud")
    with moving_clock(INJECTED_MS / 1000 + 60) as moving:
        store_context()
        yield moving


def original() -> OriginalMessage:
    about = find(MESSAGE)
    assert about is not None
    return about


def one_click(link: Link | None = None) -> Event:
    message = Message(1, 7, MESSAGE, 3, RCPT, 99_999)
    kind = "link_unsubscribe" if link else "list_unsubscribe"
    return observe(kind, Request(source_ip="192.0.2.7"), message, link)


def by_mail() -> Event:
    return inbound_events.list_unsubscribe("ann@home.test", original(), clock.now_ms())


def complaint() -> Event:
    report = Feedback("abuse", "inbox.test", ())
    return inbound_events.spam_complaint(report, "b@x.test", original(), clock.now_ms())


def bounce() -> Event:
    return inbound_events.out_of_band(Bounce(550, "gone", 10), original(), clock.now_ms())


REPORTS: dict[str, Callable[[], Event]] = {
    **{"one click": one_click, "a link": lambda: one_click(LINK), "mail": by_mail},
    **{"a complaint": complaint, "a bounce": bounce},
}


def body(event: Event) -> str:
    stream.emit([event])
    (text,) = queued("events")
    return text


def record(*bodies: str) -> None:
    assert record_batch(sqs_event(list(bodies))) == {"batchItemFailures": []}


def shown() -> list[Event]:
    window = EventWindow(INJECTED_MS, INJECTED_MS * 2)
    return [event for _, event in service.newest_first(1, window) if event["type"] in TYPES]


def counted(types: Sequence[str] = TYPES) -> int:
    roll_up_pending()
    minute = INJECTED_MS // 60_000 * 60_000
    return totals(1, None, None, minute, minute + 40 * 86_400_000, types)


def suppressed() -> set[str]:
    return {entry.source for entry in entries_of(Scope(1, 7), RCPT)}


def remove() -> None:
    removal.remove(1, 7, RCPT, BLOCKING)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_that_comes_again_in_another_batch_counts_once(name: str, time: Clock) -> None:
    first = REPORTS[name]()
    for _ in range(3):
        record(body(REPORTS[name]()))
        time.passes(3600)
    (event,) = shown()
    assert (event["event_id"], event["timestamp"]) == (first["event_id"], first["timestamp"])
    assert event["subject"] == "Hello"
    assert counted() == 1
    assert len(suppressed()) == 1


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_that_comes_again_in_the_same_batch_counts_once(name: str, time: Clock) -> None:
    bodies = []
    for _ in range(3):
        bodies.append(body(REPORTS[name]()))
        time.passes(1)
    record(*bodies)
    record(*reversed(bodies))
    assert len(shown()) == counted() == len(suppressed()) == 1


def test_unsubscribing_by_mail_and_by_one_click_is_one_unsubscription(time: Clock) -> None:
    for report in (by_mail, one_click):
        record(body(report()))
        time.passes(60)
    (event,) = shown()
    assert event["mailfrom"] == "ann@home.test"
    record(body(one_click(LINK)))
    assert {event["type"] for event in shown()} == {"list_unsubscribe", "link_unsubscribe"}
    assert counted(["list_unsubscribe"]) == 1


@pytest.mark.parametrize("name", REPORTS)
def test_a_wish_that_is_repeated_after_a_removal_suppresses_again(name: str, time: Clock) -> None:
    record(body(REPORTS[name]()))
    remove()
    time.passes(86_400)
    again = body(REPORTS[name]())
    record(again)
    assert bool(suppressed()) == (name not in ("a bounce", "a complaint"))
    assert len(shown()) == counted() == 1


def test_a_repeated_wish_suppresses_by_the_context_of_its_message(time: Clock) -> None:
    store_context(list_id="News.1")
    for _ in range(2):
        record(body(one_click()))
        (entry,) = entries_of(Scope(1, 7), RCPT)
        assert (entry.list_id, entry.source) == ("News.1", "List Unsubscribe")
        remove()
        time.passes(60)


@pytest.mark.usefixtures("time")
def test_a_first_report_that_is_redelivered_after_a_removal_has_no_effect() -> None:
    first = body(one_click())
    record(first)
    remove()
    record(first)
    assert suppressed() == set()


@pytest.mark.usefixtures("local_cloud")
def test_reports_that_several_workers_record_at_once_count_once(time: Clock) -> None:
    bodies = []
    for _ in range(6):
        bodies.append([body(report()) for report in REPORTS.values()])
        time.passes(1)
    barrier = threading.Barrier(len(bodies), timeout=120)

    def work(own: list[str]) -> None:
        barrier.wait()
        record(*own)

    threads = [threading.Thread(target=work, args=(own,)) for own in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(event["type"] for event in shown()) == sorted(TYPES)
    assert counted() == len(TYPES)


class Killed(BaseException):
    """The process dies here. No code of ours may catch it."""


@pytest.mark.parametrize("kill_at", range(1, 12))
def test_reports_count_once_wherever_a_process_dies(kill_at: int, time: Clock) -> None:
    first = body(one_click())
    time.passes(1)
    second = body(one_click())
    steps = 0

    def kill(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps == kill_at:
            raise Killed

    try:
        with after_each_call(kill):
            record(first, second)
    except Killed:
        record(second)
        record(first)
    assert len(shown()) == counted() == len(suppressed()) == 1


@pytest.mark.parametrize("kill_at", range(1, 12))
def test_a_first_report_counts_that_is_redelivered_together_with_a_repeated_one(
    kill_at: int, time: Clock
) -> None:
    first = body(one_click())
    calls = iter(range(1, kill_at))

    def kill(_: str) -> None:
        if next(calls, None) is None:
            raise Killed

    with suppress(Killed), after_each_call(kill):
        record(first)
    time.passes(1)
    record(first, body(one_click()))
    assert len(shown()) == counted() == len(suppressed()) == 1


@pytest.mark.cost
@pytest.mark.usefixtures("time")
def test_only_events_that_a_message_has_once_cost_a_write_of_their_own() -> None:
    bodies = [body(one_click()) for _ in range(3)]
    with aws_requests() as requests:
        record(*bodies)
    assert [each.operation for each in requests].count("PutItem") == 1


@pytest.mark.usefixtures("time")
def test_events_of_other_systems_are_taken_as_they_come() -> None:
    for number in (1, 2, 2):
        event = complaint() | {"message_id": "other", "event_id": str(number)}
        del event["transmission_id"], event[OBSERVED]
        record(body(event))
    assert len(shown()) == 2
