"""Call the routes of templates and snippets in this process, as a client does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import chalicelib.snippets.routes
import chalicelib.templates.routes
from chalicelib.core.http import App, Caller, Request
from chalicelib.core.scope import PRIMARY, Scope
from tests.unit.core.gateway_events import event

ACCOUNT = 1
ALL_GRANTS = frozenset({"templates/view", "templates/modify", "templates/preview"})

CONTENT = {
    "from": {"email": "news@example.test", "name": "News"},
    "subject": "Deals for {{name}}",
    "text": "Hello {{name}}",
    "html": "<b>Hello {{name}}</b>",
}


@dataclass(frozen=True, slots=True)
class Response:
    """A status and, unless the body was empty, its JSON."""

    status: int
    json: Any

    @property
    def results(self) -> Any:
        return self.json["results"]

    @property
    def errors(self) -> list[dict[str, Any]]:
        return self.json["errors"]

    @property
    def codes(self) -> list[str]:
        return [error["code"] for error in self.errors]


class Api:
    """The application. Calls are those of the primary account's key unless ``part`` is given."""

    def __init__(self, grants: frozenset[str] = ALL_GRANTS) -> None:
        self.grants = grants
        self.app = App("test", authenticate=self._authenticate)
        self.app.register_blueprint(chalicelib.templates.routes.routes)
        self.app.register_blueprint(chalicelib.snippets.routes.routes)

    def get(self, path: str, part: int | None = None, **query: str) -> Response:
        return self.call("GET", path, part=part, query=query)

    def post(self, path: str, body: Any = None, part: int = PRIMARY, **query: str) -> Response:
        return self.call("POST", path, body, part=part, query=query)

    def put(self, path: str, body: Any = None, part: int = PRIMARY, **query: str) -> Response:
        return self.call("PUT", path, body, part=part, query=query)

    def delete(self, path: str, part: int = PRIMARY) -> Response:
        return self.call("DELETE", path, part=part, query={})

    def call(
        self, method: str, path: str, body: Any = None, *, part: int | None, query: dict[str, str]
    ) -> Response:
        headers = {"Content-Type": "application/json", "X-Part": "" if part is None else str(part)}
        response = self.app(
            event(
                self.app,
                method,
                path if path.startswith("/api/") else "/api/v1" + path,
                query={name: [text] for name, text in query.items()} or None,
                headers=headers,
                body=b"" if body is None else json.dumps(body).encode(),
            ),
            None,
        )
        text = "" if response["isBase64Encoded"] else response["body"]
        return Response(response["statusCode"], json.loads(text) if text else None)

    def create(self, template_id: str = "welcome", part: int = PRIMARY, **fields: Any) -> None:
        body = {"id": template_id, "content": CONTENT, **fields}
        response = self.post("/templates", body, part)
        assert response.status == 200, response

    def _authenticate(self, request: Request, *, subaccount_header: bool) -> Caller:
        part = request.headers["x-part"]
        return Caller(Scope(ACCOUNT, int(part) if part else None), "key", self.grants)
