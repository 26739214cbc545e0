from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ServiceError
from chalicelib.transmissions.request import read_start_time

#: 2026-01-31 09:00:00 UTC
NOW = 1_769_850_000


@pytest.fixture(autouse=True)
def _at_nine() -> Iterator[None]:
    with clock.use(lambda: NOW + 0.5):
        yield


@pytest.mark.parametrize("text", [None, "now"])
def test_a_transmission_without_a_start_time_starts_at_once(text: str | None) -> None:
    assert read_start_time(text) is None


@pytest.mark.parametrize(
    "text", ["2026-01-31T08:59:59+00:00", "2026-01-31T09:00:00Z", "1999-12-31T23:59:59-01:00"]
)
def test_a_start_time_that_has_passed_means_now(text: str) -> None:
    assert read_start_time(text) is None


@pytest.mark.spec("2.1-t19")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-31T09:00:01+00:00", 1),
        ("2026-01-31T10:30:00+01:00", 1800),
        ("2026-01-31T04:30:00-05:00", 1800),
        ("2026-01-31T09:30:00Z", 1800),
        ("2026-01-31T09:30:00.250Z", 1800.25),
    ],
)
def test_a_time_is_read_with_its_offset(text: str, seconds: float) -> None:
    assert read_start_time(text) == (NOW + seconds) * 1000


@pytest.mark.spec("8-t4")
@pytest.mark.spec("3-t9")
def test_a_start_is_at_most_three_days_ahead() -> None:
    assert read_start_time("2026-02-03T09:00:00+00:00") == (NOW + 3 * 86_400) * 1000
    with pytest.raises(ServiceError) as refusal:
        read_start_time("2026-02-03T09:00:01+00:00")
    assert refusal.value.status == 422
    assert refusal.value.errors[0]["code"] == "1300"
    assert "3 days" in refusal.value.errors[0]["description"]


@pytest.mark.spec("2.1-t19")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "NOW",
        "2026-01-31",
        "2026-01-31T09:30:00",
        "2026-01-31 09:30:00+00:00",
        "2026-02-30T09:30:00+00:00",
        "2026-01-31T25:00:00+00:00",
        "2026-01-31T09:30:00+99:00",
        "1769853600",
        "9999-12-31T23:59:59+00:00",
        "9999-12-31T23:59:59-23:59",
        "\ud800",
    ],
)
def test_an_impossible_start_time_is_refused(text: str) -> None:
    with pytest.raises(ServiceError) as refusal:
        read_start_time(text)
    assert (refusal.value.status, refusal.value.errors[0]["code"]) == (422, "1300")


def test_the_earliest_possible_time_has_passed() -> None:
    assert read_start_time("0001-01-01T00:00:00+23:59") is None
