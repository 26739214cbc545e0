"""Serve requests to the local cloud and to moto in the process of the tests."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Context, Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from ministack.services import dynamodb, sqs
from moto.dynamodb.responses import DynamoHandler

from infrastructure.local.cloud import expressions
from infrastructure.local.cloud.gatekeeper import CALLER
from infrastructure.local.cloud.requests import Requests
from infrastructure.local.cloud.state import State
from infrastructure.local.cloud.steady_time import SteadyTime
from infrastructure.local.cloud.store import Synchronization
from infrastructure.local.cloud.table_keys import Unusual
from tests import moto_requests

ACCOUNT, REGION = "123456789012", "us-east-1"
DYNAMODB = "DynamoDB_20120810"
Answer = tuple[int, Any]
_EXACT = Context(prec=60)


class InProcessCloud:
    """The local cloud's requests without a server: what signs them is checked elsewhere."""

    def __init__(self, data: Path, *, waits: bool = False) -> None:
        self.loop = asyncio.new_event_loop()
        self.state = State(data, self.loop)
        self.state.tables.install()
        synchronization = Synchronization(self.state.store) if waits else None
        self.requests = Requests(_refuse, self.state, SteadyTime(), synchronization)

    async def ask(self, action: str, request: Any, protocol: str = DYNAMODB) -> Answer:
        """Return status and body of the answer."""
        messages: list[Any] = []
        body = json.dumps(request).encode()
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "headers": [(b"x-amz-target", f"{protocol}.{action}".encode())],
            CALLER: SimpleNamespace(access_key=ACCOUNT.encode(), region=REGION.encode()),
        }

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        await self.requests(scope, receive, send)
        start, content = messages
        return start["status"], json.loads(content["body"])

    def answer(self, action: str, request: Any, protocol: str = DYNAMODB) -> Answer:
        """Return status and body of the answer."""
        return self.loop.run_until_complete(self.ask(action, request, protocol))

    def answer_of_ministack(self, action: str, request: Any, protocol: str = DYNAMODB) -> Answer:
        """Return what MiniStack's own handler answers, on what is stored."""

        async def leave(*_: Any) -> str:
            raise Unusual

        answer, self.requests._answer = self.requests._answer, leave  # type: ignore[method-assign]
        try:
            return self.answer(action, request, protocol)
        finally:
            self.requests._answer = answer  # type: ignore[method-assign]


async def _refuse(*_: Any) -> None:
    raise AssertionError("a request to DynamoDB or SQS reached MiniStack's application")


@contextmanager
def in_process_cloud(data: Path, *, waits: bool = False) -> Iterator[InProcessCloud]:
    """A cloud on an empty directory. MiniStack is as before afterwards."""
    data.mkdir()
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("_index_members", "_tokenize", "_condition_syntax_error", "copy"):
            monkeypatch.setattr(dynamodb, name, getattr(dynamodb, name))
        for name in ("_receive_messages_for_esm", "_delete_messages_for_esm"):
            monkeypatch.setattr(sqs, name, getattr(sqs, name))
        with (
            patch.dict(dynamodb._tables._data, clear=True),
            patch.dict(sqs._queues._data, clear=True),
        ):
            expressions.install()
            cloud = InProcessCloud(data, waits=waits)
            yield cloud
            cloud.state.close()
            cloud.loop.close()


def as_text(value: Any) -> str:
    """Return the same text for equal values, whatever the order of sets and the form of numbers."""
    return json.dumps(normalized(value), sort_keys=True)


def normalized(value: Any) -> Any:
    """Return a value with its sets in one order and its numbers in one form."""
    match value:
        case {"N": str(number)}:
            return {"N": str(Decimal(number).normalize(_EXACT))}
        case {"NS": list(numbers)}:
            return {"NS": sorted(str(Decimal(each).normalize(_EXACT)) for each in numbers)}
        case {"SS": list(texts)}:
            return {"SS": sorted(texts)}
        case dict():
            return {name: normalized(each) for name, each in value.items()}
        case list() | tuple():
            return [normalized(each) for each in value]
    return value


def moto_answer(action: str, request: Any) -> Answer:
    """Return status and body of moto's answer, in which binary values are text as in JSON."""
    status, _, content = moto_requests.call(DynamoHandler, action, _with_bytes(request), REGION)
    return status, json.loads(content)


def _with_bytes(value: Any) -> Any:
    """Return a copy of a request with bytes, as botocore's parsers hand them to moto."""
    if isinstance(value, list):
        return [_with_bytes(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"B": str(text)} if len(value) == 1:
            return {"B": b64decode(text)}
        case {"BS": list(texts)} if len(value) == 1:
            return {"BS": [b64decode(text) for text in texts]}
    return {name: _with_bytes(each) for name, each in value.items()}
