"""Give each test of templates a cloud of its own."""

from __future__ import annotations

import pytest

from tests.unit.templates.api import Api


@pytest.fixture
def api(cloud: None) -> Api:
    """The routes, with no template in the account."""
    return Api()
