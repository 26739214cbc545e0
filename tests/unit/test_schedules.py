"""Scheduled functions do all due work once, even when called twice at once or an hour late.

A schedule may call a function again before its last call has ended, or miss an hour of calls. All
due work is still done exactly once. A call with nothing due costs one request, however much work
is due later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from chalice.app import ScheduledEventConfig

import app
from chalicelib.ab_tests.model import COMPLETED
from chalicelib.ab_tests.store import sample
from chalicelib.ab_tests.store import versions as ab_tests
from chalicelib.core import clock, due, dynamo, ids, queues
from chalicelib.core.due import Due
from chalicelib.core.lambda_events import scheduled_event
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.core.tls_results import (
    NO_POLICY,
    SUCCESS,
)
from chalicelib.delivery.tls_reports import store as tls_sessions
from chalicelib.delivery.tls_reports.session_result import SessionResult
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.model import DkimKey
from chalicelib.events import stream
from chalicelib.fleet import store as fleets
from chalicelib.fleet import warmup
from chalicelib.inbound_domains import recheck as inbound_recheck
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.levels import LEVELS
from chalicelib.metrics.store import counters as metrics
from chalicelib.metrics.store import pending
from chalicelib.recipient_lists.store import lists as recipient_lists
from chalicelib.recipient_validation import list_jobs
from chalicelib.recipient_validation import store as validations
from chalicelib.recipient_validation.request import CopyRequest
from chalicelib.seeding.model import Sample, SeedSend
from chalicelib.seeding.store import seed_sends
from chalicelib.sending_domains import recheck
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.suppression import service as suppression
from chalicelib.tracking.store import message_context
from chalicelib.transmissions.scheduling import start_due
from chalicelib.transmissions.submit import submit
from tests.client_calls import after_each_call
from tests.fake_cloud import aws_requests, queued
from tests.unit.ab_tests.examples import by_size
from tests.unit.data_privacy.examples import send
from tests.unit.events.examples import event_at
from tests.unit.fleet.examples import an_ip
from tests.unit.generation.examples import make_sender
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.key_pairs import PAIR
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account
from tests.unit.recipient_lists.examples import emails, saved
from tests.unit.seeding.examples import HOUR, SEEDS, SPRING, START
from tests.unit.seeding.simulation import World
from tests.unit.sending_domains.examples import domain
from tests.unit.suppression.examples import entries_of, entry
from tests.unit.transmissions.examples import make_transmission, meter, recipients
from tests.unit.zones import Zone, served_zone

DAY = 24 * HOUR
NOON = START // DAY * DAY + DAY // 2
MOST_REQUESTS = 40

Queued = dict[str, list[queues.Received]]


@dataclass(frozen=True, slots=True)
class Work:
    """Work for one scheduled function.

    ``arrange`` creates work with a number, due at a time in milliseconds. ``outcome`` looks at
    that work and at the queues; it returns ``done`` if the work was done exactly once, or ``late``
    if it was done an hour late and that differs. ``concern`` is its concern in ``core.due``.
    """

    concern: str
    arrange: Callable[[int, int], None]
    outcome: Callable[[int, Queued], Any]
    done: Any
    late: Any = None


def schedule_transmission(number: int, at_ms: int) -> None:
    scheduled = make_transmission(id=_transmission_id(number), start_ms=at_ms, resolved=False)
    submit(scheduled, recipients(2), meter())


def _transmission_id(number: int) -> str:
    return str(191930000000000000 + number)


def is_started(number: int, queue_messages: Queued) -> bool:
    """Tell whether a start message was sent; a second one does no harm (see ``start``)."""
    head = {"kind": "start", "transmission": _transmission_id(number)}
    return head in [message.head for message in queue_messages["small-sends"]]


def warm_up(number: int, at_ms: int) -> None:
    ip = an_ip(number, auto_warmup_enabled=True, advance_ms=at_ms)
    fleets.change(1, lambda fleet: replace(fleet, ips=(*fleet.ips, ip)))
    warmup.reserve(1, ip, (at_ms - DAY) / 1000, 10)


def stage_of(number: int, _: Queued) -> int:
    ip = fleets.get(1).ip(f"192.0.2.{number}")
    assert ip
    return ip.auto_warmup_stage


def run_ab_test(number: int, at_ms: int) -> None:
    test = by_size(10, 10, id=f"test{number}")
    shift = at_ms - test.completes_ms
    moved = {name: getattr(test, name) + shift for name in ("created_ms", "start_ms", "end_ms")}
    test = replace(test, due_ms=at_ms, **moved)
    assert ab_tests.create(test, sample.begin(test))


def decision_of(number: int, queue_messages: Queued) -> tuple[str, int]:
    """Return the state of a test and the number of events about its end."""
    test = ab_tests.version(1, f"test{number}", 1)
    assert test
    decisions = [event for message in queue_messages["events"] for event in stream.decode(message)]
    own = {event["event_id"] for event in decisions if event["ab_test"]["id"] == test.id}
    return test.state, len(own)


def ask_to_be_forgotten(number: int, at_ms: int) -> None:
    suppression.put_all(1, None, [entry(_person(number))])
    send(_person(number), transmission=_sent_to(number), at_ms=NOON + number * DAY)
    about = {"account_id": 1, "part": None, "recipients": [_person(number)]}
    due.add(Due("privacy", at_ms, str(number), {"kind": "forget", **about}))


def _person(number: int) -> str:
    return f"person{number}@inbox.test"


def _sent_to(number: int) -> str:
    return str(10**17 + number)


def data_of(number: int, _: Queued) -> list[Any]:
    """Return a person's suppression entries and the tags stored with the message to that person."""
    context = message_context.of_message(ids.message_id(_sent_to(number), 0))
    assert context
    return [*entries_of(Scope(1, None), _person(number)), *context.fields["rcpt_tags"]]


