from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from chalicelib.core.time_zones import time_zone


@pytest.mark.parametrize("name", ["UTC", "utc", "Utc"])
def test_utc_is_found_in_any_case(name: str) -> None:
    assert time_zone(name) is UTC


def test_a_time_zone_has_its_name() -> None:
    assert time_zone("Asia/Kolkata") == ZoneInfo("Asia/Kolkata")


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../../etc/passwd", "America", "a\0b"])
def test_no_other_name_is_a_time_zone(name: str) -> None:
    assert time_zone(name) is None
