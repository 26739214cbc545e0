"""Count the requests to the local cloud, for benchmarks and for tests of cost.

``GET /_postfinch/counts`` answers ``{"requests": {"DynamoDB.PutItem": 3, ...}, "write_units": 4.5,
"read_units": 1.0, "latest": ["DynamoDB.PutItem", ...]}``. ``latest`` lists the last 500 requests,
oldest first. The capacity is what DynamoDB reports itself: each request to it is made to ask for
that report.

``GET /_postfinch/expire?now=<seconds>`` removes what is no longer kept at that time, and answers
``{"removed": 12}``; ``GET /_postfinch/shrink`` gives the free space of the database back.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from infrastructure.local.cloud import retention
from infrastructure.local.cloud.asgi import BODY, read_body

if TYPE_CHECKING:
    from infrastructure.local.cloud.asgi import AsgiApplication, Receive, Scope, Send
    from infrastructure.local.cloud.state import State

PATH = "/_postfinch/counts"
EXPIRE_PATH = "/_postfinch/expire"
SHRINK_PATH = "/_postfinch/shrink"
_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
_READS = ("GetItem", "BatchGetItem", "Query", "Scan")


class RequestCounts:
    """An ASGI application that counts what passes through to another."""

    def __init__(self, application: AsgiApplication, state: State) -> None:
        self._application = application
        self._state = state
        self._requests: Counter[str] = Counter()
        self._latest: deque[str] = deque(maxlen=500)
        self._units = {"write": 0.0, "read": 0.0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"].startswith("/_ministack"):
            await self._application(scope, receive, send)
        elif scope["path"] == PATH:
            await self._send_counts(send)
        elif scope["path"] == EXPIRE_PATH:
            now = float(parse_qs(scope["query_string"].decode())["now"][0])
            await _send_json(send, {"removed": retention.sweep(self._state, now)})
        elif scope["path"] == SHRINK_PATH:
            while self._state.store.give_back():
                pass
            await _send_json(send, {})
        else:
            await self._count(scope, receive, send)

    async def _send_counts(self, send: Send) -> None:
        counts = {
            "requests": dict(self._requests),
            "write_units": self._units["write"],
            "read_units": self._units["read"],
            "latest": list(self._latest),
        }
        await _send_json(send, counts)

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = operation(scope)
        self._requests[name] += 1
        self._latest.append(name)
        service, _, action = name.partition(".")
        if service != "DynamoDB" or action not in _WRITES + _READS:
            await self._application(scope, receive, send)
            return
        answer = bytearray()

        async def note_and_send(message: Any) -> None:
            answer.extend(message.get("body", b""))
            await send(message)

        await _ask_for_capacity(scope, receive)
        await self._application(scope, receive, note_and_send)
        self._units["write" if action in _WRITES else "read"] += _capacity(bytes(answer))


async def _send_json(send: Send, value: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(value).encode()})


def operation(scope: Any) -> str:
    """Return a request's name: ``DynamoDB.PutItem``, ``SQS.SendMessage``, ``S3.PUT``."""
    target = dict(scope["headers"]).get(b"x-amz-target", b"").decode("latin-1")
    service, _, action = target.rpartition(".")
    if service.startswith("DynamoDB"):
        return f"DynamoDB.{action}"
    return f"SQS.{action}" if service else f"S3.{scope['method']}"


async def _ask_for_capacity(scope: Scope, receive: Receive) -> None:
    """Let a request ask for the capacity that it takes."""
    request = json.loads(await read_body(scope, receive) or b"{}")
    scope[BODY] = json.dumps(request | {"ReturnConsumedCapacity": "TOTAL"}).encode()


def _capacity(answer: bytes) -> float:
    capacity = json.loads(answer or b"{}").get("ConsumedCapacity") or []
    reports = capacity if isinstance(capacity, list) else [capacity]
    return sum(report["CapacityUnits"] for report in reports)
