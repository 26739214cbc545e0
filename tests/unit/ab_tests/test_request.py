from __future__ import annotations

from typing import Any

import pytest

from chalicelib.ab_tests.model import Share
from chalicelib.ab_tests.request import apply_changes, read, read_new
from chalicelib.core.errors import ServiceError
from tests.unit.ab_tests.examples import by_size

DEFAULT = {"template_id": "t9", "percent": 50}


def messages(call: Any, *arguments: Any) -> list[str]:
    with pytest.raises(ServiceError) as error_info:
        call(*arguments)
    assert error_info.value.status == 400
    assert all(set(error) == {"message"} for error in error_info.value.errors)
    return [error["message"] for error in error_info.value.errors]


def test_a_new_test_needs_a_name_and_a_default_template() -> None:
    _, name, default = read_new({"name": "Welcome", "default_template": DEFAULT})
    assert (name, default) == ("Welcome", Share("t9", percent=50.0))
    assert messages(read_new, {}) == [
        "name is a required field",
        "default_template is a required field",
    ]
    assert messages(read_new, {"name": "Welcome", "default_template": None}) == [
        "default_template is a required field"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "é" * 33},
        {"name": 7},
        {"id": "a b"},
        {"id": "draft"},
        {"metric": "count_delivered"},
        {"audience_selection": "all"},
        {"test_mode": "frequentist"},
        {"start_time": 7},
        {"total_sample_size": 1.5},
        {"total_sample_size": "7"},
        {"confidence_level": "0.9"},
        {"engagement_timeout": 1.5},
        {"default_template": "t1"},
        {"default_template": {}},
        {"variants": {}},
        {"variants": [{"percent": 10}]},
        {"variants": [{"template_id": "t1", "sample_size": "1"}]},
        {"variants": [{"template_id": "t1", "percent": True}]},
    ],
)
def test_a_malformed_field_is_refused_with_a_message(fields: Any) -> None:
    assert len(messages(read, fields)) == 1


def test_a_body_that_is_no_object_is_refused() -> None:
    assert len(messages(read, [])) == 1


def test_unexpected_fields_are_ignored() -> None:
    assert read({"colour": "red", "status": "running", "version": 9}).name is None


def test_a_change_keeps_the_other_fields() -> None:
    test = by_size(5, 5)
    assert apply_changes(test, read({"metric": None})) == test
    assert apply_changes(test, read({"name": "New"})).name == "New"
    assert apply_changes(test, read({"default_template": {"template_id": "t9"}})).variants == (
        test.variants
    )


def test_a_change_may_have_all_fields() -> None:
    new = apply_changes(
        by_size(5, 5),
        read(
            {
                "name": "New",
                "metric": "count_unique_confirmed_opened",
                "audience_selection": "percent",
                "test_mode": "learning",
                "start_time": "2026-10-01T00:00:00Z",
                "end_time": "2026-10-02T02:00:00.5+02:00",
                "total_sample_size": 100,
                "confidence_level": 0.9,
                "engagement_timeout": 3,
                "default_template": DEFAULT,
                "variants": [{"template_id": "t8", "percent": 49.5}],
            }
        ),
    )
    assert (new.name, new.metric) == ("New", "count_unique_confirmed_opened")
    assert (new.audience_selection, new.test_mode) == ("percent", "learning")
    assert (new.start_ms, new.end_ms) == (1_790_812_800_000, 1_790_899_200_500)
    assert (new.total_sample_size, new.confidence_level, new.engagement_timeout) == (100, 0.9, 3)
    assert new.shares == (Share("t9", percent=50.0), Share("t8", percent=49.5))


@pytest.mark.parametrize(
    "text",
    ["2026-10-01T00:00Z", "2026-10-01T00:00:00+0000", "2026-10-01T01:00:00.000000+01:00"],
)
def test_times_are_iso_8601_with_an_offset(text: str) -> None:
    assert apply_changes(by_size(5, 5), read({"start_time": text})).start_ms == 1_790_812_800_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-10-01",
        "2026-10-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "20261001T000000Z",
        "9999-12-31T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "2026-10-01T25:00:00Z",
        "x" * 9999,
    ],
)
def test_a_malformed_time_is_refused(text: str) -> None:
    assert messages(apply_changes, by_size(5, 5), read({"end_time": text})) == [
        "end_time must be a date and time with an offset (ISO 8601)"
    ]


def test_numbers_that_are_too_small_for_the_table_become_zero() -> None:
    tiny = {"template_id": "t9", "percent": 1e-200}
    test = apply_changes(by_size(1), read({"default_template": tiny, "confidence_level": 1e-200}))
    assert (test.default_template.percent, test.confidence_level) == (0.0, 0.0)
    thirds = [{"template_id": f"t{n}", "percent": 100 / 3} for n in range(3)]
    test = apply_changes(by_size(1), read({"variants": thirds, "confidence_level": 0.95}))
    assert sum(share.percent or 0 for share in test.variants) == pytest.approx(100, abs=1e-8)
    assert test.confidence_level == 0.95
