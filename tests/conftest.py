"""What all tests share: a cloud in this process with the service's tables, queues and bucket."""

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

from chalicelib.api_keys import rate_limit
from chalicelib.core import config_cache, queues, sealing, signing
from chalicelib.core.settings import settings
from chalicelib.events.store import day_index
from chalicelib.metrics import registry
from chalicelib.seeding.store import samples
from chalicelib.transmissions.store import transmissions
from chalicelib.webhooks import lookup as webhooks
from chalicelib.webhooks import oauth
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


def forget_everything() -> None:
    """Forget what this process remembers of a cloud: addresses, cached records, settings.

    Clients stay: making four of them costs ten times as much as the tables, and every one that
    these tests make talks to the cloud in this process. Who switches endpoints resets them.
    """
    settings.cache_clear()
    sealing.master_key.cache_clear()
    signing._key.cache_clear()
    queues.reset()
    config_cache.clear()
    rate_limit.clear()
    day_index.clear_cache()
    samples.forget()
    registry.forget_noted()
    transmissions.get_submitted.cache_clear()
    webhooks.clear()
    oauth.forget_all()


@pytest.fixture
def cloud() -> Iterator[None]:
    """A cloud of its own for one test, empty but for the service's resources."""
    forget_everything()
    with mock_aws():
        create_resources()
        yield
    forget_everything()
