"""Answer what comes to the HTTP ports of production on one machine.

- ``/.well-known/acme-challenge/``: the challenges of the certificate authority
- ``/health``, ``/ready``, ``/metrics``: for who watches the machine
- over HTTP in the clear, links of messages are followed, because tracking domains may be without
  TLS; any other page leads to the same one under TLS, and what is not read with GET is refused, so
  that no key goes over the wire in the clear twice
- everything else is the application's, as on a stage. There is no ``/local``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from infrastructure.local.gateway.replies import error_body, reply, reply_json
from infrastructure.local.gateway.request_body import Receive, Scope, Send
from infrastructure.machine.edge.proxies import TrustedProxies

AsgiCallable = Callable[[Scope, Receive, Send], Awaitable[None]]
#: Return status, media type and body of the answer to a request with these headers
Answer = Callable[[Scope], tuple[int, str, bytes]]

CHALLENGES: Final = "/.well-known/acme-challenge/"
# Links, images and forms of messages, and what verifies a tracking domain
_TRACKING: Final = ("/t/", "/f/", "/tracking-check/")
_STRICT_TRANSPORT: Final = (b"strict-transport-security", b"max-age=31536000")
_TEXT = "text/plain; charset=utf-8"


class Edge:
    """The ASGI application of both ports.

    ``application`` serves the API and the console. ``watching`` maps a path to what answers it, in
    a thread. ``challenge`` returns the answer to a challenge's token. ``secure_url`` is where pages
    in the clear lead to; empty: the application is served in the clear.
    """

    def __init__(
        self,
        application: AsgiCallable,
        *,
        watching: Mapping[str, Answer],
        challenge: Callable[[str], str | None],
        proxies: TrustedProxies,
        secure_url: str,
    ) -> None:
        self._application = application
        self._watching = watching
        self._challenge = challenge
        self._proxies = proxies
        self._secure_url = secure_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        scope = self._proxies.applied(scope)
        if scope["scheme"] == "https":
            send = _strictly(send)
        path = scope["raw_path"].decode("ascii")
        if path.startswith(CHALLENGES):
            await self._answer_challenge(path.removeprefix(CHALLENGES), send)
        elif path in self._watching:
            await self._watch(self._watching[path], scope, send)
        elif self._secure_url and scope["scheme"] == "http" and not path.startswith(_TRACKING):
            await self._lead_to_tls(scope, path, send)
        else:
            await self._application(scope, receive, send)

    async def _answer_challenge(self, token: str, send: Send) -> None:
        authorization = self._challenge(token)
        if authorization is None:
            await reply_json(send, 404, error_body("Resource could not be found"))
        else:
            await reply(send, 200, authorization.encode(), "application/octet-stream")

    async def _watch(self, answer: Answer, scope: Scope, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await reply_json(send, 405, error_body("Method Not Allowed"))
            return
        status, kind, body = await asyncio.to_thread(answer, scope)
        await reply(send, status, body, kind, {"cache-control": "no-store"})

    async def _lead_to_tls(self, scope: Scope, path: str, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            message = f"Use TLS: this service is at {self._secure_url}"
            await reply_json(send, 403, error_body(message))
            return
        query = scope["query_string"].decode("ascii", "replace")
        location = self._secure_url + path + (f"?{query}" if query else "")
        await reply(send, 308, b"", _TEXT, {"location": location})


def _strictly(send: Send) -> Send:
    """Tell browsers to come by TLS only (RFC 6797)."""

    async def send_strictly(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], _STRICT_TRANSPORT]
        await send(message)

    return send_strictly
