"""Match requests to the routes of an API of the local runtime, and run their operations.

An operation is a function of an :class:`HttpRequest` that returns an :class:`HttpReply`. It runs in
a thread, unless it is a coroutine function; one that waits for other hosts runs in a thread of its
own kind. An operation that streams gets the ASGI connection. Each API has its own classes of
requests and replies, and its own refusals.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl, unquote

from infrastructure.local.gateway.replies import reply
from infrastructure.local.gateway.request_body import Receive, Scope, Send, read_body
from infrastructure.local.gateway.waiting_calls import WaitingCalls
from infrastructure.local.mailbox.full_disk import FULL, is_full

_SLOW_AT_ONCE = 4
_PARAMETER = re.compile(r"\{(\w+)\}")


class BodyTooLarge(Exception):
    """A request's body has more bytes than its route takes."""


class DiskFull(Exception):
    """What a request changes cannot be written; the text is for the caller."""

    status: Final = 507


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: method, path with ``{parameters}``, and the function."""

    method: str
    path: str
    operation: Callable[..., Any]
    max_body: int
    waits: bool = False
    streams: bool = False
    #: Whether a request takes long; few of those run at once, so that no short one waits for them
    is_slow: Callable[[Any], bool] = lambda _: False


class RouteMatch(NamedTuple):
    """A route whose path is that of a request. ``parameters`` are those of the path, decoded."""

    route: Route
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. ``parameters`` are those of the path, decoded."""

    method: str
    path: str
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    @classmethod
    async def read(cls, match: RouteMatch, scope: Scope, receive: Receive) -> Self | None:
        """Read a request, ``None`` when the client has gone; raises :class:`BodyTooLarge`."""
        limit = match.route.max_body
        body = await read_body(scope, receive, limit)
        if body is None:
            return None
        if body.too_large:
            raise BodyTooLarge(f"the body has more than {limit} bytes")
        return cls.of(scope, match.parameters, body.content)

    @classmethod
    def of(cls, scope: Scope, parameters: Mapping[str, str], body: bytes = b"") -> Self:
        """Return the request of a connection."""
        query = scope["query_string"].decode("ascii", "replace")
        return cls(
            method=scope["method"],
            path=scope["raw_path"].decode("ascii"),
            parameters=parameters,
            query=cls.query_of(parse_qsl(query, keep_blank_values=True)),
            headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]),
            body=body,
        )

    @staticmethod
    def query_of(pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Return the parameters of a query; of several with one name the last one counts."""
        return dict(pairs)

    def header(self, name: str) -> str:
        """Return the value of a header, empty if there is none; the name is in lower case."""
        return next((value for each, value in self.headers if each == name), "")


@dataclass(frozen=True, slots=True)
class HttpReply:
    """One response."""

    body: bytes
    content_type: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Values of ``Set-Cookie``
    cookies: Sequence[str] = ()

    async def send(self, scope: Scope, send: Send, headers: Mapping[str, str]) -> None:
        """Send it with further ``headers``; to a HEAD request without its body."""
        content = b"" if scope["method"] == "HEAD" else self.body
        headers = {**headers, **self.headers, "content-length": str(len(self.body))}
        await reply(send, self.status, content, self.content_type, headers, self.cookies)


class RouteTable:
    """The routes of one API."""

    def __init__(self, routes: Iterable[Route], waiting_calls: WaitingCalls | None = None) -> None:
        self._waiting_calls = waiting_calls or WaitingCalls()
        self._slow_calls = WaitingCalls(_SLOW_AT_ONCE, _SLOW_AT_ONCE)
        self._patterns = [(_pattern(route.path), route) for route in routes]

    def matches(self, path: str) -> list[RouteMatch]:
        """Return the routes of a path as it was requested, with whatever method."""
        return [
            RouteMatch(route, {name: unquote(text) for name, text in match.groupdict().items()})
            for pattern, route in self._patterns
            if (match := pattern.fullmatch(path))
        ]

    async def run(self, route: Route, request: HttpRequest) -> HttpReply:
        """Run an operation and return its response; raises what it raises, or DiskFull."""
        try:
            return await self._run(route, request)
        except (OSError, sqlite3.OperationalError) as error:
            if is_full(error):
                raise DiskFull(FULL) from None
            raise

    async def _run(self, route: Route, request: HttpRequest) -> HttpReply:
        response: HttpReply
        if inspect.iscoroutinefunction(route.operation):
            response = await route.operation(request)
        elif route.waits:
            response = await self._waiting_calls.run("", partial(route.operation, request))
        elif route.is_slow(request):
            response = await self._slow_calls.run("", partial(route.operation, request))
        else:
            response = await asyncio.to_thread(route.operation, request)
        return response


def for_method(matches: Iterable[RouteMatch], method: str) -> RouteMatch | None:
    """Return the first match with a method; HEAD is answered as GET."""
    method = "GET" if method == "HEAD" else method
    return next((match for match in matches if match.route.method == method), None)


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(_PARAMETER, path)
    # Every second one is the name of a parameter
    pieces = [
        f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)
    ]
    return re.compile("".join(pieces))
