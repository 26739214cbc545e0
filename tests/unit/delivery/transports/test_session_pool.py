"""Sessions are reused within limits; the sessions here are fakes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from chalicelib.core import shared_places
from chalicelib.core.shared_places import SharedPlaces
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry
from chalicelib.delivery.transports import (
    Commit,
    OutboundMessage,
    commit_at_once,
    session_pool,
)
from chalicelib.delivery.transports.idle_sessions import SessionKey
from chalicelib.delivery.transports.session_pool import PoolLimits, SessionPool, Sharing
from chalicelib.delivery.transports.smtp_session import (
    SessionFailed,
    SessionLost,
    SmtpSession,
    close_all,
)
from chalicelib.delivery.transports.smtp_wire import SmtpWire, Timeouts
from tests.journey.service import eventually

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


class FakeWire(SmtpWire):
    """A connection that only can be closed."""

    def __init__(self) -> None:
        pass

    def close(self) -> None:
        pass


class FakeSession(SmtpSession):
    """A session whose deliveries are a function."""

    def __init__(self, deliver: Callable[[], Outcome]) -> None:
        super().__init__(FakeWire(), {}, Timeouts())
        self.said_goodbye = False
        self._deliver = deliver

    def send(self, message: OutboundMessage, commit: Commit) -> Outcome:
        self.messages += 1
        return commit(self._deliver)

    def say_goodbye(self) -> float:
        self.said_goodbye = True
        return 2.0

    def end(self, deadline: float) -> None:
        assert self.said_goodbye
        self.abandon()


class Sessions:
    """Opens fake sessions, and remembers them."""

    def __init__(self) -> None:
        self.opened: list[FakeSession] = []
        self.do: Callable[[], Outcome] = lambda: GOOD

    def connect(self) -> SmtpSession:
        session = FakeSession(lambda: self.do())
        self.opened.append(session)
        return session


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


def send(pool: SessionPool, sessions: Sessions, key: SessionKey = HERE) -> Outcome:
    return pool.send(key, sessions.connect, MESSAGE, commit_at_once)


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


def test_old_sessions_have_the_time_of_one_to_close(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[int] = []

    def close(overdue: list[SmtpSession]) -> None:
        together.append(len(overdue))
        close_all(overdue)

    pool = SessionPool(PoolLimits(idle_seconds=60))
    for key in (HERE, THERE, HERE_FROM_ELSEWHERE):
        send(pool, sessions, key)
    for session in sessions.opened:
        session.last_used -= 61
    monkeypatch.setattr(session_pool, "close_all", close)
    send(pool, sessions, HERE)
    assert max(together) == 3
    assert [session.said_goodbye for session in sessions.opened] == [True] * 3 + [False]


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
    assert pool.send(HERE, connect, MESSAGE, commit_at_once) == failed


def test_a_commit_that_fails_frees_its_connection(sessions: Sessions) -> None:
    pool = SessionPool(PoolLimits(connections=1, wait_seconds=0.1))

    def broken(finish: Callable[[], Outcome]) -> Outcome:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        pool.send(HERE, sessions.connect, MESSAGE, broken)
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


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> SharedPlaces:
    """The places of connections that processes share."""
    places = SharedPlaces()
    monkeypatch.setattr(session_pool, "shared_places", lambda: places)
    return places


def is_free(places: SharedPlaces, path: str = HERE.path) -> bool:
    """Tell whether the only connection of a path could be taken."""
    place = places.take(path, 1, 0)
    if place:
        place.release()
    return place is not None


def shared_pool(**limits: float) -> SessionPool:
    """Return a pool that shares one connection of ``HERE`` with other processes."""
    sharing = {HERE.path: Sharing(1, 4)}
    return SessionPool(PoolLimits(sharing=sharing.get, **limits))  # type: ignore[arg-type]


def test_a_session_has_a_shared_connection_until_it_ends(
    sessions: Sessions, places: SharedPlaces
) -> None:
    pool = shared_pool(messages=2)
    send(pool, sessions)
    assert not is_free(places)
    send(pool, sessions)
    assert is_free(places)
    assert len(sessions.opened) == 1


def test_a_path_with_enough_connections_shares_none(
    sessions: Sessions, places: SharedPlaces
) -> None:
    send(shared_pool(), sessions, THERE)
    assert sessions.opened[0].is_open
    assert is_free(places, THERE.path)


def test_a_message_waits_for_a_shared_connection_and_no_longer_than_it_may(
    sessions: Sessions, places: SharedPlaces
) -> None:
    pool = shared_pool(wait_seconds=0.1)
    place = places.take(HERE.path, 1, 0)
    assert place
    outcome = send(pool, sessions)
    assert (outcome.code, sessions.opened) == (451, [])
    place.release()
    assert send(pool, sessions) == GOOD


@contextmanager
def somebody_waits(places: SharedPlaces) -> Iterator[None]:
    """Let another one wait for a connection of ``HERE`` during the block, and get it after that."""
    waits = threading.Thread(target=lambda: places.take(HERE.path, 1, 60), daemon=True)
    waits.start()
    (turn, *_) = shared_places._line_of(HERE.path)
    eventually(lambda: not places._is_free(turn))
    yield
    waits.join(20)
    assert not waits.is_alive()


def test_another_process_that_waits_gets_a_shared_connection_after_some_seconds(
    sessions: Sessions, places: SharedPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_pool, "_TURN_SECONDS", 0.5)
    pool, began = shared_pool(), time.monotonic()
    send(pool, sessions)
    with somebody_waits(places):
        eventually(lambda: send(pool, sessions) and sessions.opened[0].said_goodbye)
    assert time.monotonic() - began > 0.5
    assert len(sessions.opened) == 1


def test_a_shared_connection_that_nobody_waits_for_stays_open(
    sessions: Sessions, places: SharedPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_pool, "_TURN_SECONDS", -1.0)
    pool = shared_pool()
    for _ in range(3):
        send(pool, sessions)
    assert len(sessions.opened) == 1


def test_turns_are_so_short_that_all_others_can_wait_for_theirs() -> None:
    assert Sharing(1, 4).turn_seconds(60) == 2.0
    assert Sharing(1, 60).turn_seconds(60) == 0.5


def test_an_unused_session_gives_its_shared_connection_to_another_process(
    sessions: Sessions, places: SharedPlaces
) -> None:
    send(shared_pool(), sessions)
    with somebody_waits(places):
        pass
    assert sessions.opened[0].said_goodbye


def test_an_unused_session_is_closed_when_it_is_old(
    sessions: Sessions, places: SharedPlaces
) -> None:
    send(shared_pool(idle_seconds=0.2), sessions)
    eventually(lambda: is_free(places))
    assert not sessions.opened[0].is_open


def test_a_session_for_another_key_goes_on_with_the_shared_connection(
    sessions: Sessions, places: SharedPlaces
) -> None:
    pool = shared_pool(connections=1)
    send(pool, sessions)
    with somebody_waits(places):
        send(pool, sessions, replace(HERE, ehlo_name="other.test"))
        assert [each.is_open for each in sessions.opened] == [False, True]
    assert not sessions.opened[1].is_open


def test_a_session_that_is_used_again_is_not_closed_as_unused(
    sessions: Sessions, places: SharedPlaces
) -> None:
    pool = shared_pool()
    send(pool, sessions)
    messages = sessions.opened[0].messages
    send(pool, sessions)
    with somebody_waits(places):
        pool._close_unused(sessions.opened[0], messages)
        assert sessions.opened[0].is_open


@pytest.mark.parametrize("error", [SessionFailed(LOST), SessionLost(LOST, stale=False), OSError()])
def test_a_failure_gives_the_shared_connection_back(
    sessions: Sessions, places: SharedPlaces, error: Exception
) -> None:
    def fail() -> Outcome:
        raise error

    sessions.do = fail
    with suppress(OSError):
        assert send(shared_pool(), sessions) == LOST
    assert is_free(places)


def test_a_host_that_cannot_be_reached_takes_no_shared_connection(places: SharedPlaces) -> None:
    def connect() -> SmtpSession:
        raise SessionFailed(LOST)

    assert shared_pool().send(HERE, connect, MESSAGE, commit_at_once) == LOST
    assert is_free(places)
