"""Make a Postman collection (v2.1) from the OpenAPI document.

Its variables are ``baseUrl`` and ``apiKey``. Requests are in one folder for each tag. Optional
parameters are there but switched off, so that a request works as soon as the path is filled in.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from chalicelib.core.json_types import Json

SCHEMA: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_PARAMETER = re.compile(r"\{(\w+)\}")


def collection(document: Json, base_url: str) -> Json:
    """Return the collection of a document; ``base_url`` is the first value of the variable."""
    folders: dict[str, list[Json]] = {tag["name"]: [] for tag in document["tags"]}
    shared = document["components"]["parameters"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            request = _request(method.upper(), path, operation, shared)
            folders[operation["tags"][0]].append(
                {"name": operation["summary"], "request": request, "response": []}
            )
    return {
        "info": {
            "name": document["info"]["title"],
            "description": document["info"]["description"],
            "version": document["info"]["version"],
            "schema": SCHEMA,
        },
        "auth": {
            "type": "apikey",
            "apikey": [
                {"key": "key", "value": "Authorization", "type": "string"},
                {"key": "value", "value": "{{apiKey}}", "type": "string"},
                {"key": "in", "value": "header", "type": "string"},
            ],
        },
        "variable": [
            {"key": "baseUrl", "value": base_url, "type": "string"},
            {"key": "apiKey", "value": "", "type": "string"},
        ],
        "item": [{"name": tag, "item": items} for tag, items in folders.items()],
    }


def _request(method: str, path: str, operation: Json, shared: Json) -> Json:
    parameters = [
        shared[each["$ref"].rsplit("/", 1)[1]] if "$ref" in each else each
        for each in operation.get("parameters", [])
    ]
    headers = _fields(parameters, "header")
    request: Json = {"method": method, "url": _url(path, parameters)}
    grants = next((each["key"] for each in operation["security"] if "key" in each), None)
    if grants is None:
        request["auth"] = {"type": "noauth"}
    else:
        request["description"] = f"Grant: {grants[0]}" if grants else "Any key"
    content = operation.get("requestBody", {}).get("content", {})
    if content:
        media_type, media = next(iter(content.items()))
        headers.insert(0, {"key": "Content-Type", "value": media_type})
        request["body"] = _body(media["example"])
    request["header"] = headers
    return request


def _url(path: str, parameters: list[Json]) -> Json:
    segments = _PARAMETER.sub(r":\1", path).strip("/").split("/")
    url: Json = {"raw": f"{{{{baseUrl}}}}/{'/'.join(segments)}", "host": ["{{baseUrl}}"]}
    url["path"] = segments
    query = _fields(parameters, "query")
    required = [f"{each['key']}=" for each in query if not each["disabled"]]
    if required:
        url["raw"] += f"?{'&'.join(required)}"
    if query:
        url["query"] = query
    variables = [{"key": each, "value": ""} for each in _PARAMETER.findall(path)]
    if variables:
        url["variable"] = variables
    return url


def _fields(parameters: list[Json], place: str) -> list[Json]:
    return [
        {
            "key": each["name"],
            "value": "",
            "description": each.get("description", ""),
            "disabled": not each.get("required", False),
        }
        for each in parameters
        if each["in"] == place
    ]


def _body(example: Any) -> Json:
    if isinstance(example, str):
        return {"mode": "raw", "raw": example}
    text = json.dumps(example, indent=2, ensure_ascii=False)
    return {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
