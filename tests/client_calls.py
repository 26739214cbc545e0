"""Observe the calls that this process's AWS clients make.

They are wrapped where botocore's methods make them: its events do not see prepared requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.core import aws

#: Makes one call: the name of the operation and its parameters
Call = Callable[[str, dict[str, Any]], Any]
#: Makes a call of a service (``dynamodb``) by the ``Call`` that it gets
Observer = Callable[[str, Call, str, dict[str, Any]], Any]


@contextmanager
def observed_calls(observe: Observer) -> Iterator[None]:
    """Let ``observe`` make all calls of the clients within the block."""
    with pytest.MonkeyPatch.context() as patch:
        for client in (aws.dynamodb(), aws.sqs(), aws.s3()):
            patch.setattr(client, "_make_api_call", _observed(client, observe))
        yield


@contextmanager
def after_each_call(act: Callable[[str], None]) -> Iterator[None]:
    """Let ``act`` run when a request took effect, before its response is read.

    It gets the name of the operation, and may end the process or change what is stored.
    """

    def observe(_: str, make: Call, operation: str, parameters: dict[str, Any]) -> Any:
        try:
            return make(operation, parameters)
        finally:
            act(operation)

    with observed_calls(observe):
        yield


@contextmanager
def before_calls_of(operation: str, act: Callable[[], None]) -> Iterator[None]:
    """Let ``act`` run before each request of an operation (``UpdateItem``) is made."""

    def observe(_: str, make: Call, each: str, parameters: dict[str, Any]) -> Any:
        if each == operation:
            act()
        return make(each, parameters)

    with observed_calls(observe):
        yield


def _observed(client: Any, observe: Observer) -> Call:
    make: Call = client._make_api_call
    service: str = client.meta.service_model.service_name
    return lambda operation, parameters: observe(service, make, operation, parameters)
