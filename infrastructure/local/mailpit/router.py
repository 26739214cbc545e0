"""Route the requests of Mailpit's API to their operations, and answer as Mailpit does.

An operation raises :class:`MailpitError` to refuse. Refusals are plain texts there, not JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infrastructure.local.gateway.replies import SAFE_HEADERS, reply
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

API = "/api/v1"
MAX_BODY_BYTES = 5 * 1024 * 1024
TEXT_PLAIN = "text/plain; charset=utf-8"

_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"
# JSON may have them, but no text of UTF-8 has
_SURROGATES = re.compile(r"\\u[dD][89a-fA-F]")
_HEADERS = {**SAFE_HEADERS, "referrer-policy": "no-referrer"}


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
class MailpitRequest(HttpRequest):
    """One request. Its path is below the root."""

    @staticmethod
    def query_of(pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Return the parameters of a query; of several with one name the first one counts."""
        return dict(reversed(pairs))

    def json(self) -> dict[str, Any]:
        """Return the body, which must begin with a JSON object, with the keys in lower case.

        ``null`` stands for an object without keys, and what follows the value is not read.
        Raises MailpitError.
        """
        try:
            # JSON is UTF-8 (RFC 8259 8.1)
            text = self.body.decode("utf-8", "replace").lstrip(_BLANK)
            value, _ = _DECODER.raw_decode(text)
            if _SURROGATES.search(text):
                value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            message = "EOF" if not self.body.strip() else f"the body is no JSON: {error}"
            raise MailpitError(400, message) from None
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise MailpitError(400, "the body must be a JSON object")
        return {name.lower(): each for name, each in value.items()}


@dataclass(frozen=True, slots=True)
class MailpitReply(HttpReply):
    """One response."""

    content_type: str = TEXT_PLAIN


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


@dataclass(frozen=True, slots=True)
class MailpitRoute(Route):
    """One operation of Mailpit's; its path is below the root."""

    max_body: int = MAX_BODY_BYTES


class MailpitRouter:
    """The routes. The paths of connections are below the root."""

    def __init__(
        self, routes: Iterable[MailpitRoute], waiting_calls: WaitingCalls | None = None
    ) -> None:
        self.routes = tuple(routes)
        self._table = RouteTable(self.routes, waiting_calls)

    def has(self, scope: Scope) -> bool:
        """Tell whether the path of a connection is one of Mailpit's, with whatever method."""
        return bool(self._matches(scope))

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request for a path of Mailpit's."""
        matches = self._matches(scope)
        match = for_method(matches, scope["method"])
        if match is None:
            await _refuse_method(send, matches, scope["method"])
            return
        try:
            request = await MailpitRequest.read(match, scope, receive)
            if request is None:
                return
            response = await self._table.run(match.route, request)
        except BodyTooLarge:
            await send_error(send, MailpitError(413, "http: request body too large"))
        except MailpitError as error:
            await send_error(send, error)
        except DiskFull as error:
            await send_error(send, MailpitError(error.status, str(error)))
        else:
            await response.send(scope, send, _HEADERS)

    def _matches(self, scope: Scope) -> list[RouteMatch]:
        return self._table.matches(scope["raw_path"].decode("ascii"))


async def send_error(send: Send, error: MailpitError) -> None:
    """Send a refusal."""
    await reply(send, error.status, str(error).encode(), error.content_type, _HEADERS)


async def _refuse_method(send: Send, matches: Iterable[RouteMatch], method: str) -> None:
    methods = ", ".join(sorted({match.route.method for match in matches} | {"OPTIONS"}))
    headers = {**_HEADERS, "allow": methods}
    if method == "OPTIONS":
        await reply(send, 200, b"", "text/plain", headers)
    else:
        await reply(send, 405, b"Method Not Allowed\n", TEXT_PLAIN, headers)
