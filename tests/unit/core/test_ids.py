from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import clock, ids

TRANSMISSIONS = st.integers(0, 2**63 - 1).map(str)
INDEXES = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("moment", [1_700_000_000.0, 1_763_634_452.5, 2_250_000_000.0])
def test_a_transmission_id_has_18_digits_until_2042(moment: float) -> None:
    with clock.use(lambda: moment):
        transmission_id = ids.transmission_id()
    assert transmission_id.isdigit()
    assert len(transmission_id) == 18
    assert int(transmission_id) < 2**63


def test_transmission_ids_grow_with_time() -> None:
    times = iter([1_763_634_452.000, 1_763_634_452.001, 1_763_634_452.002])
    with clock.use(lambda: next(times)):
        transmission_ids = [ids.transmission_id() for _ in range(3)]
    assert transmission_ids == sorted(transmission_ids, key=int)
    assert len(set(transmission_ids)) == 3


@given(TRANSMISSIONS, INDEXES)
def test_the_transmission_id_is_read_from_a_message_id(transmission: str, index: int) -> None:
    message = ids.message_id(transmission, index)
    assert len(message) == 24
    assert ids.transmission_of(message) == (transmission, index)


@given(st.text(max_size=30) | st.text("0123456789abcdefABCDEFx_+- ", min_size=24, max_size=24))
def test_only_a_message_id_holds_a_transmission_id(text: str) -> None:
    try:
        transmission, index = ids.transmission_of(text)
    except ValueError:
        return
    assert ids.message_id(transmission, index) == text


@pytest.mark.parametrize(
    "text", ["", "0" * 23, "0" * 25, "0x" + "0" * 22, "A" * 24, " " + "0" * 23, "0_0" + "0" * 21]
)
def test_a_text_that_is_no_message_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a message id"):
        ids.transmission_of(text)


@pytest.mark.spec("6-r2")
def test_event_ids_differ_by_message_type_and_attempt() -> None:
    event_ids = {
        ids.event_id(message, kind, attempt)
        for message in ("a", "b", "a\0")
        for kind in ("delay", "bounce")
        for attempt in (0, 1, 11)
    }
    assert len(event_ids) == 18


@given(st.text(max_size=30), st.text(max_size=10), st.integers(0, 50))
def test_an_event_id_is_a_decimal_of_at_most_19_digits(m: str, kind: str, attempt: int) -> None:
    event_id = ids.event_id(m, kind, attempt)
    assert event_id == ids.event_id(m, kind, attempt)
    assert 0 <= int(event_id) < 2**63
    assert str(int(event_id)) == event_id


def test_a_recipient_hash_is_the_sha1_of_the_address() -> None:
    assert ids.recipient_hash("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d"
