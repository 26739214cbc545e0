"""Answer what comes to the HTTP ports of production on one machine.

- ``/.well-known/acme-challenge/``: the challenges of the certificate authority
- ``/health``, ``/ready``, ``/metrics``: for who watches the machine
- over HTTP in the clear, links of messages are followed, because tracking domains may be without
  TLS; any other page leads to the same one under TLS, and what is not read with GET is refused, so
  that no key goes over the wire in the clear twice
- everything else is the application's, as on a stage. There is no ``/local``.

Each answer has the headers of :mod:`infrastructure.machine.edge.security_headers`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from infrastructure.local.gateway.replies import error_body, reply, reply_json
from infrastructure.local.gateway.request_body import Receive, Scope, Send
from infrastructure.machine.edge.proxies import TrustedProxies
from infrastructure.machine.edge.security_headers import security_headers

AsgiCallable = Callable[[Scope, Receive, Send], Awaitable[None]]
#: Return status, media type and body of the answer to a request with these headers
Answer = Callable[[Scope], tuple[int, str, bytes]]

CHALLENGES: Final = "/.well-known/acme-challenge/"
# Links, images and forms of messages, and what verifies a tracking domain
_TRACKING: Final = ("/t/", "/f/", "/tracking-check/")
_TEXT = "text/plain; charset=utf-8"

_log = logging.getLogger(__name__)


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
        answer = _Answer(scope["scheme"], send)
        try:
            await self._serve(scope, receive, answer.send)
        except Exception:
            if answer.is_begun:
                raise
            _log.exception("a request failed")
            await reply_json(answer.send, 500, error_body("Internal Server Error"))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["raw_path"].decode("ascii")
        if not path.startswith("/"):
            # Such as `*@other.example`, which would name another host where a URL goes before it
            await reply_json(send, 400, error_body("The path of a URL begins with a slash"))
        elif path.startswith(CHALLENGES):
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


class _Answer:
    """Sends an answer with the security headers that it does not have itself."""

    def __init__(self, scheme: str, send: Send) -> None:
        self._headers = security_headers(scheme)
        self._send = send
        self.is_begun = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            names = {name.lower() for name, _ in message["headers"]}
            more = [(name.lower().encode(), text.encode()) for name, text in self._headers.items()]
            missing = [each for each in more if each[0] not in names]
            message = {**message, "headers": [*message["headers"], *missing]}
        await self._send(message)