def register_domains(number: int, at_ms: int) -> None:
    """Register a verified domain, which stays, an unverified one, which is to be removed, and one
    that mail comes in for.
    """
    key = DkimKey("s1", f"kept{number}.test", PAIR.public_b64, b"sealed")
    verified = DomainStatus(True, dkim_status="valid")
    sending_domain = domain(f"kept{number}.test", dkim=key, status=verified, check_ms=at_ms)
    since = at_ms / 1000 - 14 * 86_400
    lost = domain(f"lost{number}.test", dkim=None, status=DomainStatus(), check_ms=at_ms)
    assert domains.create(sending_domain)
    assert domains.create(replace(lost, unverified_since=since))
    store_inbound_domain(f"in{number}.test", check_ms=at_ms)


def what_became_of_domains(number: int, _: Queued) -> tuple[bool, bool, bool, bool]:
    sending_domain = domains.get(f"kept{number}.test")
    inbound_domain = inbound_domains.get(f"in{number}.test")
    assert sending_domain
    assert inbound_domain
    is_lost = domains.get(f"lost{number}.test") is None
    return (
        sending_domain.status.ownership_verified,
        sending_domain.check_ms > clock.now_ms(),
        is_lost,
        inbound_domain.check_ms > clock.now_ms(),
    )


def begin_validation(number: int, at_ms: int) -> None:
    """Let the validation of a list, with a copy, be due; mail to its domain may arrive."""
    checked = saved(f"list{number}", 3)
    copy = CopyRequest(id=f"copy{number}", keep=["neutral"])
    job = list_jobs.new_job(checked, copy)
    assert validations.create(job, replace(list_jobs.due_entry(job), at_ms=at_ms))


def validated(number: int, _: Queued) -> tuple[str, Any, int]:
    """Return the status of a validation, its counts and the recipients of the copy."""
    job, copy = validations.get(1, f"list{number}"), recipient_lists.get(1, f"copy{number}")
    assert job
    return job.status, job.counts, len(emails(copy)) if copy else 0


