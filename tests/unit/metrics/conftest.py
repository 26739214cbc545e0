"""A local cloud for tests whose transactions are too many for the one in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.core import aws
from chalicelib.core.caches import clear_caches
from tests.fake_cloud import create_resources
from tests.unit.infrastructure.clouds import LocalCloud


@pytest.fixture(scope="module")
def local_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The service's resources in a cloud of its own; tests tell each other apart by account."""
    directory: Path = tmp_path_factory.mktemp("cloud")
    cloud = LocalCloud(directory)
    cloud.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", cloud.url)
            patch.setenv("RATE_LIMIT_PER_SECOND", "0")
            # It goes by the real time when it expires items, whatever time tests are about
            patch.setenv("METRICS_RETENTION", str(10**10))
            aws.clear_cache()
            clear_caches()
            create_resources()
            yield
    finally:
        cloud.close()
        aws.clear_cache()
        clear_caches()
