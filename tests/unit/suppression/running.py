"""Run a local cloud in a process of its own, for tests with transactions of a hundred actions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from chalicelib.core import aws
from chalicelib.core.caches import clear_caches
from tests.fake_cloud import create_resources
from tests.unit.infrastructure.clouds import LocalCloud

_accounts = count(1, 10)  # with others beside each


@contextmanager
def running_cloud(directory: Path) -> Iterator[LocalCloud]:
    """Run a cloud with the service's resources."""
    cloud = LocalCloud(directory)
    try:
        cloud.start()
        with _clients_of(cloud):
            create_resources()
        yield cloud
    finally:
        cloud.close()


@contextmanager
def new_account(cloud: LocalCloud) -> Iterator[int]:
    """Point the clients of this process to ``cloud``; return a new account there."""
    with _clients_of(cloud):
        yield next(_accounts)


@contextmanager
def _clients_of(cloud: LocalCloud) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", cloud.url)
        clear_caches()
        aws.clear_cache()
        yield
    aws.clear_cache()
    clear_caches()
