"""API Gateway REST proxy events for tests."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from chalicelib.core.http import App
from chalicelib.core.route_table import Match


def event(
    app: App,
    method: str,
    path: str,
    *,
    query: dict[str, list[str]] | None = None,
    headers: Mapping[str, str | list[str]] | None = None,
    body: bytes = b"",
    request_id: str = "request-1",
    source_ip: str = "192.0.2.1",
) -> dict[str, Any]:
    """Build the event that API Gateway makes of a request, with every media type binary.

    A header with a list of values is repeated.
    """
    lines = {
        name: [value] if isinstance(value, str) else value
        for name, value in (headers or {}).items()
    }
    route, parameters = app.route_table.match(path) or Match("/{proxy+}", {"proxy": path[1:]})
    return {
        "resource": route,
        "path": path,
        "httpMethod": method,
        "headers": {name: values[-1] for name, values in lines.items()},
        "multiValueHeaders": lines,
        "queryStringParameters": {name: texts[-1] for name, texts in (query or {}).items()},
        "multiValueQueryStringParameters": query,
        "pathParameters": parameters or None,
        "stageVariables": None,
        "requestContext": {
            "resourcePath": route,
            "httpMethod": method,
            "path": "/stage" + path,
            "stage": "stage",
            "requestId": request_id,
            "identity": {"sourceIp": source_ip},
        },
        "body": base64.b64encode(body).decode() if body else None,
        "isBase64Encoded": bool(body),
    }


def json_body(response: dict[str, Any]) -> Any:
    """Return the parsed body of a proxy response."""
    assert response["headers"]["Content-Type"] == "application/json"
    return json.loads(response["body"])
