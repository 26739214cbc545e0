"""Hand HTTP requests to the ``App`` in the form of API Gateway's REST events.

Every request that no local endpoint takes becomes the event that API Gateway would make of it, and
runs in a thread; those that wait for other hosts have threads of their own. Of the others, those
with large bodies take turns, and such a body is kept only if the caller may make the request. The
path is taken undecoded. The source address is the peer's, never a
header's. A body over the limit is read to its end but not kept, so that the client can finish
sending and keep its connection; the ``App`` then answers 413, after its checks for 404, 405, 401
and 403.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from socket import socket
from ssl import SSLContext
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs

import uvicorn

from chalicelib.core.http import App
from infrastructure.local.gateway.activity import Activity
from infrastructure.local.gateway.http_protocol import HttpProtocol
from infrastructure.local.gateway.replies import error_body, reply_json
from infrastructure.local.gateway.request_body import (
    LARGE_BODY,
    Receive,
    RequestBody,
    Scope,
    Send,
    read_body,
)
from infrastructure.local.gateway.waiting_calls import WaitingCalls
from infrastructure.local.this_machine import NOBODY_ELSE, LocalAccess, reason_to_refuse

AsgiCallable = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger(__name__)

_BODILESS = (204, 304)
# The end of uvloop's message
_CONNECTION_CLOSED = "the handler is closed"
#: A client that begins no TLS is cut off; until then nothing else counts its connection
HANDSHAKE_SECONDS = 10.0


class FurtherPort(NamedTuple):
    """A further port of a server. It speaks HTTPS where it has the context of a certificate.

    One that is ``optional`` is left out where it cannot be bound. Without ``websockets`` a request
    for one is answered as any other. With ``sockets``, which listen already, nothing is bound.
    """

    host: str
    port: int
    context: SSLContext | None = None
    optional: bool = False
    websockets: bool = False
    sockets: Sequence[socket] = ()


class Companion(Protocol):
    """What runs beside the HTTP server, on its event loop and as long as it."""

    async def start(self) -> None:
        """Begin, before the first request; this takes no time that a start would show."""

    async def stop(self) -> None:
        """End, after the last request."""


class Gateway:
    """Serve ``app``; ``extra`` maps a path prefix, such as ``/local``, to an ASGI callable.

    A prefix covers the path itself and everything below it. These paths are for this machine only:
    for programs on it, and for web pages of the same origin; ``access`` says who else may use them.
    ``max_body_bytes`` bounds the bodies that reach ``app``, and ``threads`` the requests that run
    at once, besides those that ``waiting_calls`` runs. ``GET /`` leads to ``home``, a relative URL,
    if there is one. ``count`` gets method, status and seconds of each request that
    ``app`` answered. ``by_port`` maps a port to the ASGI callable that has all of it, WebSockets
    included; it says itself who may use it. ``activity`` learns when requests begin and end.
    """

    def __init__(
        self,
        app: App,
        *,
        max_body_bytes: int,
        extra: Mapping[str, AsgiCallable] | None = None,
        access: LocalAccess = NOBODY_ELSE,
        threads: int = 16,
        waiting_calls: WaitingCalls | None = None,
        home: str = "",
        count: Callable[[str, int, float], None] | None = None,
        by_port: Mapping[int, AsgiCallable] | None = None,
        companions: Sequence[Companion] = (),
        activity: Activity | None = None,
    ) -> None:
        self._app = app
        self._by_port = by_port or {}
        self._companions = companions
        self._activity = activity or Activity()
        self._access = access
        self._home = home
        self._count = count
        self._max_body_bytes = max_body_bytes
        self._extra = [(prefix + "/", handler) for prefix, handler in (extra or {}).items()]
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gateway")
        self._large_body_turn = asyncio.Semaphore(1)
        self._waiting_calls = waiting_calls or WaitingCalls()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        self._activity.note()
        try:
            await self._answer(scope, receive, send)
        except RuntimeError as error:
            # The client has gone, of which the HTTP server learns a moment later
            if not str(error).endswith(_CONNECTION_CLOSED):
                raise
        finally:
            self._activity.note()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if endpoint := self._by_port.get((scope.get("server") or ("", 0))[1]):
            await endpoint(scope, receive, send)
        elif scope["type"] == "http":
            await self.serve_http(scope, receive, send)

    async def serve_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever its port is."""
        await self._local_endpoint(scope)(scope, receive, send)

    def _local_endpoint(self, scope: Scope) -> AsgiCallable:
        if self._home and scope["raw_path"] == b"/" and scope["method"] in ("GET", "HEAD"):
            return self._lead_home
        path = scope["raw_path"].decode("ascii") + "/"
        for prefix, handler in self._extra:
            if path.startswith(prefix):
                return _for_this_machine(handler, self._access)
        return self._serve

    async def _lead_home(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {"location": self._home}
        response = {"statusCode": 302, "headers": headers, "body": "", "isBase64Encoded": False}
        await _write(response, scope["method"], send, close=False)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive, self._max_body_bytes, lambda: self._admits(scope))
        if body is None:
            return
        path = scope["raw_path"].decode("ascii")
        if self._app.waits(scope["method"], path):
            call = functools.partial(self._respond, scope, body)
            response = await self._waiting_calls.run(_caller(scope), call)
        else:
            loop = asyncio.get_running_loop()
            async with self._turn(body):
                response = await loop.run_in_executor(self._pool, self._respond, scope, body)
        await _write(response, scope["method"], send, close=body.unread)

    async def _admits(self, scope: Scope) -> bool:
        event = self._event(scope, RequestBody(b""))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._app.admits_large_body, event)

    def _turn(self, body: RequestBody) -> AbstractAsyncContextManager[None]:
        return self._large_body_turn if len(body.content) > LARGE_BODY else nullcontext()

    def _respond(self, scope: Scope, body: RequestBody) -> Mapping[str, Any]:
        began = time.perf_counter()
        response: Mapping[str, Any] = self._app(self._event(scope, body), None)
        if self._count:
            self._count(scope["method"], response["statusCode"], time.perf_counter() - began)
        return response

    def _event(self, scope: Scope, body: RequestBody) -> dict[str, Any]:
        path = scope["raw_path"].decode("ascii")
        resource, parameters = self._app.route_table.match(path) or (
            "/{proxy+}",
            {"proxy": path[1:]},
        )
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        query = parse_qs(scope["query_string"].decode("ascii", "replace"), keep_blank_values=True)
        content, binary = _as_text(body.content)
        return {
            "resource": resource,
            "path": path,
            "httpMethod": scope["method"],
            "headers": {name: values[-1] for name, values in headers.items()},
            "multiValueHeaders": headers,
            "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
            "multiValueQueryStringParameters": query or None,
            "pathParameters": parameters or None,
            "stageVariables": None,
            "requestContext": {
                "resourcePath": resource,
                "httpMethod": scope["method"],
                "path": path,
                "stage": "local",
                "requestId": str(uuid.uuid4()),
                "identity": {"sourceIp": scope["client"][0] if scope.get("client") else ""},
                "bodyTooLarge": body.too_large,
                "takesOctets": True,
            },
            "body": content,
            "isBase64Encoded": binary,
        }

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                for companion in self._companions:
                    await companion.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                for companion in self._companions:
                    await companion.stop()
                self._pool.shutdown(wait=False, cancel_futures=True)
                await send({"type": "lifespan.shutdown.complete"})
                return


