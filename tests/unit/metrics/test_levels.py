from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.metrics.levels import DAY, HOUR, LEVELS, MINUTE, Span, coarsest_for, spans

minutes = st.integers(0, 10 * 1440)


@given(minutes, minutes, st.sampled_from(LEVELS))
def test_spans_cover_exactly_the_window(start: int, length: int, coarsest: object) -> None:
    parts = list(spans(start, start + length, coarsest))  # type: ignore[arg-type]
    covered = [
        minute
        for span in parts
        for minute in range(span.first * span.level.minutes, span.end * span.level.minutes)
    ]
    assert covered == list(range(start, start + length))


@given(minutes, minutes)
def test_a_window_has_at_most_five_spans_with_fine_levels_at_its_ends(
    start: int, length: int
) -> None:
    parts = list(spans(start, start + length))
    assert len(parts) <= 5
    for span in parts:
        if span.level is MINUTE:
            assert span.end - span.first < 120
        if span.level is HOUR:
            assert span.end - span.first < 48


def test_a_whole_day_is_one_bucket() -> None:
    assert list(spans(1440, 2880)) == [Span(DAY, 1, 2)]
    assert list(spans(1440, 2880, HOUR)) == [Span(HOUR, 24, 48)]


def test_an_empty_window_has_no_spans() -> None:
    assert list(spans(77, 77)) == []
    assert list(spans(1440, 1440)) == []


def test_all_times_lie_on_boundaries_of_the_coarsest_level() -> None:
    assert coarsest_for(0, 1440, 2880) is DAY
    assert coarsest_for(60, 1440) is HOUR
    assert coarsest_for(60, 95) is MINUTE
    assert coarsest_for() is DAY
