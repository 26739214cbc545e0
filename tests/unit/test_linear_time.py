"""Test the judge of linear time."""

from __future__ import annotations

import re

import pytest

from tests.unit.linear_time import assert_growth, assert_linear


def test_work_in_proportion_passes() -> None:
    assert_linear(lambda text: text.split("a"), "a" * 1_000_000)


def test_work_that_grows_with_the_square_fails() -> None:
    with pytest.raises(AssertionError, match="an eighth of it takes"):
        assert_linear(re.compile("a+b").search, "a" * 24_000)


def test_work_of_two_sizes_may_be_compared() -> None:
    with pytest.raises(AssertionError):
        assert_growth(lambda size: sum(range(size * size)), 500, 4000)
