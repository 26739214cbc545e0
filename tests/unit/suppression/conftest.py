from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.infrastructure.clouds import LocalCloud
from tests.unit.suppression.running import new_account, running_cloud


@pytest.fixture(scope="session")
def suppression_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """A cloud that all tests share; each has an account of its own."""
    with running_cloud(tmp_path_factory.mktemp("cloud")) as cloud:
        yield cloud


@pytest.fixture
def account(suppression_cloud: LocalCloud) -> Iterator[int]:
    """The number of an account that nothing is kept of yet."""
    with new_account(suppression_cloud) as number:
        yield number
