from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.ab_tests.model import CLICKED, OPENED, AbTest, Share
from chalicelib.ab_tests.rules import check_default_template, check_runnable, check_templates
from chalicelib.core.errors import ServiceError
from tests.unit.ab_tests.examples import DAY, START, by_percent, by_size, template

NOW = START - DAY


def faults(test: AbTest, now: int = NOW) -> list[str]:
    try:
        check_runnable(test, now)
    except ServiceError as failure:
        return [error["message"] for error in failure.errors]
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
def test_a_test_that_follows_the_rules_may_run(test: AbTest) -> None:
    assert faults(test) == []


def test_missing_fields_are_named() -> None:
    bare = by_size(5, metric=None, audience_selection=None, test_mode=None, start_ms=None)
    assert faults(bare) == [
        f"{name} is a required field"
        for name in ("metric", "audience_selection", "test_mode", "start_time", "variants")
    ]


@pytest.mark.parametrize(
    ("test", "message"),
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
def test_a_broken_rule_is_named(test: AbTest, message: str) -> None:
    assert any(message in fault for fault in faults(test)), faults(test)


def test_a_template_may_be_used_only_once() -> None:
    test = replace(by_size(5, 5), variants=(Share("t0", sample_size=5),))
    assert faults(test) == ["each template may be used only once in a test"]


def test_an_end_that_is_past_is_refused_and_a_start_that_is_past_is_not() -> None:
    assert faults(by_size(5, 5), START + 7) == []
    assert faults(by_size(5, 5), START + DAY) == ["end_time must be in the future"]


def test_all_faults_are_reported_at_once() -> None:
    broken: dict[str, Any] = {"confidence_level": 2.0, "end_ms": START - 1}
    assert len(faults(by_percent(50, 25, **broken))) == 3


def test_a_refusal_is_400_with_messages_only() -> None:
    with pytest.raises(ServiceError) as error_info:
        check_runnable(by_percent(50, 25), NOW)
    assert error_info.value.status == 400
    assert set(error_info.value.errors[0]) == {"message"}


def template_faults(test: AbTest) -> list[str]:
    try:
        check_templates(test)
    except ServiceError as failure:
        return [error["message"] for error in failure.errors]
    return []


@pytest.mark.usefixtures("cloud")
def test_every_template_has_to_be_published() -> None:
    template("t0")
    template("t1", published=False)
    assert template_faults(by_size(1, 1, 1)) == [
        "template 't1' has no published version",
        "template 't2' does not exist",
    ]
    template("t2")
    assert len(template_faults(by_size(1, 1, 1))) == 1
    assert template_faults(by_size(1)) == []


@pytest.mark.parametrize(
    ("metric", "option"), [(CLICKED, "click_tracking"), (OPENED, "open_tracking")]
)
@pytest.mark.usefixtures("cloud")
def test_a_template_has_to_track_what_the_test_measures(metric: str, option: str) -> None:
    template("t0", **{option: True})
    template("t1", **{option: False})
    assert template_faults(by_size(1, 1, metric=metric)) == [
        f"template 't1' has {option} turned off"
    ]
    other = CLICKED if metric == OPENED else OPENED
    assert template_faults(by_size(1, 1, metric=other)) == []


@pytest.mark.usefixtures("cloud")
def test_templates_are_those_of_the_owner_of_the_test() -> None:
    template("t0")
    template("t1", part=7)
    assert template_faults(by_size(1, 1)) == ["template 't1' does not exist"]
    assert template_faults(by_size(1, 1, subaccount_id=7)) == ["template 't0' does not exist"]


@pytest.mark.usefixtures("cloud")
def test_a_draft_is_checked_for_its_default_template_only() -> None:
    template("t0", click_tracking=False)
    check_default_template(by_size(1, 1))
    with pytest.raises(ServiceError, match="'t9' does not exist"):
        check_default_template(by_size(1, 1, default_template=Share("t9")))
