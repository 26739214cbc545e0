"""Run a local cloud for tests that make too many transactions for the in-process fake cloud."""

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
    """The service's resources in a local cloud; each test uses accounts of its own."""
    directory: Path = tmp_path_factory.mktemp("cloud")
    cloud = LocalCloud(directory)
    cloud.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", cloud.url)
            patch.setenv("RATE_LIMIT_PER_SECOND", "0")
            # The local cloud expires items by the real time, not by the time that a test sets
            patch.setenv("METRICS_RETENTION", str(10**10))
            aws.clear_cache()
            clear_caches()
            create_resources()
            yield
    finally:
        cloud.close()
        aws.clear_cache()
        clear_caches()
