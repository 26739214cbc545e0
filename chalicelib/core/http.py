"""The HTTP application: Chalice's registration and packaging, with our own dispatch.

A feature declares its routes on a :class:`Routes`, each with the grant that it takes; ``app.py``
registers them on the one :class:`App`. The order of a request's checks: path (404), method (405),
key (401), grant (403), body (413, 415, syntax), and then the view. ``App`` answers API Gateway
REST events itself, because Chalice's handler has error bodies of its own and keeps the current
request in an attribute that threads share; so no state is shared between two calls, and several
threads may call one ``App``. HEAD is answered wherever GET is; API Gateway does not route it
unless it is declared.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import chalice

from chalicelib.core.errors import Forbidden, MethodNotAllowed, NotFound, ServiceError, TooLarge
from chalicelib.core.reply import Reply, empty, ok, raw, redirect
from chalicelib.core.request import Caller, Request
from chalicelib.core.route_table import RouteTable
from chalicelib.core.routes import AUTHENTICATED, PUBLIC, DeclaredRoute, Routes, View, is_grant

__all__ = [
    "AUTHENTICATED",
    "PUBLIC",
    "App",
    "Caller",
    "DeclaredRoute",
    "Reply",
    "Request",
    "Routes",
    "empty",
    "ok",
    "raw",
    "redirect",
]

Authenticate = Callable[[Request], Caller]

_log = logging.getLogger(__name__)
_UNKNOWN_PATHS = "/{proxy+}"
_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]


class _Endpoint(NamedTuple):
    view: View
    grant: str


class App(chalice.Chalice):
    """The application. ``authenticate`` returns the caller of a request or raises 401 or 403."""

    def __init__(self, app_name: str, *, authenticate: Authenticate) -> None:
        super().__init__(app_name, configure_logs=False)
        # Only with every type binary does API Gateway pass the bytes of a body on unchanged.
        self.api.binary_types = ["*/*"]
        self.route_table = RouteTable()
        self._authenticate = authenticate
        self._endpoints: dict[str, dict[str, _Endpoint]] = {}
        self._send_unknown_paths_here()

    def declared_routes(self) -> list[DeclaredRoute]:
        """List every method of every path with its grant, sorted."""
        return sorted(
            DeclaredRoute(method, path, endpoint.grant)
            for path, methods in self._endpoints.items()
            for method, endpoint in methods.items()
        )

    def register_middleware(self, func: Callable[..., Any], event_type: str = "all") -> None:
        """Register middleware for an event type other than HTTP, whose requests run none."""
        if event_type in ("all", "http"):
            raise ValueError("HTTP requests run no middleware: name another event type")
        super().register_middleware(func, event_type)

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer an API Gateway REST proxy event."""
        request_id = (event.get("requestContext") or {}).get("requestId") or "-"
        try:
            return self._reply(event).to_gateway(request_id)
        except Exception:
            _log.exception("request %s failed", request_id, extra={"request_id": request_id})
            return _fault(request_id).to_gateway(request_id)

    def _reply(self, event: Mapping[str, Any]) -> Reply:
        try:
            return self._answer(event)
        except ServiceError as error:
            return Reply(error.status, error.body(), error.headers)

    def _answer(self, event: Mapping[str, Any]) -> Reply:
        route, parameters = self._locate(event)
        endpoint = _endpoint(self._endpoints[route], event["requestContext"]["httpMethod"])
        request = Request.from_event(event)
        if endpoint.grant != PUBLIC:
            request.authenticated = self._admit(request, endpoint.grant)
        if event["requestContext"].get("bodyTooLarge"):
            raise TooLarge
        return endpoint.view(request, **{name: unquote(text) for name, text in parameters.items()})

    def _locate(self, event: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
        route = event["requestContext"].get("resourcePath")
        if route in self._endpoints:
            return route, event.get("pathParameters") or {}
        # API Gateway found no resource; it does not see every spelling of a path that we take.
        match = self.route_table.match(event.get("path") or "")
        if match is None:
            raise NotFound
        return match

    def _admit(self, request: Request, grant: str) -> Caller:
        caller = self._authenticate(request)
        if grant != AUTHENTICATED and grant not in caller.grants:
            raise Forbidden
        return caller

    def _register_route(self, name: str, user_handler: View, kwargs: Any, **unused: Any) -> None:
        options = dict(kwargs["kwargs"])
        path, grant = kwargs["path"], options.pop("grant", "")
        if not is_grant(grant):
            raise ValueError(f"route {path} must declare its grant, not {grant!r}")
        if kwargs.get("url_prefix"):
            raise ValueError("a route carries its whole path: url_prefix is not used")
        super()._register_route(
            name, user_handler, {"path": path, "kwargs": dict(options)}, **unused
        )
        self.route_table.add(path)
        for method in options.get("methods", ["GET"]):
            self._endpoints.setdefault(path, {})[method] = _Endpoint(user_handler, grant)

    def _send_unknown_paths_here(self) -> None:
        # Without this resource API Gateway answers an unknown path itself, with 403.
        super()._register_route(
            "unknown_path",
            _unknown_path,
            {"path": _UNKNOWN_PATHS, "kwargs": {"methods": list(_METHODS)}},
        )


def _endpoint(methods: Mapping[str, _Endpoint], method: str) -> _Endpoint:
    found = methods.get(method) or (methods.get("GET") if method == "HEAD" else None)
    if found is None:
        raise MethodNotAllowed(_allowed(methods))
    return found


def _allowed(methods: Iterable[str]) -> list[str]:
    return sorted({*methods, "HEAD"} if "GET" in methods else methods)


def _fault(request_id: str) -> Reply:
    text = f"the service failed to answer; quote id {request_id}"
    return Reply(500, {"errors": [{"message": "Internal error", "description": text}]})


def _unknown_path() -> None:
    """Stand for the paths that no route has; ``App`` answers them before any view is looked up."""
