from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.core.message_event import Event
from chalicelib.events import event_blocks
from chalicelib.events.event_blocks import MOST_BYTES, MOST_EVENTS, SPAN_MS, EventBlock
from chalicelib.events.positions import position
from tests.unit.events.examples import NINE, event_at

VALUES = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.floats(-2, 2).map(lambda n: round(n, 1)) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = ("rcpt_to", "rcpt_hash", "raw_rcpt_to", "recipient_domain", "subject", "rcpt_meta", "type")
ADDRESSES = st.sampled_from(["ann@b.test", "bob@c.test", "not an address", ""])


@st.composite
def some_events(draw: st.DrawFn) -> list[Event]:
    events = draw(
        st.lists(
            st.dictionaries(st.sampled_from(NAMES[1:]), VALUES, max_size=5), min_size=1, max_size=6
        )
    )
    for index, event in enumerate(events):
        event |= {"timestamp": NINE + index, "event_id": str(index)}
        if draw(st.booleans()):
            event["rcpt_to"] = draw(ADDRESSES)
        if draw(st.booleans()):
            event["raw_rcpt_to"] = event.get("rcpt_to", "")
    return events


def read(events: list[Event]) -> list[Event]:
    block = EventBlock(event_blocks.encode(events))
    return [block.event(row) for row in range(block.count)]


def identical(one: Any, other: Any) -> bool:
    """Tell whether two values are equal as JSON, where 1, 1.0 and true are different values."""
    return repr(one) == repr(other)


@given(some_events())
@hypothesis_settings(max_examples=150)
def test_a_decoded_block_has_the_same_events(events: list[Event]) -> None:
    for event, decoded in zip(events, read(events), strict=True):
        assert identical(dict(sorted(event.items())), dict(sorted(decoded.items())))


def test_a_block_keeps_half_a_surrogate_pair_and_line_ends() -> None:
    events = [
        event_at(NINE, n, subject=text) for n, text in enumerate(["\ud83d", "a\nb", '"', "é"])
    ]
    assert read(events) == events


def test_a_field_without_a_value_is_not_stored() -> None:
    event = event_at(NINE)
    assert read([event | {"subject": None}]) == [event]
    assert read([event | {"subject": None}, event | {"subject": "x"}])[0] == event


def test_1_and_1_0_and_true_stay_different_values() -> None:
    events = [event_at(NINE, n, rcpt_meta={"a": [value]}) for n, value in enumerate([1, True, 1.0])]
    assert [repr(event["rcpt_meta"]) for event in read(events)] == [
        "{'a': [1]}",
        "{'a': [True]}",
        "{'a': [1.0]}",
    ]


def test_derived_fields_take_no_space() -> None:
    event = event_at(NINE)
    without = {name: value for name, value in event.items() if name not in event_blocks._DERIVED}
    assert abs(len(event_blocks.encode([event])) - len(event_blocks.encode([without]))) < 25
    other = event | {"rcpt_hash": "f" * 40, "routing_domain": "mx.test", "raw_rcpt_to": "ANN@b.c"}
    assert read([event, other]) == [event, other]


def test_a_block_is_searched_by_its_columns() -> None:
    kinds = ["open", "click", "open", "bounce"]
    events = [event_at(NINE + n, n, kind) for n, kind in enumerate(kinds)]
    block = EventBlock(event_blocks.encode(events))
    assert list(block.rows({})) == [0, 1, 2, 3]
    assert list(block.rows({"type": {"open"}.__contains__})) == [0, 2]
    assert list(block.rows({"customer_id": "1".__eq__, "type": "click".__eq__})) == [1]
    assert list(block.rows({"customer_id": "2".__eq__})) == []
    assert list(block.rows({"recipient_domain": "example.test".__eq__})) == [0, 1, 2, 3]
    assert list(block.rows({"no_such_field": lambda value: value is None})) == [0, 1, 2, 3]
    assert block.positions() == [position(event) for event in events]


def test_only_the_columns_that_are_needed_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event_at(NINE + n, n, subject=f"s{n}") for n in range(5)]
    block = EventBlock(event_blocks.encode(events))
    decoded: list[str] = []
    decode = EventBlock._decode
    monkeypatch.setattr(
        EventBlock, "_decode", lambda block, name: decoded.append(name) or decode(block, name)
    )
    block.rows({"customer_id": "2".__eq__, "subject": "s1".__eq__})
    assert decoded == []
    block.rows({"subject": "s1".__eq__})
    assert decoded == ["subject"]


def test_a_block_holds_a_few_seconds_and_a_hundred_events() -> None:
    at = [0, 1, SPAN_MS, SPAN_MS + 1, 2 * SPAN_MS + 1, 10 * SPAN_MS]
    events = [event_at(NINE + offset, n) for n, offset in enumerate(at)]
    assert [len(each) for each in event_blocks.cut(events)] == [3, 2, 1]
    many = [event_at(NINE, n) for n in range(2 * MOST_EVENTS + 1)]
    assert [len(each) for each in event_blocks.cut(many)] == [MOST_EVENTS, MOST_EVENTS, 1]
    assert list(event_blocks.cut([])) == []


def test_events_with_much_metadata_make_smaller_blocks() -> None:
    rng = random.Random(1)
    events = [event_at(NINE, n, rcpt_meta={"x": rng.randbytes(9000).hex()}) for n in range(20)]
    parts = list(event_blocks.encode_parts(events))
    assert [event for some, _ in parts for event in some] == events
    assert all(len(block.data) <= MOST_BYTES for _, block in parts)
    assert len(parts) > 1
    (alone,) = event_blocks.encode_parts(
        [event_at(NINE, 0, rcpt_meta={"x": rng.randbytes(90_000).hex()})]
    )
    assert len(alone[1].data) > MOST_BYTES


def test_a_hundred_events_of_a_bulk_send_take_less_than_50_bytes_each() -> None:
    names = (f"b.{n:016x}.{random.Random(n).randbytes(8).hex()}@example.test" for n in range(100))
    events = [
        event_at(
            NINE + 9 * n,
            n,
            recipient=f"reader-{n}@inbox.test",
            subject=f"News for {n}",
            msg_from=name,
            msg_size=str(4000 + n),
            queue_time=str(n),
        )
        for n, name in enumerate(names)
    ]
    assert len(event_blocks.encode(events)) < 5000
    assert len(event_blocks.encode(events[:1])) < 400


@pytest.mark.parametrize("length", [100, 2_100, 2_200, 30_000])
def test_blocks_of_any_length_are_read(length: int) -> None:
    """Short ones are compressed in a smaller window."""
    subject = "".join(random.Random(1).choices("abcdefgh", k=length))
    events = [{**event_at(NINE), "subject": subject}]
    block = EventBlock(event_blocks.encode(events))
    assert block.event(0) == events[0]
