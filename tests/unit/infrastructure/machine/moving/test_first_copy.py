from __future__ import annotations

from typing import Any

import pytest

from tests.unit.infrastructure.machine.moving.places import Move

COUNT = 230


def provide_events(move: Move) -> None:
    for number in range(COUNT):
        move.source.put("events", f"1#day#{number % 3}", str(number), data=b"block")


def requests_of(move: Move, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the names of the requests that write to the target."""
    names: list[str] = []
    make = move.requests.make

    def note(request: Any, arguments: Any) -> Any:
        if "postfinch-stage-events" in str(arguments) and request.__name__ != "scan":
            names.append(request.__name__)
        return make(request, arguments)

    monkeypatch.setattr(move.requests, "make", note)
    return names


def test_the_first_pass_writes_in_batches(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    provide_events(move)
    names = requests_of(move, monkeypatch)
    assert move.run().is_complete
    assert set(names) == {"batch_get_item", "batch_write_item"}
    assert len(names) < COUNT / 10


def test_later_passes_write_each_item_on_a_condition(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    move.run()
    provide_events(move)
    names = requests_of(move, monkeypatch)
    assert move.run().is_complete
    assert names == ["put_item"] * COUNT


def test_what_a_busy_table_did_not_take_is_sent_again(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide_events(move)
    make = move.requests.make

    def take_one(request: Any, arguments: Any) -> Any:
        if request.__name__ != "batch_write_item":
            return make(request, arguments)
        ((table, requests),) = arguments["RequestItems"].items()
        answer = make(request, {"RequestItems": {table: requests[:20]}})
        rest = {table: requests[20:]} if requests[20:] else {}
        return answer | {"UnprocessedItems": rest}

    monkeypatch.setattr(move.requests, "make", take_one)
    assert move.run().is_complete
    assert len(move.target.items()) == COUNT
