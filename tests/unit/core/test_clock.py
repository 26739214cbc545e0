from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import clock


def test_another_source_of_time_is_used_within_its_block_only() -> None:
    real = clock.now()
    with clock.use(lambda: 12.3456):
        assert clock.now() == 12.3456
        assert clock.now_ms() == 12345
        with clock.use(lambda: 1.0):
            assert clock.now() == 1.0
        assert clock.now() == 12.3456
    assert clock.now() >= real


def test_the_real_clock_is_back_when_the_block_fails() -> None:
    with pytest.raises(KeyError), clock.use(lambda: 5.0):
        raise KeyError
    assert clock.now() != 5.0


@pytest.mark.spec("2.4-t6")
def test_milliseconds_are_shown_with_three_digits_and_z() -> None:
    assert clock.iso_ms(0) == "1970-01-01T00:00:00.000Z"
    assert clock.iso_ms(1_769_850_300_007) == "2026-01-31T09:05:00.007Z"


@given(st.integers(0, 4_102_444_800_000))
def test_no_millisecond_is_lost_in_its_text(moment: int) -> None:
    read = datetime.fromisoformat(clock.iso_ms(moment))
    assert round(read.timestamp() * 1000) == moment


@pytest.mark.spec("2.5-t8")
def test_seconds_are_shown_with_the_offset_of_utc() -> None:
    assert clock.iso_offset(1_769_850_300.9) == "2026-01-31T09:05:00+00:00"
