"""Sessions are reused within limits; the sessions here are fakes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count

import pytest

from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry
from chalicelib.delivery.transports import Commit, OutboundMessage, commit_at_once
from chalicelib.delivery.transports.session_pool import PoolLimits, SessionKey, SessionPool
from chalicelib.delivery.transports.smtp_session import SessionFailed, SessionLost, SmtpSession

MESSAGE = OutboundMessage("a@example.com", "b@example.net", b"x")


def key_of(
    destination: str, source: str | None = None, ehlo_name: str = "client.test"
) -> SessionKey:
    """Return a key whose connections count by destination."""
    return SessionKey(destination, source, ehlo_name, destination)


HERE = key_of("example.net")
THERE = key_of("example.org")
HERE_FROM_ELSEWHERE = key_of("example.net", "192.0.2.7")
GOOD = Delivered(250, "taken")
LOST = Retry(421, "4.4.2 [internal] lost", 20)


class FakeSession(SmtpSession):
    """A session whose deliveries are a function."""

    def __init__(self, name: int, deliver: Callable[[], Outcome]) -> None:
        self.name = name
        self.is_open = True
        self.is_reusable = True
        self.messages = 0
        self.last_used = time.monotonic()
        self.said_goodbye = False
        self._deliver = deliver

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        self.messages += 1
        return commit(self._deliver)

    def close(self) -> None:
        self.is_open = False
        self.said_goodbye = True

    def abandon(self) -> None:
        self.is_open = False


class Sessions:
    """Opens fake sessions, and remembers them."""

    def __init__(self) -> None:
        self.opened: list[FakeSession] = []
        self.do: Callable[[], Outcome] = lambda: GOOD
        self._names = count(1)

    def connect(self) -> SmtpSession:
        session = FakeSession(next(self._names), lambda: self.do())
        self.opened.append(session)
        return session


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


def send(pool: SessionPool, sessions: Sessions, key: SessionKey = HERE) -> Outcome:
    return pool.deliver(key, sessions.connect, MESSAGE, commit_at_once)


def test_a_session_is_used_again(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits())
    for _ in range(5):
        assert send(pool, sessions) == GOOD
    assert len(sessions.opened) == 1
    assert sessions.opened[0].messages == 5


@pytest.mark.parametrize(
    "other", [THERE, HERE_FROM_ELSEWHERE, key_of("example.net", None, "other.test")]
)
def test_a_session_is_not_used_for_another_key(sessions: Sessions, other: SessionKey) -> None:
    pool = SessionPool(PoolLimits())
    send(pool, sessions, HERE)
    send(pool, sessions, other)
    assert len(sessions.opened) == 2


def test_a_session_is_not_used_after_its_share_of_messages(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(messages=3))
    for _ in range(7):
        send(pool, sessions)
    assert [session.messages for session in sessions.opened] == [3, 3, 1]
    assert [session.said_goodbye for session in sessions.opened] == [True, True, False]


def test_a_session_that_idled_too_long_is_not_used(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(idle_seconds=60))
    send(pool, sessions)
    sessions.opened[0].last_used -= 61
    send(pool, sessions)
    assert len(sessions.opened) == 2
    assert sessions.opened[0].said_goodbye


def test_sessions_that_idled_too_long_are_closed_when_others_are_used(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(idle_seconds=60))
    send(pool, sessions, THERE)
    sessions.opened[0].last_used -= 61
    send(pool, sessions, HERE)
    assert sessions.opened[0].said_goodbye


def test_no_more_sessions_are_kept_than_allowed(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(idle_sessions=3))
    for n in range(10):
        send(pool, sessions, key_of(f"d{n}.example"))
    assert [session.is_open for session in sessions.opened] == [False] * 7 + [True] * 3


def breaks_once(stale: bool) -> Callable[[], Outcome]:
    broken = [SessionLost(LOST, stale=stale)]

    def do() -> Outcome:
        if broken:
            raise broken.pop()
        return GOOD

    return do


def test_a_stale_session_is_replaced(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits())
    send(pool, sessions)
    sessions.do = breaks_once(stale=True)
    assert send(pool, sessions) == GOOD
    assert len(sessions.opened) == 2


def test_a_session_that_timed_out_is_not_replaced(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits())
    send(pool, sessions)
    sessions.do = breaks_once(stale=False)
    assert send(pool, sessions) == LOST
    assert len(sessions.opened) == 1


def test_a_new_session_that_breaks_is_not_replaced(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits())
    sessions.do = breaks_once(stale=True)
    assert send(pool, sessions) == LOST
    assert len(sessions.opened) == 1


def test_a_session_that_does_not_open_is_an_outcome() -> None:
    failed = Failed(554, "5.7.1 no", 50)

    def connect() -> SmtpSession:
        raise SessionFailed(failed)

    pool = SessionPool(PoolLimits())
    assert pool.deliver(HERE, connect, MESSAGE, commit_at_once) == failed


def test_a_commit_that_fails_frees_its_connection(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(connections=1, wait_seconds=0.1))

    def broken(finish: Callable[[], Outcome]) -> Outcome:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        pool.deliver(HERE, sessions.connect, MESSAGE, broken)
    assert send(pool, sessions) == GOOD


def test_a_destination_never_has_more_connections_than_allowed(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(connections=3))
    lock, using, most = threading.Lock(), [0], [0]

    def do() -> Outcome:
        with lock:
            using[0] += 1
            most[0] = max(most[0], sum(session.is_open for session in sessions.opened))
        threading.Event().wait(0.002)
        with lock:
            using[0] -= 1
        return GOOD

    sessions.do = do
    routes = [HERE, HERE_FROM_ELSEWHERE]
    threads = [
        threading.Thread(
            target=lambda n=n: [send(pool, sessions, routes[n % 2]) for _ in range(10)]
        )
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 3
    assert sum(session.messages for session in sessions.opened) == 120


def test_a_message_that_gets_no_connection_in_time_is_a_transient_failure(
    sessions: Sessions,
) -> None:
    pool = SessionPool(PoolLimits(connections=1, wait_seconds=0.05))
    busy, done = threading.Event(), threading.Event()

    def do() -> Outcome:
        busy.set()
        done.wait(5)
        return GOOD

    sessions.do = do
    holder = threading.Thread(target=send, args=(pool, sessions))
    holder.start()
    busy.wait(5)
    outcome = send(pool, sessions)
    done.set()
    holder.join()
    assert isinstance(outcome, Retry)
    assert (outcome.code, outcome.bounce_class) == (451, 70)
    assert send(pool, sessions) == GOOD


def test_another_destination_does_not_wait(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(connections=1, wait_seconds=0.05))
    busy, done = threading.Event(), threading.Event()

    def do() -> Outcome:
        busy.set()
        done.wait(5)
        return GOOD

    sessions.do = do
    holder = threading.Thread(target=send, args=(pool, sessions, HERE))
    holder.start()
    busy.wait(5)
    sessions.do = lambda: GOOD
    assert send(pool, sessions, THERE) == GOOD
    done.set()
    holder.join()


def test_closing_ends_idle_sessions_and_keeps_no_new_ones(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits())
    send(pool, sessions)
    pool.close()
    assert sessions.opened[0].said_goodbye
    send(pool, sessions)
    assert sessions.opened[1].said_goodbye


def test_finished_domains_leave_nothing_behind(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(idle_sessions=2))
    for n in range(50):
        send(pool, sessions, key_of(f"d{n}.example"))
    assert not pool._connections._in_use
    assert len(pool._idle) == 2
