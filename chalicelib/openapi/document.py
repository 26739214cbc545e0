"""The OpenAPI document: the application's route table, with what ``catalogue`` knows of each route.

HEAD is answered wherever GET is, and therefore not listed.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from chalicelib import __version__
from chalicelib.core.http import AUTHENTICATED, PUBLIC, App, DeclaredRoute
from chalicelib.openapi.catalogue import RESOURCES
from chalicelib.openapi.components import components, refusal
from chalicelib.openapi.operation import Operation

Json = dict[str, Any]

_ABOUT = (
    "Email delivery over HTTP. Bodies are JSON; their numbers are those of 32 bits. Paths are case "
    "sensitive, one slash at their end is ignored, and HEAD is answered wherever GET is. Unknown "
    "fields and parameters are ignored."
)
_PARAMETER = re.compile(r"\{(\w+)\}")
# 429, 500 and 503 may also be the gateway's, which knows no routes.
OF_ALL = (413, 429, 500, 503)
_OF_KEYED = (400, 401, 403)


@cache
def document(app: App) -> Json:
    """Return the document; raises ``KeyError`` for a route that nothing is known of."""
    found = {f"{each.method} {each.path}": each for each in listed(app)}
    paths: dict[str, Json] = {}
    for tag, operations in RESOURCES.items():
        for name, operation in operations.items():
            route = found.pop(name)
            item = paths.setdefault(route.path, {})
            item[route.method.lower()] = _described(app, route, tag, operation)
    if found:
        raise KeyError(f"nothing is known of {', '.join(found)}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Postfinch", "version": __version__, "description": _ABOUT},
        "tags": [{"name": tag} for tag in RESOURCES],
        "paths": paths,
        "components": components(),
    }


def page(app: App) -> str:
    """Return the document as it is written into the documentation."""
    return json.dumps(document(app), indent=1, ensure_ascii=False) + "\n"


def listed(app: App) -> Iterator[DeclaredRoute]:
    """Yield the routes that the document has."""
    return (each for each in app.declared_routes() if each.method != "HEAD")


def _described(app: App, route: DeclaredRoute, tag: str, operation: Operation) -> Json:
    found: Json = {
        "operationId": _name(route),
        "tags": [tag],
        "summary": _summary(app, route),
        "security": _security(route.grant),
    }
    takes = [*_in_path(route.path), *operation.takes]
    if route.grant != PUBLIC:
        takes.append({"$ref": "#/components/parameters/subaccount"})
    if takes:
        found["parameters"] = takes
    if operation.content is not None:
        found["requestBody"] = {
            "required": not operation.optional_body,
            "content": operation.content,
        }
    answers = operation.answers
    refused = {status: refusal(status) for status in refusals(route, operation)}
    found["responses"] = {
        str(status): answer for status, answer in sorted((refused | answers).items())
    }
    return found


def _name(route: DeclaredRoute) -> str:
    path = re.sub(r"^/api/(v1|labs)/", "/", route.path)
    return "_".join([route.method.lower(), *re.findall(r"\w+", path)])


def _summary(app: App, route: DeclaredRoute) -> str:
    prose = inspect.getdoc(app.view(route.method, route.path)) or ""
    first = prose.partition("\n\n")[0].replace("\n", " ").replace("``", "`")
    return first.removesuffix(".")


def _security(grant: str) -> list[Json]:
    if grant == PUBLIC:
        return []
    roles = [] if grant == AUTHENTICATED else [grant]
    return [{"key": roles}, {"basic": roles}]


def _in_path(path: str) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(path)
    ]


def refusals(route: DeclaredRoute, operation: Operation) -> set[int]:
    """Return the statuses of the errors that an operation promises.

    A test compares them with the errors that the code of the route can raise.
    """
    statuses = {*OF_ALL, *operation.refusals}
    if route.grant != PUBLIC:
        statuses.update(_OF_KEYED)
    if "{" in route.path and not operation.finds_all:
        statuses.add(404)
    if operation.body is not None:
        statuses.update((415, 422))
    return statuses
