"""Idle sessions are found by their key, the one that was used last first."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.delivery.transports.idle_sessions import IdleSessions, SessionKey
from chalicelib.delivery.transports.smtp_session import SmtpSession

KEYS = [SessionKey(f"{n}.example", None, "here.test", f"path{n // 2}") for n in range(4)]


def session() -> SmtpSession:
    return cast(SmtpSession, object())


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "oldest"]), st.sampled_from(KEYS))))
def test_sessions_are_those_of_a_list_that_is_searched(
    steps: list[tuple[str, SessionKey]],
) -> None:
    idle = IdleSessions()
    expected: list[tuple[SessionKey, SmtpSession]] = []
    for action, key in steps:
        of_key = [each for each in expected if each[0] == key]
        if action == "add":
            expected.append((key, session()))
            idle.add(*expected[-1])
        elif action == "take":
            assert idle.take(key) is (of_key[-1][1] if of_key else None)
            expected = [each for each in expected if not of_key or each is not of_key[-1]]
        else:
            oldest = idle.oldest()
            assert oldest is (expected[0][1] if expected else None)
            if oldest:
                idle.remove(oldest)
            del expected[:1]
        path = key.path
        assert len(idle) == len(expected)
        assert idle.of_path(path) == [each for own, each in expected if own.path == path]
        assert all(each in idle for _, each in expected)


def test_the_session_that_was_used_last_is_used_next() -> None:
    idle, first, last = IdleSessions(), session(), session()
    idle.add(KEYS[0], first)
    idle.add(KEYS[0], last)
    assert [idle.take(KEYS[0]), idle.take(KEYS[0])] == [last, first]


def test_a_session_that_was_taken_is_not_there() -> None:
    idle, one = IdleSessions(), session()
    idle.add(KEYS[0], one)
    assert idle.take(KEYS[0]) is one
    assert one not in idle
    with pytest.raises(KeyError):
        idle.remove(one)


def test_keys_without_sessions_take_no_memory() -> None:
    idle = IdleSessions()
    for n in range(100):
        key = SessionKey(f"{n}.example", None, "here.test", "path")
        assert idle.take(key) is None
        idle.add(key, session())
        assert idle.take(key)
        assert idle.take(key) is None
    assert not idle._by_key
