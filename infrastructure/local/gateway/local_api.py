"""Route the requests of ``/local`` to their operations, and translate refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from chalicelib.core import strict_json
from chalicelib.core.errors import ServiceError
from infrastructure.local.gateway.replies import SAFE_HEADERS, error_body, reply
from infrastructure.local.gateway.request_body import Receive, Scope, Send
from infrastructure.local.gateway.route_table import (
    BodyTooLarge,
    DiskFull,
    HttpReply,
    HttpRequest,
    Route,
    RouteMatch,
    RouteTable,
    for_method,
)
from infrastructure.local.gateway.waiting_calls import WaitingCalls

PREFIX = "/local"
MAX_BODY_BYTES = 64 * 1024


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
class LocalRequest(HttpRequest):
    """One request."""

    def json(self) -> dict[str, Any]:
        """Return the body, which must be a JSON object; raises ServiceError, LocalError."""
        value = strict_json.loads(self.body)
        if not isinstance(value, dict):
            raise LocalError(400, "the body must be a JSON object")
        return value


@dataclass(frozen=True, slots=True)
class LocalReply(HttpReply):
    """One response."""

    content_type: str = "application/json"


def results(value: Any, status: int = 200, **beside: Any) -> LocalReply:
    """Return a response with ``results`` and the keys ``beside`` them."""
    return LocalReply(json.dumps({"results": value, **beside}).encode(), status=status)


@dataclass(frozen=True, slots=True)
class LocalRoute(Route):
    """One operation of ``/local``."""

    max_body: int = MAX_BODY_BYTES


class LocalApi:
    """The routes as an ASGI callable."""

    def __init__(
        self, routes: Iterable[LocalRoute], waiting_calls: WaitingCalls | None = None
    ) -> None:
        self.routes = tuple(routes)
        self._table = RouteTable(self.routes, waiting_calls)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        matches = self._table.matches(scope["raw_path"].decode("ascii").rstrip("/"))
        match = for_method(matches, scope["method"])
        if not matches:
            await _refuse(send, NoSuchThing())
        elif match is None:
            await _refuse(send, LocalError(405, "Method Not Allowed"))
        elif match.route.streams:
            await match.route.operation(scope, receive, send)
        else:
            await self._answer(match, scope, receive, send)

    async def _answer(self, match: RouteMatch, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await LocalRequest.read(match, scope, receive)
            if request is None:
                return
            response = await self._table.run(match.route, request)
        except BodyTooLarge as error:
            await _refuse(send, LocalError(413, str(error)))
        except DiskFull as error:
            await _refuse(send, LocalError(error.status, str(error)))
        except (LocalError, ServiceError) as error:
            await _refuse(send, error)
        else:
            await response.send(scope, send, SAFE_HEADERS)


async def _refuse(send: Send, error: LocalError | ServiceError) -> None:
    body = error.body() if isinstance(error, ServiceError) else error_body(str(error))
    status = HTTPStatus(error.status)
    await reply(send, status, json.dumps(body).encode(), "application/json", SAFE_HEADERS)


def whole_number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Read a query parameter that is a number, at most ``most``; raises LocalError."""
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise LocalError(400, f"{name} must be a whole number")
    return min(int(text), most)
