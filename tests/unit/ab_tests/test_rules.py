from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.ab_tests.model import AbTest, Share
from chalicelib.ab_tests.rules import check_runnable
from chalicelib.core.errors import ServiceError
from tests.unit.ab_tests.examples import DAY, START, by_percent, by_size

NOW = START - DAY


def faults(test: AbTest, now: int = NOW) -> list[str]:
    try:
        check_runnable(test, now)
    except ServiceError as refusal:
        return [error["message"] for error in refusal.errors]
    return []


@pytest.mark.parametrize(
    "test",
    [
        by_size(40_000, 10_000, 10_000),
        by_size(1, 1, total_sample_size=2),
        by_percent(50, 25, 25),
        by_percent(33.3, 33.3, 33.4, total_sample_size=1000),
        by_percent(*[100 / 21] * 21),
        by_size(5, 5, engagement_timeout=0, confidence_level=0.999),
        by_size(5, 5, end_ms=None, engagement_timeout=719),
        by_size(5, 5, test_mode="learning", confidence_level=7.0),
        by_size(5, 5, end_ms=START + 29 * DAY, engagement_timeout=24),
    ],
)
def test_a_test_that_keeps_the_rules_may_run(test: AbTest) -> None:
    assert faults(test) == []


def test_what_every_test_needs_is_named() -> None:
    bare = by_size(5, metric=None, audience_selection=None, test_mode=None, start_ms=None)
    assert faults(bare) == [
        f"{name} is a required field"
        for name in ("metric", "audience_selection", "test_mode", "start_time", "variants")
    ]


@pytest.mark.parametrize(
    ("test", "told"),
    [
        (by_size(5, 5, total_sample_size=11), "the sample sizes add up to 10"),
        (by_size(5, 0), "sample_size of at least 1"),
        (by_size(5, -5, total_sample_size=0), "total_sample_size must be at least 1"),
        (by_percent(50, 25), "the percents add up to 75, not to 100"),
        (by_percent(50, 50.1), "the percents add up to 100.1"),
        (by_percent(100, 0), "percent above 0"),
        (by_percent(120, -20), "percent above 0"),
        (by_percent(50, 50, total_sample_size=0), "total_sample_size must be at least 1"),
        (by_percent(50, 50, audience_selection="sample_size"), "sample_size of at least 1"),
        (by_size(5, 5, audience_selection="percent"), "percent above 0"),
        (by_percent(*[100 / 22] * 22), "variants may not be more than 20"),
        (by_size(5, 5, confidence_level=1.0), "confidence_level"),
        (by_size(5, 5, confidence_level=0.0), "confidence_level"),
        (by_size(5, 5, engagement_timeout=-1), "engagement_timeout must be from 0 to 719"),
        (by_size(5, 5, end_ms=START), "end_time must be after start_time"),
        (by_size(5, 5, end_ms=START + 29 * DAY, engagement_timeout=25), "30 days at most"),
    ],
)
def test_a_test_that_breaks_a_rule_is_told_which(test: AbTest, told: str) -> None:
    assert any(told in fault for fault in faults(test)), faults(test)


def test_a_template_may_be_used_only_once() -> None:
    test = replace(by_size(5, 5), variants=(Share("t0", sample_size=5),))
    assert faults(test) == ["each template may be used only once in a test"]


def test_an_end_that_is_past_is_refused_and_a_start_that_is_past_is_not() -> None:
    assert faults(by_size(5, 5), START + 7) == []
    assert faults(by_size(5, 5), START + DAY) == ["end_time must be in the future"]


def test_all_faults_are_told_at_once() -> None:
    broken: dict[str, Any] = {"confidence_level": 2.0, "end_ms": START - 1}
    assert len(faults(by_percent(50, 25, **broken))) == 3


def test_a_refusal_is_400_with_messages_only() -> None:
    with pytest.raises(ServiceError) as refused:
        check_runnable(by_percent(50, 25), NOW)
    assert refused.value.status == 400
    assert set(refused.value.errors[0]) == {"message"}
