"""Run a local cloud with the service's resources, and make this process use it."""

from __future__ import annotations

import base64
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chalicelib.core import aws
from chalicelib.core.caches import clear_caches
from infrastructure.local.supervisor.cloud_access import ACCESS_KEY_ID
from tests.client_calls import Call, observed_calls
from tests.unit.infrastructure.clouds import LocalCloud


@dataclass
class Requests:
    """The operations of the AWS requests that this process made, and the seconds they took.

    ``processor_seconds`` are those in which this process did not wait.
    """

    operations: list[str] = field(default_factory=list)
    seconds: float = 0.0
    processor_seconds: float = 0.0


@contextmanager
def local_cloud() -> Iterator[None]:
    """Run a cloud, make this process use it, and create the tables, queues and bucket there."""
    with tempfile.TemporaryDirectory() as directory:
        cloud = LocalCloud(Path(directory))
        os.environ |= {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": "test",  # the cloud and its clients share it
            "AWS_DEFAULT_REGION": "us-east-1",
            "STAGE": "bench",
            "SECRET_KEY": base64.b64encode(bytes(range(32))).decode(),
        }
        cloud.start()
        os.environ["AWS_ENDPOINT_URL"] = cloud.url
        clear_caches()
        aws.clear_cache()
        try:
            from infrastructure.provision import provision

            provision("bench")
            yield
        finally:
            cloud.stop()


@contextmanager
def counted() -> Iterator[Requests]:
    """Count and time the AWS requests that this process makes within the block."""
    requests = Requests()

    def measure(_: str, make: Call, operation: str, parameters: dict[str, Any]) -> Any:
        began, busy = time.perf_counter(), time.process_time()
        try:
            return make(operation, parameters)
        finally:
            requests.processor_seconds += time.process_time() - busy
            requests.operations.append(operation)
            requests.seconds += time.perf_counter() - began

    with observed_calls(measure):
        yield requests
