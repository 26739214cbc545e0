from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.infrastructure.clouds import LocalCloud
from tests.unit.suppression.running import new_account, running_cloud


@pytest.fixture(scope="session")
def suppression_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """Run a cloud that all tests share; each test has an account of its own."""
    with running_cloud(tmp_path_factory.mktemp("cloud")) as cloud:
        yield cloud


@pytest.fixture
def account(suppression_cloud: LocalCloud) -> Iterator[int]:
    """Return the number of an account that has no entries yet."""
    with new_account(suppression_cloud) as number:
        yield number