def _caller(scope: Scope) -> str:
    """Return the key or the cookies that a request shows, which tell whose it is."""
    headers = dict(scope["headers"])
    return (headers.get(b"authorization") or headers.get(b"cookie", b"")).decode("latin-1")


def _for_this_machine(handler: AsgiCallable, access: LocalAccess) -> AsgiCallable:
    """Refuse what other machines and web pages of other origins send to a local endpoint."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        peer = (scope.get("client") or ("127.0.0.1",))[0]
        reason = reason_to_refuse(scope["headers"], own_pages=True, access=access)
        if not access.admits_peer(peer):
            reason = "the request comes from another machine"
        if reason:
            await reply_json(send, 403, error_body(f"/local is for this machine only: {reason}"))
        else:
            await handler(scope, receive, send)

    return serve


class _Server(uvicorn.Server):
    """A server that may listen on further ports."""

    def __init__(self, config: uvicorn.Config, further: Iterable[FurtherPort]) -> None:
        super().__init__(config)
        self._further = further

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Listen on all ports."""
        await super().startup(sockets)
        for each in () if self.should_exit else self._further:
            try:
                await self._listen(each)
            except OSError as error:
                if not each.optional:
                    raise
                log.warning("port %d of %s is not served: %s", each.port, each.host, error)

    async def _listen(self, port: FurtherPort) -> None:
        protocol_class: Any = self.config.http_protocol_class

        def protocol() -> Any:
            connection = protocol_class(
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )
            connection.takes_websockets = port.websockets
            return connection

        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {"ssl": port.context}
        if port.context:
            options["ssl_handshake_timeout"] = HANDSHAKE_SECONDS
        for each in port.sockets:
            self.servers.append(await loop.create_server(protocol, sock=each, **options))
        if not port.sockets:
            server = await loop.create_server(protocol, port.host, port.port, **options)
            self.servers.append(server)


def server(
    asgi: AsgiCallable,
    *,
    host: str,
    port: int,
    further: Iterable[FurtherPort] = (),
    protocol: type[HttpProtocol] = HttpProtocol,
) -> uvicorn.Server:
    """Make the HTTP server of ``asgi``; run it with ``run()`` or ``await serve()``."""
    return _Server(
        uvicorn.Config(
            asgi,
            host=host,
            port=port,
            http=protocol,
            loop="uvloop",
            ws="none",
            lifespan="on",
            # Else a header could name any source address when the peer is this machine.
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_config=None,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=10,
        ),
        further,
    )


def _as_text(content: bytes) -> tuple[str | None, bool]:
    if not content:
        return None, False
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), True


def _header_lines(response: Mapping[str, Any]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the header lines of a response as API Gateway makes them of its two mappings."""
    several = response.get("multiValueHeaders") or {}
    for name, value in response["headers"].items():
        if name not in several:
            yield name.lower().encode(), value.encode("latin-1")
    for name, values in several.items():
        yield from ((name.lower().encode(), value.encode("latin-1")) for value in values)


async def _write(response: Mapping[str, Any], method: str, send: Send, *, close: bool) -> None:
    body = response["body"]
    if response["isBase64Encoded"]:
        body = base64.b64decode(body)
    content = body if isinstance(body, bytes) else body.encode("utf-8")
    headers = list(_header_lines(response))
    if response["statusCode"] not in _BODILESS:
        headers.append((b"content-length", str(len(content)).encode()))
    if close:
        headers.append((b"connection", b"close"))
    start = {"type": "http.response.start", "status": response["statusCode"], "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else content})
