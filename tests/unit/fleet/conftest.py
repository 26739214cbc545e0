"""Start each test of fleets without cached warm-up volumes."""

from __future__ import annotations

import pytest

from chalicelib.fleet import warmup


@pytest.fixture(autouse=True)
def no_volume_is_cached() -> None:
    """Clear what another test has cached about its IPs."""
    warmup.clear_cache()
