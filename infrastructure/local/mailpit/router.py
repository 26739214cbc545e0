"""Route the requests of Mailpit's API to their operations, and answer as Mailpit does.

An operation is a function of a :class:`MailpitRequest` that returns a :class:`MailpitReply` or
raises :class:`MailpitError`. It runs in a thread, unless it is a coroutine function; one that waits
for other hosts runs in a thread of its own kind. Refusals are plain texts there, not JSON.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from infrastructure.local.gateway.replies import reply
from infrastructure.local.gateway.request_body import Receive, Scope, Send, read_body
from infrastructure.local.gateway.waiting_calls import WaitingCalls

API = "/api/v1"
MAX_BODY_BYTES = 5 * 1024 * 1024
TEXT_PLAIN = "text/plain; charset=utf-8"

_PARAMETER = re.compile(r"\{(\w+)\}")
_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"
# What is shown is never kept or guessed at by others
_SAFE = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class MailpitError(Exception):
    """A refusal with its HTTP status; the text is the whole body."""

    def __init__(self, status: int, text: str, content_type: str = TEXT_PLAIN) -> None:
        self.status = status
        self.content_type = content_type
        super().__init__(text)


class NotFound(MailpitError):
    """There is nothing at this path."""

    def __init__(self, text: str = "404 page not found") -> None:
        super().__init__(404, text)


@dataclass(frozen=True, slots=True)
class MailpitRequest:
    """One request. ``parameters`` are those of the path, decoded; ``path`` is below the root."""

    method: str
    path: str
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    @classmethod
    def read(
        cls, scope: Scope, parameters: Mapping[str, str] | None = None, body: bytes = b""
    ) -> MailpitRequest:
        """Return the request of a connection."""
        return cls(
            method=scope["method"],
            path=scope["raw_path"].decode("ascii"),
            parameters=parameters or {},
            query=query_of(scope),
            headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]),
            body=body,
        )

    def header(self, name: str) -> str:
        """Return the value of a header, empty if there is none; the name is in lower case."""
        return next((value for each, value in self.headers if each == name), "")

    def json(self) -> dict[str, Any]:
        """Return the body, which must begin with a JSON object, with the keys in lower case.

        ``null`` stands for an object without keys, and what follows the value is not read.
        Raises MailpitError.
        """
        try:
            # JSON is UTF-8 (RFC 8259 8.1)
            text = self.body.decode("utf-8", "replace").lstrip(_BLANK)
            value, _ = _DECODER.raw_decode(text)
        except (ValueError, RecursionError) as error:
            message = "EOF" if not self.body.strip() else f"the body is no JSON: {error}"
            raise MailpitError(400, message) from None
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise MailpitError(400, "the body must be a JSON object")
        return {name.lower(): each for name, each in value.items()}


@dataclass(frozen=True, slots=True)
class MailpitReply:
    """One response."""

    body: bytes
    content_type: str = TEXT_PLAIN
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Values of ``Set-Cookie``
    cookies: Sequence[str] = ()


def redirect(target: str, cookies: Sequence[str] = ()) -> MailpitReply:
    """Return a response that leads to another path."""
    return MailpitReply(b"", status=302, headers={"location": target}, cookies=cookies)


def json_reply(value: Any, status: int = 200) -> MailpitReply:
    """Return a response with a JSON value."""
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    return MailpitReply(body, "application/json", status)


def ok() -> MailpitReply:
    """Return the response to a change."""
    return MailpitReply(b"ok", "text/plain")


class MailpitRoute(NamedTuple):
    """One operation: method, path below the root with ``{parameters}``, and the function."""

    method: str
    path: str
    operation: Callable[..., Any]
    max_body: int = MAX_BODY_BYTES
    waits: bool = False


class MailpitRouter:
    """The routes. The paths of connections are below the root."""

    def __init__(
        self, routes: Iterable[MailpitRoute], waiting_calls: WaitingCalls | None = None
    ) -> None:
        self.routes = tuple(routes)
        self._waiting_calls = waiting_calls or WaitingCalls()
        self._patterns = [(_pattern(route.path), route) for route in self.routes]

    def has(self, scope: Scope) -> bool:
        """Tell whether the path of a connection is one of Mailpit's, with whatever method."""
        return bool(self._matches(scope))

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request for a path of Mailpit's."""
        matches = self._matches(scope)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        pair = next((pair for pair in matches if pair[0].method == method), None)
        if pair is None:
            await _refuse_method(send, matches, method)
            return
        route, match = pair
        body = await read_body(scope, receive, route.max_body)
        if body is None:
            return
        if body.too_large:
            await send_error(send, MailpitError(413, "http: request body too large"))
            return
        parameters = {name: unquote(text) for name, text in match.groupdict().items()}
        request = MailpitRequest.read(scope, parameters, body.content)
        try:
            response = await self._run(route, request)
        except MailpitError as error:
            await send_error(send, error)
            return
        content = b"" if scope["method"] == "HEAD" else response.body
        headers = {**_SAFE, **response.headers, "content-length": str(len(response.body))}
        kind, cookies = response.content_type, response.cookies
        await reply(send, response.status, content, kind, headers, cookies)

    async def _run(self, route: MailpitRoute, request: MailpitRequest) -> MailpitReply:
        response: MailpitReply
        if inspect.iscoroutinefunction(route.operation):
            response = await route.operation(request)
        elif route.waits:
            response = await self._waiting_calls.run("", partial(route.operation, request))
        else:
            response = await asyncio.to_thread(route.operation, request)
        return response

    def _matches(self, scope: Scope) -> list[tuple[MailpitRoute, re.Match[str]]]:
        path = scope["raw_path"].decode("ascii")
        return [
            (route, match)
            for pattern, route in self._patterns
            if (match := pattern.fullmatch(path))
        ]


def query_of(scope: Scope) -> dict[str, str]:
    """Return the parameters of a query; of several of one name the first one counts."""
    text = scope["query_string"].decode("ascii", "replace")
    return dict(reversed(parse_qsl(text, keep_blank_values=True)))


async def send_error(send: Send, error: MailpitError) -> None:
    """Send a refusal."""
    await reply(send, error.status, str(error).encode(), error.content_type, _SAFE)


async def _refuse_method(
    send: Send, matches: Iterable[tuple[MailpitRoute, Any]], method: str
) -> None:
    methods = sorted({route.method for route, _ in matches} | {"OPTIONS"})
    if method == "OPTIONS":
        await reply(send, 200, b"", "text/plain", {**_SAFE, "allow": ", ".join(methods)})
        return
    headers = {**_SAFE, "allow": ", ".join(methods)}
    await reply(send, 405, b"Method Not Allowed\n", TEXT_PLAIN, headers)


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(_PARAMETER, path)
    # Every second one is the name of a parameter
    pieces = [
        f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)
    ]
    return re.compile("".join(pieces))
