from __future__ import annotations

from typing import Any

import pytest

from chalicelib.ab_tests.model import AbTest, Counts
from chalicelib.ab_tests.view import ab_test_views, event_view
from chalicelib.core import ids
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import DAY, START, by_percent, by_size, engaged, stored

pytestmark = pytest.mark.usefixtures("cloud")

OPENED = "count_unique_confirmed_opened"


def view(test: AbTest, now_ms: int = START) -> dict[str, Any]:
    (only_view,) = ab_test_views([test], now_ms)
    return only_view


def test_a_running_test_is_shown_with_its_counts() -> None:
    test = stored(by_size(20, 40, total_sample_size=60, metric=OPENED))
    engaged(test, "t0", 6, 1)
    engaged(test, "t1", 4, 4)
    assert view(test) == {
        "id": "welcome",
        "name": "Welcome",
        "version": 1,
        "status": "running",
        "metric": OPENED,
        "audience_selection": "sample_size",
        "test_mode": "bayesian",
        "start_time": "2026-09-21T14:13:20+00:00",
        "end_time": "2026-09-22T14:13:20+00:00",
        "total_sample_size": 60,
        "confidence_level": 0.95,
        "engagement_timeout": 2,
        "default_template": {
            "template_id": "t0",
            "sample_size": 20,
            OPENED: 1,
            "count_accepted": 6,
            "engagement_rate": 0.166667,
        },
        "variants": [
            {
                "template_id": "t1",
                "sample_size": 40,
                OPENED: 4,
                "count_accepted": 4,
                "engagement_rate": 1.0,
            }
        ],
        "created_at": "2026-09-20T14:13:20+00:00",
        "updated_at": "2026-09-20T14:13:20+00:00",
    }


def test_the_defaults_of_sample_and_end_are_shown() -> None:
    fields = view(by_size(20, 40, end_ms=None))
    assert fields["total_sample_size"] == 60
    assert fields["end_time"] == "2026-10-21T12:13:20+00:00"
    assert "total_sample_size" not in view(by_percent(50, 50))


def test_a_percent_without_decimals_is_shown_as_an_integer() -> None:
    fields = view(by_percent(33.5, 66.5))
    assert fields["default_template"]["percent"] == 33.5
    percent = view(by_percent(40.0, 60.0))["default_template"]["percent"]
    assert (percent, type(percent)) == (40, int)


def test_a_learning_test_has_no_confidence_level() -> None:
    assert "confidence_level" not in view(by_size(5, 5, test_mode="learning"))


@pytest.mark.cost
def test_a_draft_shows_what_it_has_and_no_counts() -> None:
    nothing = dict.fromkeys(["metric", "audience_selection", "test_mode", "start_ms", "end_ms"])
    bare = by_percent(50, state="draft", subaccount_id=7, **nothing)
    with aws_requests() as requests:
        fields = view(bare)
    assert requests == []
    assert fields["default_template"] == {"template_id": "t0", "percent": 50}
    assert set(fields) == {
        "id",
        "name",
        "version",
        "status",
        "default_template",
        "created_at",
        "updated_at",
        "subaccount_id",
    }


def test_a_test_that_ended_shows_the_counts_of_its_end() -> None:
    test = stored(
        by_percent(
            50,
            50,
            state="completed",
            ended_ms=START + DAY,
            winning_template_id="t1",
            counts={"t0": Counts(10, 1, 2), "t1": Counts(10, 5, 6)},
        )
    )
    engaged(test, "t1", 3, 3)
    fields = view(test, START + DAY)
    assert (fields["status"], fields["winning_template_id"]) == ("completed", "t1")
    assert fields["variants"][0]["count_unique_clicked"] == 5


@pytest.mark.parametrize(("accepted", "rate"), [(2, 1.0), (0, 0.0), (-1, 0.0)])
def test_an_engagement_rate_lies_between_0_and_1_whatever_was_counted(
    accepted: int, rate: float
) -> None:
    fields = view(completed(counts={"t0": Counts(accepted, clicked=3)}))
    assert fields["default_template"]["engagement_rate"] == rate
    assert fields["default_template"]["count_accepted"] >= 0


@pytest.mark.cost
def test_many_tests_are_shown_with_one_request() -> None:
    tests = [stored(by_size(5, 5, id=f"test-{number}")) for number in range(5)]
    with aws_requests() as requests:
        views = list(ab_test_views(tests, START))
    assert [each["id"] for each in views] == [f"test-{number}" for number in range(5)]
    assert len(requests) == 1


def completed(**fields: Any) -> AbTest:
    counts = {"t0": Counts(10, 1, 2), "t1": Counts(10, 5, 6)}
    defaults = {"state": "completed", "ended_ms": START + 7, "counts": counts}
    return by_percent(50, 50, **(defaults | {"winning_template_id": "t1"} | fields))


def test_the_event_holds_the_result() -> None:
    assert event_view(completed(version=3)) == {
        "type": "ab_test_completed",
        "timestamp": START + 7,
        "event_id": event_view(completed(version=3))["event_id"],
        "customer_id": "1",
        "ab_test": {
            "id": "welcome",
            "name": "Welcome",
            "version": 3,
            "test_mode": "bayesian",
            "engagement_metric": "count_unique_clicked",
            "default_template": {
                "template_id": "t0",
                "count_unique_clicked": 1,
                "count_accepted": 10,
                "engagement_rate": 0.1,
            },
            "variants": [
                {
                    "template_id": "t1",
                    "count_unique_clicked": 5,
                    "count_accepted": 10,
                    "engagement_rate": 0.5,
                }
            ],
            "winning_template_id": "t1",
        },
    }


def test_a_cancelled_test_has_no_winner() -> None:
    event = event_view(completed(state="cancelled", winning_template_id=None, subaccount_id=7))
    assert event["type"] == "ab_test_cancelled"
    assert event["subaccount_id"] == "7"
    assert "winning_template_id" not in event["ab_test"]


def test_the_id_of_the_event_follows_from_the_version() -> None:
    assert event_view(completed())["event_id"] == event_view(completed(name="x"))["event_id"]
    others = [{"version": 2}, {"id": "x"}, {"account_id": 2}, {"created_ms": 7}]
    ids_of_events = {event_view(completed(**other))["event_id"] for other in [{}, *others]}
    assert len(ids_of_events) == 5
    assert ids.event_id("x", "y") not in ids_of_events
