"""Processes that were forked from one share places."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

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


def in_another_process(work: Callable[[Connection], None]) -> tuple[BaseProcess, Connection]:
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
    take(places, "b")


def test_a_place_that_was_given_back_is_taken_again(places: SharedPlaces) -> None:
    for _ in range(3):
        take(places).release()


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
    eventually(lambda: len(places._in_use) == 2)  # the place, and the turn to take it
    place.release()
    assert places.take("a", 1, 0) is None
    assert has_place.wait(SECONDS)


def test_a_key_has_no_more_places_than_bytes(
    places: SharedPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_places, "MOST_PLACES", 2)
    take(places, count=5)
    take(places, count=5)
    assert places.take("a", 5, 0) is None
