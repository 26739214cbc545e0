"""What every test here starts with: no volume known to be spent."""

from __future__ import annotations

import pytest

from chalicelib.fleet import warmup


@pytest.fixture(autouse=True)
def nothing_is_spent() -> None:
    """Forget what this process found out about another test's IPs."""
    warmup.clear_cache()
