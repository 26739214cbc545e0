"""Give tests a cloud in this process, with the service's tables, queues and bucket."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator

os.environ.update(
    {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "STAGE": "test",
        "SECRET_KEY": base64.b64encode(bytes(range(32))).decode(),
        "EVENTS_LAG": "-0.001",
        "EVENTS_SHARDS": "2",
    }
)
os.environ.pop("AWS_ENDPOINT_URL", None)

import hypothesis
import pytest
from moto import mock_aws

from chalicelib.core.caches import clear_caches
from tests.fake_cloud import create_resources

# Machines are shared, so nothing is judged by the time it takes. In CI a failure must come from a
# change, so the examples are the same each time; elsewhere every run tries others.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("tests")


@pytest.fixture
def cloud() -> Iterator[None]:
    """A cloud of its own for one test, empty but for the service's resources."""
    clear_caches()
    with mock_aws():
        create_resources()
        yield
    clear_caches()
