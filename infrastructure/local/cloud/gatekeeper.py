"""Admit to the local cloud only the requests of processes that hold its secret.

MiniStack takes requests from anybody and lets every web page read its answers. This ASGI
application stands before it:

- A request must name this machine in ``Host`` and come from no web page (``local.this_machine``).
- It must be signed with the secret (``signature``). Without ``x-amz-content-sha256`` the body is
  part of the signature and is read first; MiniStack would hold all of it as well.
- Two paths need no signature: the probe of the cloud's health, and the APIs of deployed stages,
  which check API keys themselves. Only signed requests create functions, so what runs there is what
  the owner deployed.
- OPTIONS and WebSockets are refused.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from infrastructure.local.cloud import signature
from infrastructure.local.cloud.asgi import read_body
from infrastructure.local.this_machine import reason_to_refuse

if TYPE_CHECKING:
    from infrastructure.local.cloud.asgi import AsgiApplication, Receive, Scope, Send

HEALTH = "/_ministack/health"
#: Where an ASGI scope has who signed the request
CALLER = "caller"

# MiniStack's routes go by the host's name as well, so a deployed API is served without a subdomain
_DEPLOYED_API = re.compile(r"/_aws/execute-api/[a-z0-9]{1,32}/.*", re.DOTALL)
# CloudFormation and others send forms, and their clients read errors in XML only
_QUERY_PROTOCOL = b"application/x-www-form-urlencoded"
_NO_PREFLIGHT = "no web page may use the local cloud"
_BARE_HOST = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?")


class Gatekeeper:
    """An ASGI application that passes what it admits to another."""

    def __init__(self, application: AsgiApplication, secret: str) -> None:
        if not secret:
            raise ValueError("the local cloud needs a secret: AWS_SECRET_ACCESS_KEY is empty")
        self._application = application
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif _is_of_deployed_api(scope):
            await self._serve_deployed_api(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await _refuse(scope, send, _NO_PREFLIGHT)
        elif reason := reason_to_refuse(scope["headers"]):
            await _refuse(scope, send, reason)
        elif scope["path"] == HEALTH:
            await self._application(scope, receive, send)
        else:
            await self._serve_signed(scope, receive, send)

    async def _serve_deployed_api(self, scope: Scope, receive: Receive, send: Send) -> None:
        reads = scope["method"] in ("GET", "HEAD")
        headers = scope["headers"]
        if scope["method"] == "OPTIONS":
            await _refuse(scope, send, _NO_PREFLIGHT)
        elif reason := reason_to_refuse(headers, own_pages=True, other_pages_read=reads):
            await _refuse(scope, send, reason)
        else:
            await self._application(scope, receive, send)

    async def _serve_signed(self, scope: Scope, receive: Receive, send: Send) -> None:
        claim = signature.claim_of(scope["headers"])
        if claim is None:
            await _refuse(
                scope, send, "the request is not signed", "MissingAuthenticationTokenException"
            )
            return
        body = await read_body(scope, receive) if claim.needs_body else b""
        if body is None:
            return
        if signature.verify(claim, scope, body, self._secret):
            scope[CALLER] = claim.signer
            await self._application(scope, receive, send)
        else:
            reason = "the request is not signed with the cloud's secret"
            await _refuse(scope, send, reason, "InvalidSignatureException")


def _is_of_deployed_api(scope: Scope) -> bool:
    if not _DEPLOYED_API.fullmatch(scope["path"]):
        return False
    return any(name == b"host" and _BARE_HOST.fullmatch(value) for name, value in scope["headers"])


async def _refuse(
    scope: Scope, send: Send, reason: str, code: str = "AccessDeniedException"
) -> None:
    if dict(scope["headers"]).get(b"content-type", b"").startswith(_QUERY_PROTOCOL):
        error = f"<Error><Code>{code}</Code><Message>{reason}</Message></Error>"
        kind, body = "text/xml", f"<ErrorResponse>{error}</ErrorResponse>"
    else:
        kind, body = "application/x-amz-json-1.0", json.dumps({"__type": code, "message": reason})
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        # It spares reading a body that may still be on its way
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
