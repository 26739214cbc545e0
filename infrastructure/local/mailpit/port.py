"""Serve the port of Mailpit's API: its routes, its WebSocket, and the console below them.

The paths that Mailpit has are answered as there; none of them is a path of this service. All others
are answered as on the port of this service's own API, so that the console finds there what it
needs. The rules of ``/local`` hold for all of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import unquote

from infrastructure.local.gateway.application import AsgiCallable
from infrastructure.local.gateway.replies import reply
from infrastructure.local.gateway.request_body import Receive, Scope, Send
from infrastructure.local.mailpit import listeners
from infrastructure.local.mailpit.choices import MailpitChoices
from infrastructure.local.mailpit.listeners import Listeners
from infrastructure.local.mailpit.port_logins import CHALLENGE, PortLogins
from infrastructure.local.mailpit.router import (
    TEXT_PLAIN,
    MailpitError,
    MailpitRequest,
    MailpitRouter,
    send_error,
)
from infrastructure.local.this_machine import (
    Headers,
    LocalAccess,
    leads_there,
    reason_to_refuse,
)

_CONSOLE = b"/console/"
_METHODS = b"GET, POST, DELETE, PUT, OPTIONS"
_PRIVATE = ("/api/", "/local", "/livez", "/readyz")
# To show a message is to mark it as read
_SHOWN = "/view/"
_POLICY_VIOLATION = 1008
_SLASHES = re.compile(b"/{2,}")


class MailpitPort:
    """The port as an ASGI callable. ``service`` answers what is not Mailpit's.

    ``cookies_of_console`` returns the cookies for a request of the console's page.
    """

    def __init__(
        self,
        router: MailpitRouter,
        news: Listeners,
        service: AsgiCallable,
        *,
        choices: MailpitChoices,
        access: LocalAccess,
        cookies_of_console: Callable[[MailpitRequest], tuple[str, ...]] = lambda request: (),
    ) -> None:
        self._router = router
        self._listeners = news
        self._service = service
        self._choices = choices
        self._access = access
        self._logins = PortLogins(
            choices.passwords, choices.send_passwords, anybody_sends=choices.anybody_sends
        )
        self._cookies_of_console = cookies_of_console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one WebSocket."""
        scope = _with_single_slashes(scope)
        root = self._choices.root
        path = scope["raw_path"].decode("ascii")
        is_below = path.startswith(f"{root}/")
        reason = self._reason_to_refuse(scope, path.removeprefix(root))
        if scope["type"] == "websocket":
            is_events = path == f"{root}{listeners.PATH}"
            if reason or not is_events or not await self._admits(_below(scope, root)):
                await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            else:
                await self._listeners.serve(scope, receive, send)
        elif reason:
            text = f"this port is for this machine only: {reason}"
            await send_error(send, MailpitError(403, text))
        elif not is_below:
            await self._lead_to_root(path, send)
        else:
            await self._enter(_below(scope, root), receive, self._with_origin(scope, send))

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request if it has the login that it needs."""
        if not await self._admits(scope):
            headers = {"www-authenticate": CHALLENGE}
            await reply(send, 401, b"Unauthorized.\n", TEXT_PLAIN, headers)
            return
        cookies = await self._logins.cookies(scope, self._choices.root)
        if self._router.has(scope):
            await self._router.answer(scope, receive, _with_cookies(cookies, send))
            return
        if scope["raw_path"] == _CONSOLE:
            request = MailpitRequest.of(scope, {})
            cookies += await asyncio.to_thread(self._cookies_of_console, request)
        scope = await self._logins.without_login(scope)
        await self._service(scope, receive, _with_cookies(cookies, send))

    async def _admits(self, scope: Scope) -> bool:
        # A browser asks whether a page may log in before it does
        if scope["type"] == "http" and scope["method"] == "OPTIONS" and self._choices.origins:
            return True
        return await self._logins.admits(scope, is_mailpits=self._router.has(scope))

    async def _lead_to_root(self, path: str, send: Send) -> None:
        if path != self._choices.root:
            await send_error(send, MailpitError(404, "404 page not found"))
            return
        headers = {"location": f"{self._choices.root}/"}
        await reply(send, 302, b"", "text/plain", headers)

    def _reason_to_refuse(self, scope: Scope, path: str) -> str:
        peer = (scope.get("client") or ("127.0.0.1",))[0]
        if not self._access.admits_peer(peer):
            return "the request comes from another machine"
        headers = scope["headers"]
        if self._has_other_origin(scope):
            names = (b"origin", b"sec-fetch-site")
            headers = [(name, value) for name, value in headers if name not in names]
        return reason_to_refuse(
            headers,
            own_pages=True,
            other_pages_read=_is_for_other_pages(path, headers),
            access=self._access,
        )

    def _has_other_origin(self, scope: Scope) -> bool:
        """Tell whether a page asks that the user admits besides those of the port itself."""
        origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        return len(origins) == 1 and self._choices.admits(origins[0])

    def _with_origin(self, scope: Scope, send: Send) -> Send:
        """Return ``send`` with the headers by which a browser lets another page read an answer."""
        if not self._has_other_origin(scope):
            return send
        origin = dict(scope["headers"])[b"origin"]

        async def send_with_origin(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"access-control-allow-origin", origin),
                    (b"access-control-allow-methods", _METHODS),
                    (b"access-control-allow-headers", b"*"),
                    (b"vary", b"Origin"),
                ]
            await send(message)

        return send_with_origin


def _is_for_other_pages(path: str, headers: Headers) -> bool:
    """Tell whether pages of other sites may cause a request, whose answer they cannot read.

    A link leads to a message from anywhere, but an image or a frame would change it unseen.
    """
    if path.startswith(_SHOWN):
        return leads_there(headers)
    return not path.startswith(_PRIVATE)


def _with_cookies(cookies: Sequence[str], send: Send) -> Send:
    """Return ``send`` with cookies in the head of the response."""
    if not cookies:
        return send

    async def send_with_cookies(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            lines = [(b"set-cookie", cookie.encode("latin-1")) for cookie in cookies]
            message["headers"] = [*message["headers"], *lines]
        await send(message)

    return send_with_cookies


def _with_single_slashes(scope: Scope) -> Scope:
    """Return a connection for the path that is meant: clients ask for ``//view`` as well."""
    if b"//" not in scope["raw_path"]:
        return scope
    path = _SLASHES.sub(b"/", scope["raw_path"])
    return {**scope, "raw_path": path, "path": unquote(path.decode("ascii"))}


def _below(scope: Scope, root: str) -> Scope:
    """Return a connection whose path begins after the root."""
    if not root:
        return scope
    path = scope["raw_path"].removeprefix(root.encode())
    return {**scope, "raw_path": path, "path": scope["path"].removeprefix(root)}
