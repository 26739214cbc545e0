"""Call local operations with ASGI messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from infrastructure.local.gateway.local_api import LocalApi, LocalRoute
from tests.http_response import Response


class Reply(Response):
    """A response of a local operation."""

    @property
    def results(self) -> Any:
        assert self.status == 200, self.body
        return self.json["results"]

    @property
    def error(self) -> str:
        return self.json["errors"][0]["message"]


class LocalClient:
    """Calls routes; a body of bytes is sent as it is, anything else as JSON."""

    def __init__(self, routes: Iterable[LocalRoute]) -> None:
        self._api = LocalApi(routes)

    def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> Reply:
        return asyncio.run(self.ask_async(method, target, body, headers))

    async def ask_async(
        self,
        method: str,
        target: str,
        body: Any = None,
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> Reply:
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        responses: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            responses.append(message)

        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": list(headers),
        }
        await self._api(scope, receive, send)
        start, end = responses
        names = {name.decode(): value.decode() for name, value in start["headers"]}
        cookies = [value.decode() for name, value in start["headers"] if name == b"set-cookie"]
        names |= {"set-cookie": "\n".join(cookies)} if cookies else {}
        return Reply(start["status"], names, end["body"])