def begin_seeding(number: int, at_ms: int) -> None:
    sample = Sample(_transmission_id(0), b"", "")
    seed_send = SeedSend(1, str(number), SPRING, at_ms, 20 * 60_000, tuple(SEEDS), sample)
    entry = seed_sends.due_entry(seed_send, 0)
    dynamo.transact([seed_sends.addition(seed_send), due.addition(entry)])


def seeds_of(number: int, queue_messages: Queued) -> set[int]:
    heads = [message.head["seed"] for message in queue_messages["generation"]]
    return {each["number"] for each in heads if each["run"] == str(number)}


def record_an_event(number: int, at_ms: int) -> None:
    delta = Delta()
    delta.add(event_at(at_ms, kind="injection", account=number, campaign_id="spring"))
    dynamo.transact(pending.additions(number, delta))


def counted_of(number: int, _: Queued) -> set[int]:
    """Return the counts of all mail at all levels."""
    indexes: set[int] = set()
    for level in LEVELS:
        period = level.bucket(NOON // 60_000) // level.together
        pk = metrics.partition(number, metrics.ALL, level, period)
        indexes |= {item["i"] for item in metrics.table.query_all("#pk = :pk", {"pk": pk})}
    return indexes


def leave_a_journal(number: int, at_ms: int) -> None:
    """Leave the journal file of a work unit whose worker died four days ago."""
    path = _journal(number)
    path.write_text("")
    os.utime(path, (at_ms / 1000 - 4 * 86_400 - 1,) * 2)


def is_left(number: int, _: Queued) -> bool:
    return _journal(number).exists()


def _journal(number: int) -> Path:
    return Path(settings().delivery_journal) / f"{_transmission_id(number)}-0.jsonl"


def count_a_session(number: int, at_ms: int) -> None:
    """Let a report be due about a domain that wants it by mail."""
    name = _reported_domain(number)
    tls_sessions.add("2026-01-31", SessionResult(name, NO_POLICY, SUCCESS), 1)
    due.add(Due("tls-reports", at_ms, f"2026-01-31#{name}"))


def reports_of(number: int, queue_messages: Queued) -> int:
    """Count the transmissions with the report about a domain."""
    header = f"TLS-Report-Domain: {_reported_domain(number)}\r\n".encode()
    sends = queue_messages["small-sends"]
    return len({each.head["transmission"] for each in sends if header in each.payload()})


def _reported_domain(number: int) -> str:
    return f"reported{number}.test"


WORK = {
    "start_transmissions": Work("transmissions", schedule_transmission, is_started, True),
    "advance_warmup": Work("ip-warmup", warm_up, stage_of, 2),
    "decide_ab_tests": Work("ab_tests", run_ab_test, decision_of, (COMPLETED, 1)),
    "erase_recipients": Work("privacy", ask_to_be_forgotten, data_of, []),
    "validate_lists": Work(
        "recipient-validation", begin_validation, validated, ("completed", {"neutral": 3}, 3)
    ),
    "reverify_domains": Work(
        "sending-domains", register_domains, what_became_of_domains, (True, True, True, True)
    ),
    "send_seeds": Work("seeding", begin_seeding, seeds_of, {0}, late={0, 1, 2, 3}),
    "send_tls_reports": Work("tls-reports", count_a_session, reports_of, 1),
    "roll_up_metrics": Work("", record_an_event, counted_of, {1}),
    "clean_up": Work("", leave_a_journal, is_left, False),
}
NAMES = sorted(WORK)


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    yield from served_zone(monkeypatch)


@pytest.fixture
def time(
    cloud: None, zone: Zone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Clock]:
    """A noon, with an account and with domains that have their records."""
    monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
    settings.cache_clear()
    # The fake cloud's transactions are not safe for several threads.
    monkeypatch.setattr(recheck, "_THREADS", 1)
    monkeypatch.setattr(inbound_recheck, "_THREADS", 1)
    for number in range(MOST_REQUESTS):
        record = txt_record(PAIR.public_b64)
        zone.set(f"s1._domainkey.kept{number}.test", ("TXT", record))
        reports = ("TXT", "v=TLSRPTv1; rua=mailto:reports@inbox.test")
        zone.set(f"_smtp._tls.{_reported_domain(number)}", reports)
    zone.set("example.test", ("A", "192.0.2.7"))
    with moving_clock(NOON / 1000) as moving:
        make_account()
        make_account(0)
        assert domains.create(domain(settings().system_domain, account=0))
        yield moving
    warmup.clear_cache()


def call(name: str) -> None:
    app.SCHEDULES[name](scheduled_event(name), None)


def everything_queued() -> Queued:
    return {
        queue: [queues.read(body) for body in queued(queue)]
        for queue in ("generation", "small-sends", "events")
    }


def still_due(name: str) -> list[Due]:
    return due.find(WORK[name].concern, clock.now_ms()) if WORK[name].concern else []


@contextmanager
def interrupted(after: int, intruder: Callable[[], None]) -> Iterator[list[str]]:
    """Call ``intruder`` after request number ``after`` of the block; yield all requests."""
    requests: list[str] = []

    def note(operation: str) -> None:
        requests.append(operation)
        if len(requests) == after:
            intruder()

    with after_each_call(note):
        yield requests


def test_every_scheduled_function_is_called_and_is_tested_here() -> None:
    declared = {
        each.name for each in app.app.event_sources if isinstance(each, ScheduledEventConfig)
    }
    assert set(app.SCHEDULES) == declared
    assert set(WORK) == declared, "add the work of the new function to tests/unit/test_schedules.py"


@pytest.mark.parametrize("name", NAMES)
def test_two_calls_at_once_do_the_work_once(name: str, time: Clock) -> None:
    work = WORK[name]
    for step in range(1, MOST_REQUESTS):
        work.arrange(step, time.now_ms)
        with interrupted(step, lambda: call(name)) as requests:
            call(name)
        assert work.outcome(step, everything_queued()) == work.done, f"after {requests[:step]}"
        assert still_due(name) == []
        if len(requests) < step:
            return
    raise AssertionError("it never came to an end")


@pytest.mark.parametrize("name", NAMES)
def test_work_missed_for_an_hour_is_done_by_the_next_call(name: str, time: Clock) -> None:
    work, numbers = WORK[name], range(1, 6)
    for number in numbers:
        work.arrange(number, time.now_ms + number)
    time.now_ms += HOUR
    call(name)
    queue_messages = everything_queued()
    outcomes = [work.outcome(number, queue_messages) for number in numbers]
    assert outcomes == [work.late or work.done] * len(numbers)
    assert still_due(name) == []


@pytest.mark.cost
@pytest.mark.parametrize("name", NAMES)
def test_a_call_with_nothing_due_makes_one_request_a_kind_of_work(name: str, time: Clock) -> None:
    if WORK[name].concern:
        for number in range(1, 6):
            WORK[name].arrange(number, time.now_ms + HOUR)
    with aws_requests() as requests:
        call(name)
    most = 2 if name == "reverify_domains" else 1  # sending domains, and inbound domains
    assert [each.operation for each in requests] in ([], ["Query"] * most)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_requests_depends_on_due_work_only(name: str, time: Clock) -> None:
    work, counts = WORK[name], []
    for number in (1, 2):
        work.arrange(number, time.now_ms)
        for later in range(5 if work.concern and number == 2 else 0):
            work.arrange(10 + later, time.now_ms + HOUR)
        with aws_requests() as requests:
            call(name)
        counts.append(len(requests))
    assert counts[1] <= counts[0]


@pytest.mark.spec("8-t4")
def test_a_transmission_scheduled_for_three_days_later_starts_then(cloud: None) -> None:
    with World(START / 1000, [lambda _: start_due()]).running() as world:
        make_sender()
        in_three_days = START + 3 * DAY
        submit(make_transmission(start_ms=in_three_days, created_ms=START), recipients(2), meter())
        world.run(71 * 3600, ticking=False)
        world.run(3599)
        assert world.deliveries == []
        world.run(61)
        assert sorted(to for _, to in world.deliveries) == ["r0@example.test", "r1@example.test"]
