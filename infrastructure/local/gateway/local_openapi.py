"""Make the OpenAPI document of ``/local``, which is one of its own.

A deployed service has none of these operations, so they are not part of the API's document.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from chalicelib import __version__
from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import Operation, content
from chalicelib.openapi.schema import array, mapping, record, text
from infrastructure.local.gateway.check_operations import CHECK_OPERATIONS
from infrastructure.local.gateway.description_endpoint import PATH, serve
from infrastructure.local.gateway.local_operations import OPERATIONS

_TITLE = "Postfinch, local runtime"
_ABOUT = (
    "What only a local runtime has: the mailbox of all mail that left, a live stream, the local "
    "DNS, rules for failures, and a receiver of webhooks. Only signing in needs a key. Only this "
    "machine is answered: the Host header must name it, and the request must not come from a web "
    "page of another site (Origin, Sec-Fetch-Site); else the status is 403."
)
_PARAMETER = re.compile(r"\{(\w+)\}")


#: The operations, with that of the document itself
ALL = {
    **OPERATIONS,
    **CHECK_OPERATIONS,
    f"GET {PATH}": (serve, Operation(content("application/json", mapping()))),
}


@cache
def page() -> str:
    """Return the document as it is written to ``docs/openapi-local.json``."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, Any] = {}
    for name, (function, operation) in ALL.items():
        method, path = name.split()
        paths.setdefault(path, {})[method.lower()] = _description(method, path, function, operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Postfinch, local runtime",
            "version": __version__,
            "description": _ABOUT,
        },
        "paths": paths,
    }


def _description(
    method: str, path: str, function: Callable[..., Any], operation: Operation
) -> dict[str, Any]:
    summary = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
    names = _PARAMETER.findall(path)
    in_path = [{"name": n, "in": "path", "required": True, "schema": text()} for n in names]
    refusals = {403, *operation.refusals}
    if names and not operation.finds_all:
        refusals.add(404)
    if operation.body is not None:
        refusals.update((413, 422))
    responses = {status: _refusal(status) for status in refusals} | operation.responses
    description: dict[str, Any] = {
        "operationId": "_".join([method.lower(), *re.findall(r"\w+", path)]),
        "summary": summary.removesuffix("."),
        "responses": {str(status): responses[status] for status in sorted(responses)},
    }
    if parameters := [*in_path, *operation.parameters]:
        description["parameters"] = parameters
    if operation.content is not None:
        description["requestBody"] = {"required": True, "content": operation.content}
    return description


_REASONS = {
    400: "The request is malformed",
    401: "The API key is not that of the local service",
    403: "The request does not come from this machine",
    404: "There is no such thing",
    409: "That is not possible now, or not with this message",
    413: "The body is too large",
    422: "The body is no JSON",
    502: "The service did not answer as expected",
    503: "There are too many listeners",
}


def _refusal(status: int) -> dict[str, Any]:
    errors: Json = record(errors=array(record(message=text())))
    return {
        "description": _REASONS[status],
        "content": {"application/json": {"schema": errors}},
    }
