"""Provide tests with a cloud in this process, with the service's tables, queues and bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tests.environment import IN_PROCESS_CLOUD

os.environ.update(IN_PROCESS_CLOUD)
os.environ.pop("AWS_ENDPOINT_URL", None)

import hypothesis
import pytest
from moto import mock_aws

from chalicelib.core.caches import clear_caches
from tests.fake_cloud import provide_resources

# Other load may slow a machine down, so examples have no deadline. In CI the examples are the same
# in each run, so that a failure comes from a change; elsewhere every run tries different ones.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("tests")


@pytest.fixture
def cloud() -> Iterator[None]:
    """A new cloud for one test, which holds only the service's resources."""
    clear_caches()
    with mock_aws():
        provide_resources()
        yield
    clear_caches()
