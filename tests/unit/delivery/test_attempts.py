"""Several messages of a unit are attempted at a time, each recorded before the next is accepted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock, shutdown
from chalicelib.core.concurrency import PerKeyExecutor
from chalicelib.core.settings import settings
from chalicelib.delivery import attempts
from chalicelib.delivery.attempts import attempt_all
from chalicelib.delivery.commits import UnitCommits
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.delivery.departures import Departure
from chalicelib.delivery.outcome import Outcome, Retry, to_dict
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.delivery.transports import Commit, OutboundMessage
from chalicelib.fleet.routing import Route
from tests.unit.delivery.examples import DEFERRED, REFUSED, UNREACHED, message
from tests.unit.delivery.mail_host import OK, MailHost

ROUTE = Route("default")
FOREVER = 1e12


class MemoryJournal:
    """A journal in memory; ``wait`` is called before an entry is kept."""

    def __init__(self, wait: Callable[[int], Any] = lambda _: None) -> None:
        self.entries: dict[int, Entry] = {}
        self._wait = wait

    def forget(self, *, first: bool) -> dict[int, Entry]:
        return dict(self.entries)

    def reserve(self) -> None:
        pass

    def record(self, index: int, entry: Entry) -> None:
        self._wait(index)
        self.entries[index] = entry

    def close(self, *, finished: bool) -> None:
        pass


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailHost]:
    attempts._commit_lock.cache_clear()
    settings.cache_clear()
    yield MailHost().install(monkeypatch)
    attempts._commit_lock.cache_clear()
    settings.cache_clear()


def attempt(
    count: int, journal: MemoryJournal | None = None, route: Route = ROUTE, until: float = FOREVER
) -> dict[int, Entry]:
    messages = [message(index) for index in range(count)]
    return attempt_messages(messages, journal, route, until)


def attempt_messages(
    messages: Sequence[FinishedMessage],
    journal: MemoryJournal | None = None,
    route: Route = ROUTE,
    until: float = FOREVER,
) -> dict[int, Entry]:
    commits = UnitCommits(journal or MemoryJournal())
    attempt_all([Departure(each, route) for each in messages], commits, until=until)
    return commits.entries


def test_every_message_is_attempted_and_recorded(host: MailHost) -> None:
    journal = MemoryJournal()
    host.answers = {"R1@example.test": [DEFERRED], "R2@example.test": [REFUSED]}
    with clock.use(lambda: 1000.5):
        entries = attempt(20, journal)
    assert sorted(entries) == list(range(20))
    assert entries == journal.entries
    outcomes = {index: entry["outcome"] for index, entry in entries.items()}
    assert outcomes[0] == to_dict(OK)
    assert (outcomes[1], outcomes[2]) == (to_dict(DEFERRED), to_dict(REFUSED))
    assert {entry["at"] for entry in entries.values()} == {1_000_500}
    assert set(host.counts.values()) == {1}
    assert len(host.recipients) == 18


def test_a_message_leaves_with_its_envelope_and_by_its_route(host: MailHost) -> None:
    route = Route("new", "192.0.2.1", "10.0.0.1", "mta.test")
    (entry,) = attempt(1, route=route).values()
    assert host.messages == [
        OutboundMessage(
            message(0).sender, "R0@example.test", message(0).data, "10.0.0.1", "mta.test"
        )
    ]
    assert entry["route"] == {"ip_pool": "new", "sending_ip": "192.0.2.1"}


def test_each_message_is_recorded_before_a_host_accepts_another(host: MailHost) -> None:
    unrecorded: set[str] = set()
    together: list[set[str]] = []

    def accept(outbound: OutboundMessage) -> None:
        unrecorded.add(outbound.recipient)
        together.append(set(unrecorded))

    def forget(index: int) -> None:
        unrecorded.discard(f"R{index}@example.test")

    host.after = accept
    attempt(40, MemoryJournal(forget))
    assert [len(each) for each in together] == [1] * 40


def test_a_host_that_is_slow_to_answer_does_not_hold_up_the_others(
    host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "_COMMIT_SECONDS", 0.01)
    others = threading.Semaphore(0)

    def wait_for_others(outbound: OutboundMessage) -> None:
        if outbound.recipient == "R0@example.test":
            for _ in range(3):
                assert others.acquire(timeout=120)
        else:
            others.release()

    host.after = wait_for_others
    assert sorted(attempt(4)) == [0, 1, 2, 3]


def test_a_slow_host_does_not_delay_attempts_to_other_domains(host: MailHost) -> None:
    current = settings()
    elsewhere = threading.Event()

    def held(outbound: OutboundMessage) -> None:
        if outbound.recipient.endswith("@example.test"):
            assert elsewhere.wait(10)
        else:
            elsewhere.set()

    host.before = held
    slow = [message(index) for index in range(3 * current.delivery_connections)]
    other = replace(message(len(slow)), recipient="ann@elsewhere.test")
    messages = [*slow, other]
    entries = attempt_messages(messages)
    assert len(entries) == len(messages)


def test_a_message_that_failed_before_its_end_is_recorded_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unreachable:
        def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
            return UNREACHED

    monkeypatch.setattr(attempts, "transport", lambda _: Unreachable())
    journal = MemoryJournal()
    assert attempt(2, journal) == journal.entries
    assert journal.entries[0]["outcome"] == to_dict(UNREACHED)


def test_the_outcome_in_the_commit_window_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Confused:
        def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
            commit(lambda: OK)
            return Retry(421, "4.4.2 connection lost", 20)

    monkeypatch.setattr(attempts, "transport", lambda _: Confused())
    assert attempt(1)[0]["outcome"] == to_dict(OK)


def test_no_attempt_starts_after_the_time_limit(
    host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = PerKeyExecutor(1, 1)
    monkeypatch.setattr(attempts, "_executor", lambda: executor)
    now = [1000.0]

    def passes(_: OutboundMessage) -> None:
        now[0] += 10

    host.after = passes
    with clock.use(lambda: now[0]):
        entries = attempt(5, until=1015.0)
        assert attempt(5, until=1000.0) == {}
    assert sorted(entries) == [0, 1]
    assert len(host.recipients) == 2


def test_a_fault_ends_the_attempt_of_its_own_message_alone(
    host: MailHost, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(outbound: OutboundMessage) -> None:
        if outbound.recipient == message(3).recipient:
            raise OSError("broken")

    journal = MemoryJournal()
    host.before = broken
    attempt(10, journal)
    assert len(host.recipients) == 9
    outcomes = {index: entry["outcome"] for index, entry in journal.entries.items()}
    codes = {index: outcome["code"] for index, outcome in outcomes.items()}
    assert codes == dict.fromkeys(range(10), 250) | {3: 451}
    assert outcomes[3]["reply"].startswith("4.3.0 [internal] a fault of this service")
    assert "OSError: broken" in caplog.text


def test_the_width_of_the_commit_lock_is_a_setting(
    host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "_COMMIT_SECONDS", 60.0)
    monkeypatch.setenv("DELIVERY_COMMIT_WIDTH", "3")
    settings.cache_clear()
    together = threading.Barrier(3)
    host.after = lambda outbound: together.wait(10)
    assert sorted(attempt(3)) == [0, 1, 2]


class TestStopping:
    """A process that is to end sends nothing more, and waits only for hosts that got a dot."""

    @pytest.fixture(autouse=True)
    def ends(self) -> Iterator[None]:
        yield
        shutdown.withdraw()

    def test_no_attempt_begins(self, host: MailHost, monkeypatch: pytest.MonkeyPatch) -> None:
        executor = PerKeyExecutor(1, 1)
        monkeypatch.setattr(attempts, "_executor", lambda: executor)
        host.after = lambda _: shutdown.request()
        journal = MemoryJournal()
        assert sorted(attempt(5, journal)) == sorted(journal.entries) == [0]
        assert len(host.recipients) == 1

    def test_an_attempt_before_its_final_dot_is_abandoned(self, host: MailHost) -> None:
        is_blocked, go_on = threading.Event(), threading.Event()

        def block(outbound: OutboundMessage) -> None:
            is_blocked.set()
            assert go_on.wait(10)

        host.before_commit = block
        threading.Thread(target=lambda: is_blocked.wait(10) and shutdown.request()).start()
        commits = UnitCommits(MemoryJournal())
        attempt_all([Departure(message(0), ROUTE)], commits, until=FOREVER)
        assert commits.entries == {}
        go_on.set()
        attempts._executor().submit("another.test", lambda: None).result(10)
        assert (host.recipients, commits.entries) == ([], {})

    def test_the_reply_to_a_final_dot_is_awaited_and_recorded(self, host: MailHost) -> None:
        looks = 0

        def look_twice(commits: UnitCommits) -> bool:
            nonlocal looks
            looks += 1
            if looks == 2:
                answer.set()
            return real(commits)

        def answer_late(_: OutboundMessage) -> None:
            shutdown.request()
            assert answer.wait(10)

        real, answer = UnitCommits.close, threading.Event()
        host.after = answer_late
        journal = MemoryJournal()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(UnitCommits, "close", look_twice)
            assert sorted(attempt(1, journal)) == [0]
        assert sorted(journal.entries) == [0]


def test_limits_that_cannot_be_read_fail_an_attempt_and_stop_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unreadable:
        def submit(self, *_: Any) -> None:
            raise OSError("no answer")

    monkeypatch.setattr(attempts, "_executor", Unreadable)
    for wait in (0.0, 0.05, 0.05):
        departure = Departure(message(0), ROUTE, at=clock.monotonic() + wait)
        attempt = attempts._submit(departure, lambda: None, ())
        assert isinstance(attempt.exception(10), OSError)
