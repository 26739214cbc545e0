"""Make the OpenAPI document from the application's routes and their descriptions in ``catalogue``.

HEAD is left out, because it is answered wherever GET is.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from functools import cache

from chalicelib import __version__
from chalicelib.console.files import DOCS
from chalicelib.console.files import PREFIX as CONSOLE
from chalicelib.core.http import ENROLLING, PERSON, PUBLIC, App, DeclaredRoute
from chalicelib.core.json_types import Json
from chalicelib.core.routes import NO_GRANTS
from chalicelib.openapi.catalogue import RESOURCES
from chalicelib.openapi.components import components, refusal
from chalicelib.openapi.examples import with_example
from chalicelib.openapi.operation import Operation

_ABOUT = (
    "Send email, and follow each message until it is delivered, opened or bounced. Bodies are "
    "JSON. Their integers have 32 bits. Paths are case sensitive, and one slash at the end of a"
    " path is ignored. HEAD is answered wherever GET is. Unknown fields and parameters are "
    "ignored. A parameter that takes a list may be repeated; any other parameter that is "
    "repeated is refused. In an update, null removes options and other values that an empty "
    "string or array would remove; in other fields null counts as absent. A transmission is one"
    " request to send: one content, and one or more recipients. A subaccount is a part of an "
    "account with keys, domains and templates of its own. The scope of a request is the "
    "account, or the one subaccount that the request acts for."
)
_PARAMETER = re.compile(r"\{(\w+)\}")
# Any route can answer 429, 500 and 503, because the gateway can.
OF_ALL = (413, 429, 500, 503)
_OF_ALL_WITH_KEY = (400, 401, 403)


@cache
def document(app: App) -> Json:
    """Return the document; raises ``KeyError`` for a route without a description."""
    routes = {f"{each.method} {each.path}": each for each in documented_routes(app)}
    paths: dict[str, Json] = {}
    for tag, operations in RESOURCES.items():
        for name, operation in operations.items():
            route = routes.pop(name)
            item = paths.setdefault(route.path, {})
            item[route.method.lower()] = _description(app, route, tag, operation)
    if routes:
        raise KeyError(f"no description of {', '.join(routes)}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Postfinch", "version": __version__, "description": _ABOUT},
        "tags": [{"name": tag} for tag in RESOURCES],
        "paths": paths,
        "components": components(),
    }


def page(app: App) -> str:
    """Return the document as it is written to ``docs/openapi.json``."""
    return json.dumps(document(app), indent=1, ensure_ascii=False) + "\n"


def documented_routes(app: App) -> Iterator[DeclaredRoute]:
    """Yield the routes that belong into the document: not HEAD, and not the console's files."""
    return (
        each
        for each in app.declared_routes()
        if each.method != "HEAD" and each.path != DOCS and not each.path.startswith(CONSOLE)
    )


def _description(app: App, route: DeclaredRoute, tag: str, operation: Operation) -> Json:
    description: Json = {
        "operationId": _name(route),
        "tags": [tag],
        "summary": _summary(app, route),
        "security": _security(route.grant),
    }
    parameters = [*_in_path(route.path), *operation.parameters]
    if route.grant != PUBLIC and route.subaccount_header:
        parameters.append({"$ref": "#/components/parameters/subaccount"})
    if parameters:
        description["parameters"] = parameters
    if operation.content is not None:
        description["requestBody"] = {
            "required": not operation.optional_body,
            "content": with_example(f"{route.method} {route.path}", operation.content),
        }
    errors = {status: refusal(status) for status in refusals(route, operation)}
    description["responses"] = {
        str(status): answer for status, answer in sorted((errors | operation.responses).items())
    }
    return description


def _name(route: DeclaredRoute) -> str:
    path = re.sub(r"^/api/(v1|labs)/", "/", route.path)
    return "_".join([route.method.lower(), *re.findall(r"\w+", path)])


def _summary(app: App, route: DeclaredRoute) -> str:
    prose = inspect.getdoc(app.view(route.method, route.path)) or ""
    first = prose.partition("\n\n")[0].replace("\n", " ").replace("``", "`")
    return first.removesuffix(".")


def _security(grant: str) -> list[Json]:
    """Return how a caller may prove itself."""
    if grant == PUBLIC:
        return []
    roles = [] if grant in NO_GRANTS else [grant]
    schemes = ["session"] if grant in (PERSON, ENROLLING) else ["key", "basic", "session"]
    return [{scheme: roles} for scheme in schemes]


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
        statuses.update(_OF_ALL_WITH_KEY)
    if "{" in route.path and not operation.finds_all:
        statuses.add(404)
    if operation.body is not None:
        statuses.update((415, 422))
    return statuses
