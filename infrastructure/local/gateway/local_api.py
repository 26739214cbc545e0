"""Route the requests of ``/local`` to their operations, and translate refusals.

An operation is a function of a :class:`LocalRequest` that returns a :class:`LocalReply`. It runs in
a thread, unless it is a coroutine function; one that waits for other hosts runs in a thread of its
own kind. An operation that streams gets the ASGI connection.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from chalicelib.core import strict_json
from chalicelib.core.errors import ServiceError
from infrastructure.local.gateway.replies import error_body, reply
from infrastructure.local.gateway.request_body import Receive, Scope, Send, read_body
from infrastructure.local.gateway.waiting_calls import WaitingCalls

PREFIX = "/local"
MAX_BODY_BYTES = 64 * 1024

_PARAMETER = re.compile(r"\{(\w+)\}")
# What is shown is never kept, guessed at or framed by others
_SAFE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class LocalError(Exception):
    """A refusal with its HTTP status; the message is for the caller."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class NoSuchThing(LocalError):
    """There is nothing at this path."""

    def __init__(self) -> None:
        super().__init__(404, "Resource could not be found")


@dataclass(frozen=True, slots=True)
class LocalRequest:
    """One request. ``parameters`` are those of the path, decoded."""

    method: str
    path: str
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def json(self) -> dict[str, Any]:
        """Return the body, which must be a JSON object; raises ServiceError, LocalError."""
        value = strict_json.loads(self.body)
        if not isinstance(value, dict):
            raise LocalError(400, "the body must be a JSON object")
        return value


@dataclass(frozen=True, slots=True)
class LocalReply:
    """One response."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Values of ``Set-Cookie``
    cookies: Sequence[str] = ()


def results(value: Any, status: int = 200, **beside: Any) -> LocalReply:
    """Return a response with ``results`` and the keys ``beside`` them."""
    return LocalReply(json.dumps({"results": value, **beside}).encode(), status=status)


class LocalRoute(NamedTuple):
    """One operation: method, path with ``{parameters}``, and the function."""

    method: str
    path: str
    operation: Callable[..., Any]
    max_body: int = MAX_BODY_BYTES
    streams: bool = False
    waits: bool = False


class LocalApi:
    """The routes as an ASGI callable."""

    def __init__(
        self, routes: Iterable[LocalRoute], waiting_calls: WaitingCalls | None = None
    ) -> None:
        self.routes = tuple(routes)
        self._waiting_calls = waiting_calls or WaitingCalls()
        self._patterns = [(_pattern(route.path), route) for route in self.routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["raw_path"].decode("ascii").rstrip("/")
        matches = [
            (route, match)
            for pattern, route in self._patterns
            if (match := pattern.fullmatch(path))
        ]
        if not matches:
            await _refuse(send, NoSuchThing())
            return
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        pair = next((pair for pair in matches if pair[0].method == method), None)
        if pair is None:
            await _refuse(send, LocalError(405, "Method Not Allowed"))
            return
        route, match = pair
        parameters = {name: unquote(text) for name, text in match.groupdict().items()}
        if route.streams:
            await route.operation(scope, receive, send)
        else:
            await _run(self._waiting_calls, route, parameters, scope, receive, send)


async def _run(
    waiting_calls: WaitingCalls,
    route: LocalRoute,
    parameters: Mapping[str, str],
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    body = await read_body(scope, receive, route.max_body)
    if body is None:
        return
    if body.too_large:
        await _refuse(send, LocalError(413, f"the body has more than {route.max_body} bytes"))
        return
    query = scope["query_string"].decode("ascii", "replace")
    request = LocalRequest(
        method=scope["method"],
        path=scope["raw_path"].decode("ascii"),
        parameters=parameters,
        query=dict(parse_qsl(query, keep_blank_values=True)),
        headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]),
        body=body.content,
    )
    try:
        if inspect.iscoroutinefunction(route.operation):
            response = await route.operation(request)
        elif route.waits:
            response = await waiting_calls.run("", partial(route.operation, request))
        else:
            response = await asyncio.to_thread(route.operation, request)
    except (LocalError, ServiceError) as error:
        await _refuse(send, error)
        return
    content = b"" if scope["method"] == "HEAD" else response.body
    headers = {**_SAFE, **response.headers, "content-length": str(len(response.body))}
    await reply(send, response.status, content, response.content_type, headers, response.cookies)


async def _refuse(send: Send, error: LocalError | ServiceError) -> None:
    body = error.body() if isinstance(error, ServiceError) else error_body(str(error))
    status = HTTPStatus(error.status)
    await reply(send, status, json.dumps(body).encode(), "application/json", _SAFE)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(_PARAMETER.sub(r"(?P<\1>[^/]+)", path))


def whole_number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Read a query parameter that is a number, at most ``most``; raises LocalError."""
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise LocalError(400, f"{name} must be a whole number")
    return min(int(text), most)
