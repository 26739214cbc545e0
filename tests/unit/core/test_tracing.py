from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import tracing
from chalicelib.core.settings import settings

_TRACE = "1-5759e988-bd862e3fe1be46a994272793"

# Runs in a process of its own, because X-Ray's SDK patches botocore for good
_PROGRAM = """
from chalicelib.core import aws, tracing

def work(fails):
    with tracing.call("batch", queue="q", transmission_id=None):
        tracing.annotate(route="/x")
        aws.dynamodb().exceptions
        if fails:
            raise ValueError("ann@inbox.test")

work(fails=False)
try:
    work(fails=True)
except ValueError as error:
    print(error)
print(hasattr(aws.make_client("dynamodb")._make_api_call, "__wrapped__"))
"""


@pytest.fixture
def daemon() -> Iterator[socket.socket]:
    """What X-Ray's SDK sends its segments to, on each machine of Lambda's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        yield receiver


def segments(daemon: socket.socket, count: int) -> list[dict[str, Any]]:
    datagrams = [daemon.recv(65_535) for _ in range(count)]
    return [json.loads(datagram.partition(b"\n")[2]) for datagram in datagrams]


def run(daemon: socket.socket, **environment: str) -> str:
    address = f"127.0.0.1:{daemon.getsockname()[1]}"
    on_lambda = {
        "LAMBDA_TASK_ROOT": "/var/task",
        "_X_AMZN_TRACE_ID": f"Root={_TRACE};Parent=53995c3f42cd8ad8;Sampled=1",
        "AWS_XRAY_DAEMON_ADDRESS": address,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, **on_lambda, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_traced_call_is_a_subsegment_with_its_ids_and_the_fault_but_no_text_of_it(
    daemon: socket.socket,
) -> None:
    output = run(daemon, TRACING="Active")
    success, failure = segments(daemon, 2)
    assert (success["name"], success["trace_id"]) == (
        "batch",
        _TRACE,
    )
    assert success["annotations"] == {"queue": "q", "route": "/x"}
    assert "fault" not in success
    assert failure["fault"] is True
    assert "inbox.test" not in json.dumps(failure)
    assert output.split() == ["ann@inbox.test", "True"]


def test_a_stage_that_does_not_trace_imports_nothing_of_x_ray() -> None:
    program = f"{_PROGRAM}\nimport sys; print('aws_xray_sdk' in sys.modules)"
    environment = {**os.environ, "AWS_DEFAULT_REGION": "us-east-1", "TRACING": "PassThrough"}
    output = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output.split() == ["ann@inbox.test", "False", "False"]


def test_outside_of_lambda_a_traced_call_only_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACING", "Active")
    monkeypatch.delenv("LAMBDA_TASK_ROOT", raising=False)
    settings.cache_clear()
    with pytest.raises(KeyError):
        fail_in_a_call()
    settings.cache_clear()


def fail_in_a_call() -> None:
    with tracing.call("batch", queue="q"):
        tracing.annotate(route="/x")
        raise KeyError
