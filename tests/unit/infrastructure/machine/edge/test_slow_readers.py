from __future__ import annotations

import pytest

from infrastructure.machine.edge import slow_readers
from infrastructure.machine.edge.slow_readers import LEAST_BYTES, LOOK_SECONDS, WriteWatch
from tests.unit.infrastructure.machine.edge.connections import FakeTransport, SetLoop


def watch(loop: SetLoop, unread: int) -> tuple[WriteWatch, FakeTransport]:
    transport = FakeTransport()
    transport.unread = unread
    watch = WriteWatch(loop, transport)
    watch.begin()
    return watch, transport


def test_a_client_that_reads_too_little_is_cut_off(loop: SetLoop) -> None:
    _, transport = watch(loop, 100_000)
    transport.unread -= LEAST_BYTES - 1
    loop.advance(LOOK_SECONDS)
    assert transport.is_aborted


def test_a_client_that_goes_on_reading_is_not(loop: SetLoop) -> None:
    _, transport = watch(loop, 5 * LEAST_BYTES)
    for _ in range(4):
        transport.unread -= LEAST_BYTES
        loop.advance(LOOK_SECONDS)
    assert not transport.is_aborted
    loop.advance(LOOK_SECONDS)
    assert transport.is_aborted


def test_a_client_that_has_read_everything_is_not_watched(loop: SetLoop) -> None:
    first, transport = watch(loop, 100)
    transport.unread = 0
    loop.advance(LOOK_SECONDS)
    transport.unread = 100
    loop.advance(3 * LOOK_SECONDS)
    first.begin()
    first.end()
    loop.advance(3 * LOOK_SECONDS)
    assert not transport.is_aborted


def test_who_was_waited_for_longest_makes_room(
    loop: SetLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_readers, "MOST_UNREAD_BYTES", 250)
    watches = [watch(loop, 100) for _ in range(4)]
    assert [transport.is_aborted for _, transport in watches] == [True, True, False, False]
    for each, _ in watches:
        each.end()
    _, large = watch(loop, 1_000)
    assert not large.is_aborted
