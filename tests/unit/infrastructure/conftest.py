from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.infrastructure.clouds import LocalCloud


@pytest.fixture
def local_cloud(tmp_path: Path) -> Iterator[LocalCloud]:
    """A running local cloud on an empty directory."""
    cloud = LocalCloud(tmp_path / "cloud")
    try:
        cloud.start()
        yield cloud
    finally:
        cloud.close()
