"""Processes that were forked from one share places."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from chalicelib.core import shared_places
from chalicelib.core.shared_places import Place, SharedPlaces
from tests.journey.service import eventually

SECONDS = 20.0
_fork = multiprocessing.get_context("fork")


@pytest.fixture
def places() -> SharedPlaces:
    return SharedPlaces()


def take(places: SharedPlaces, key: str = "a", count: int = 1) -> Place:
    place = places.take(key, count, 0)
    assert place
    return place


def is_in_line(places: SharedPlaces, position: int) -> bool:
    """Tell whether a thread of this process has a position in the line for ``a``."""
    return (os.getpid(), shared_places._line_of("a")[position]) in places._in_use


def take_turn(places: SharedPlaces, order: list[int], number: int) -> None:
    place = places.take("a", 1, SECONDS)
    assert place
    order.append(number)
    place.release()


def in_another_process(work: Callable[[Connection], Any]) -> tuple[BaseProcess, Connection]:
    """Run work in a process that is forked from this one, with the end of a pipe."""
    here, there = _fork.Pipe()
    process = _fork.Process(target=work, args=(there,), daemon=True)
    process.start()
    return process, here


def test_no_more_places_are_taken_than_there_are(places: SharedPlaces) -> None:
    for _ in range(3):
        take(places, count=3)
    assert places.take("a", 3, 0.1) is None


def test_each_key_has_places_of_its_own(places: SharedPlaces) -> None:
    take(places, "a")
    assert places.take("b", 1, 0)


def test_a_place_that_was_given_back_is_taken_again(places: SharedPlaces) -> None:
    for _ in range(3):
        take(places).release()
    assert places.take("a", 1, 0)


def test_a_process_that_is_killed_gives_its_place_back(places: SharedPlaces) -> None:
    def hold(pipe: Connection) -> None:
        take(places)
        pipe.send("taken")
        pipe.recv()

    process, pipe = in_another_process(hold)
    assert pipe.recv() == "taken"
    assert places.take("a", 1, 0) is None
    process.kill()
    process.join(SECONDS)
    assert places.take("a", 1, 0)


def test_a_process_takes_no_place_of_the_one_that_forked_it(places: SharedPlaces) -> None:
    place = take(places)

    def try_twice(pipe: Connection) -> None:
        pipe.send(places.take("a", 1, 0) is None)
        pipe.recv()
        pipe.send(places.take("a", 1, 0) is not None)

    process, pipe = in_another_process(try_twice)
    assert pipe.recv()
    place.release()
    pipe.send("it is free")
    assert pipe.recv()
    process.join(SECONDS)


def test_who_gives_a_place_back_waits_behind_those_that_wait(places: SharedPlaces) -> None:
    place, has_place = take(places), threading.Event()

    def wait() -> None:
        assert places.take("a", 1, SECONDS)
        has_place.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    eventually(lambda: is_in_line(places, 0))
    place.release()
    assert places.take("a", 1, 0) is None
    assert has_place.wait(SECONDS)


def test_processes_get_a_place_in_the_order_in_which_they_came(places: SharedPlaces) -> None:
    place, order = take(places), list[int]()
    threads = [threading.Thread(target=take_turn, args=(places, order, n)) for n in range(8)]
    for number, thread in enumerate(threads):
        thread.start()
        eventually(lambda n=number: is_in_line(places, n))
    place.release()
    for thread in threads:
        thread.join(SECONDS)
    assert order == list(range(8))
    assert not places._in_use


def test_a_process_that_is_killed_in_the_line_holds_nobody_up(places: SharedPlaces) -> None:
    place, order = take(places), list[int]()
    process, _ = in_another_process(lambda pipe: places.take("a", 1, SECONDS))
    eventually(place.is_wanted)
    thread = threading.Thread(target=take_turn, args=(places, order, 1))
    thread.start()
    eventually(lambda: is_in_line(places, 1))
    process.kill()
    process.join(SECONDS)
    place.release()
    thread.join(SECONDS)
    assert order == [1]


def test_a_place_is_wanted_while_somebody_waits_for_one(places: SharedPlaces) -> None:
    place = take(places)
    assert not place.is_wanted()
    assert places.take("a", 1, 0.1) is None
    assert not place.is_wanted()
    process, _ = in_another_process(lambda pipe: places.take("a", 1, SECONDS))
    eventually(place.is_wanted)
    process.kill()
    eventually(lambda: not place.is_wanted())


def test_who_finds_a_full_line_waits_no_longer_than_allowed(
    places: SharedPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_places, "_LONGEST_LINE", 1)
    place = take(places)
    process, _ = in_another_process(lambda pipe: places.take("a", 1, SECONDS))
    eventually(place.is_wanted)
    assert places.take("a", 1, 0.1) is None
    process.kill()


def test_a_key_has_no_more_places_than_bytes(
    places: SharedPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_places, "MOST_PLACES", 2)
    take(places, count=5)
    take(places, count=5)
    assert places.take("a", 5, 0) is None
