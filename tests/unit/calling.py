"""Call the whole application in this process, as a client would."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from app import app
from tests.unit.core.gateway_events import event

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Response:
    """A status, the body (parsed if it is JSON), the headers and the values of ``Set-Cookie``."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Sequence[str] = ()

    @property
    def results(self) -> Any:
        """The body's results."""
        assert self.status == 200, self
        return self.body["results"]

    @property
    def error(self) -> dict[str, Any]:
        """The first of the body's errors."""
        return self.body["errors"][0]


@dataclass(frozen=True, slots=True)
class Client:
    """One caller: a key, the headers of every request and the address it comes from.

    A browser has no key, but a cookie in its headers. A header with a list of values is repeated.
    """

    key: str
    headers: dict[str, str | list[str]] = field(default_factory=dict)
    source_ip: str = "192.0.2.1"

    def on_behalf_of(self, subaccount: object, header: str = "X-SVC-SUBACCOUNT") -> Client:
        """Return the same caller with the subaccount header."""
        return Client(self.key, {**self.headers, header: str(subaccount)}, self.source_ip)

    def at(self, source_ip: str) -> Client:
        """Return the same caller at another address."""
        return Client(self.key, self.headers, source_ip)

    def call(self, method: str, target: str, body: Any = None) -> Response:
        """Make a request; ``target`` is a path with its query."""
        parts = urlsplit(target)
        query: dict[str, list[str]] = {}
        for name, text in parse_qsl(parts.query, keep_blank_values=True):
            query.setdefault(name, []).append(text)
        response = app(
            event(
                app,
                method,
                parts.path,
                query=query,
                headers={
                    **({"Authorization": self.key} if self.key else {}),
                    "Content-Type": "application/json",
                    **self.headers,
                },
                body=b"" if body is None else json.dumps(body).encode(),
                source_ip=self.source_ip,
            ),
            None,
        )
        text = response["body"]
        if response["isBase64Encoded"]:
            text = base64.b64decode(text).decode(errors="replace")
        is_json = response["headers"].get("Content-Type", _JSON) == _JSON
        return Response(
            response["statusCode"],
            (json.loads(text) if is_json else text) if text else None,
            response["headers"],
            response["multiValueHeaders"].get("Set-Cookie", []),
        )

    def get(self, target: str) -> Response:
        return self.call("GET", target)

    def post(self, target: str, body: Any) -> Response:
        return self.call("POST", target, body)

    def put(self, target: str, body: Any) -> Response:
        return self.call("PUT", target, body)

    def delete(self, target: str) -> Response:
        return self.call("DELETE", target)
