"""Answer HTTP requests: registration and packaging by Chalice, with a dispatch of our own.

A feature declares its routes on a :class:`Routes`, each with the grant that it needs; ``app.py``
registers them on the one :class:`App`. A request is checked in this order: path (404), method
(405), key or session (401), grant (403), size (413). Then the view is called. HEAD is answered
wherever GET is.

Whoever makes a request that may change something is the author of its changes in the audit log
(``core.audit``), which also gets the changes that are refused with 403.

``App`` answers API Gateway REST events itself, because Chalice's handler has its own error bodies
and keeps the current request in an attribute that threads share. Here two calls share no state, so
several threads may call one ``App``.

API Gateway gets two resources that take every path and method, not one for each route: it would
answer 403 to HEAD and to methods that a path does not have, and it holds at most 300 resources.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

import chalice

from chalicelib.core import audit, aws, logs, tracing
from chalicelib.core.errors import (
    Forbidden,
    MethodNotAllowed,
    NotFound,
    ServiceError,
    TooLarge,
    Unauthorized,
    Unavailable,
    must_enrol,
)
from chalicelib.core.reply import Reply, empty, ok, raw, redirect
from chalicelib.core.request import Caller, Request
from chalicelib.core.route_table import RouteTable
from chalicelib.core.routes import (
    AUTHENTICATED,
    ENROLLING,
    NO_GRANTS,
    PERSON,
    PUBLIC,
    DeclaredRoute,
    Routes,
    View,
    is_grant,
)

__all__ = [
    "AUTHENTICATED",
    "ENROLLING",
    "PERSON",
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

_log = logging.getLogger(__name__)
_ALL_PATHS = ("/", "/{proxy+}")
_READS = ("GET", "HEAD")
_BASE = re.compile(r"/api/(v1|labs)/")
_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]


class Authenticate(Protocol):
    """Returns the caller of a request, or raises 401 or 403."""

    def __call__(self, request: Request, *, subaccount_header: bool) -> Caller:
        """Without ``subaccount_header``, the header that names a subaccount is ignored."""


class _Endpoint(NamedTuple):
    view: View
    grant: str
    subaccount_header: bool
    waits: bool = False


class _LateRoutes(NamedTuple):
    """Routes that are not registered yet, and how their paths begin, with a slash at the end."""

    beginnings: tuple[str, ...]
    blueprints: Callable[[], Iterable[chalice.Blueprint]]

    def covers(self, path: str) -> bool:
        """Tell whether a path may be one of these routes."""
        return f"{path}/".startswith(self.beginnings)


class App(chalice.Chalice):
    """The application."""

    def __init__(self, app_name: str, *, authenticate: Authenticate) -> None:
        super().__init__(app_name, configure_logs=False)
        # Only with every type binary does API Gateway pass the bytes of a body on unchanged.
        self.api.binary_types = ["*/*"]
        self.route_table = RouteTable()
        self._authenticate = authenticate
        self._endpoints: dict[str, dict[str, _Endpoint]] = {}
        self._late: list[_LateRoutes] = []
        self._loading = threading.RLock()
        self._register_all_paths()

    def register_late(
        self, prefixes: Iterable[str], blueprints: Callable[[], Iterable[chalice.Blueprint]]
    ) -> None:
        """Register routes when a path at or below one of ``prefixes`` is first asked for.

        ``blueprints`` imports them and returns them, so that other requests do not wait for these
        imports at a cold start.
        """
        beginnings = tuple(f"{prefix}/" for prefix in prefixes)
        self._late.append(_LateRoutes(beginnings, blueprints))

    def declared_routes(self) -> list[DeclaredRoute]:
        """Return every method of every path with its grant, sorted."""
        while self._late:
            self._load(self._late[0].beginnings[0])
        return sorted(
            DeclaredRoute(method, path, endpoint.grant, endpoint.subaccount_header)
            for path, methods in self._endpoints.items()
            for method, endpoint in methods.items()
        )

    def view(self, method: str, path: str) -> View:
        """Return the view of a declared route."""
        return self._endpoints[path][method].view

    def waits(self, method: str, path: str) -> bool:
        """Tell whether a request of a path, as it was sent, asks other hosts before it answers."""
        self._load(path)
        match = self.route_table.match(path)
        endpoint = self._endpoints[match.route].get(method) if match else None
        return endpoint is not None and endpoint.waits

    def register_middleware(self, func: Callable[..., Any], event_type: str = "all") -> None:
        """Register middleware for an event type other than HTTP: HTTP requests run none."""
        if event_type in ("all", "http"):
            raise ValueError("HTTP requests run no middleware: name another event type")
        super().register_middleware(func, event_type)

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer an API Gateway REST proxy event."""
        request_id = (event.get("requestContext") or {}).get("requestId") or "-"
        with (
            logs.bound(request_id=request_id, **logs.of_invocation(context)),
            tracing.call("request", request_id=request_id),
        ):
            began = time.perf_counter()
            response = self._response(event, request_id)
            _log_reply(event, response["statusCode"], time.perf_counter() - began)
            return response

    def admits_large_body(self, event: Mapping[str, Any]) -> bool:
        """Tell whether a request, of which the body is still to come, has a key that may make it.

        A server asks before it keeps a large body. What this cannot tell, because storage fails or
        the account makes too many requests, the request itself answers.
        """
        try:
            route, _ = self._locate(event)
            endpoint = _endpoint(self._endpoints[route], event["requestContext"]["httpMethod"])
            if endpoint.grant == PUBLIC:
                return False
            _check_grant(self._identify(Request.from_event(event), endpoint), endpoint)
        except (NotFound, MethodNotAllowed, Unauthorized, Forbidden):
            return False
        except Exception:
            return True
        return True

    def _response(self, event: Mapping[str, Any], request_id: str) -> dict[str, Any]:
        takes_octets = bool(event.get("requestContext", {}).get("takesOctets"))
        try:
            return self._reply(event).to_gateway(request_id, takes_octets=takes_octets)
        except Exception as error:
            _log.exception("request %s failed", request_id)
            return _fault(error, request_id).to_gateway(request_id)

    def _reply(self, event: Mapping[str, Any]) -> Reply:
        try:
            return self._answer(event)
        except ServiceError as error:
            return Reply(error.status, error.body(), error.headers)

    def _answer(self, event: Mapping[str, Any]) -> Reply:
        route, parameters = self._locate(event)
        logs.note(route=route)
        tracing.annotate(route=route)
        endpoint = _endpoint(self._endpoints[route], event["requestContext"]["httpMethod"])
        request = Request.from_event(event)
        if endpoint.grant == PUBLIC:
            return _call(endpoint, request, event, parameters)
        request.authenticated = caller = self._identify(request, endpoint)
        if request.method in _READS:
            _check_grant(caller, endpoint)
            return _call(endpoint, request, event, parameters)
        author = author_of(caller, request, route)
        try:
            _check_grant(caller, endpoint)
            with audit.bound(author):
                return _call(endpoint, request, event, parameters)
        except Forbidden:
            audit.note(unquote(next(iter(parameters.values()), "")), of=author, outcome="refused")
            raise

    def _load(self, path: str) -> None:
        """Register the late routes of a path, unless that was done."""
        # Without a lock where there is nothing to do: what was loaded is taken off the list last
        if not any(late.covers(path) for late in self._late):
            return
        with self._loading:
            for late in [each for each in self._late if each.covers(path)]:
                before = set(self._endpoints)
                for blueprint in late.blueprints():
                    self.register_blueprint(blueprint)
                others = [
                    route for route in self._endpoints.keys() - before if not late.covers(route)
                ]
                if others:
                    raise ValueError(f"late routes need their prefix: {', '.join(sorted(others))}")
                self._late.remove(late)

    def _locate(self, event: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
        if self._late:
            self._load(event.get("path") or "")
        route = event["requestContext"].get("resourcePath")
        if route in self._endpoints:
            return route, event.get("pathParameters") or {}
        match = self.route_table.match(event.get("path") or "")
        if match is None:
            raise NotFound
        return match

    def _identify(self, request: Request, endpoint: _Endpoint) -> Caller:
        caller = self._authenticate(request, subaccount_header=endpoint.subaccount_header)
        logs.note(account_id=caller.account_id, subaccount_id=caller.scope.part or None)
        return caller

    def _register_route(self, name: str, user_handler: View, kwargs: Any, **unused: Any) -> None:
        options = dict(kwargs["kwargs"])
        path, grant = kwargs["path"], options.pop("grant", "")
        methods = options.pop("methods", ["GET"])
        subaccount_header = options.pop("subaccount_header", True)
        waits = options.pop("waits", False)
        if not is_grant(grant):
            raise ValueError(f"route {path} must declare its grant, not {grant!r}")
        if kwargs.get("url_prefix"):
            raise ValueError("a route carries its whole path: url_prefix is not used")
        if options:
            raise TypeError(f"route {path} has unknown options: {', '.join(options)}")
        self.route_table.add(path)
        endpoints = self._endpoints.setdefault(path, {})
        for method in methods:
            if method in endpoints:
                raise ValueError(f"{method} {path} has two views")
            endpoints[method] = _Endpoint(user_handler, grant, subaccount_header, waits)

    def _register_all_paths(self) -> None:
        for path in _ALL_PATHS:
            super()._register_route(
                "any_path", _any_path, {"path": path, "kwargs": {"methods": list(_METHODS)}}
            )


def author_of(caller: Caller, request: Request, route: str) -> audit.Author:
    """Return the author of what a request changes."""
    return audit.Author(
        caller.account_id,
        caller.actor,
        request.method,
        route,
        _resource_of(route),
        request.source_ip,
        request.request_id,
        caller.scope.owner,
    )


@cache
def _resource_of(route: str) -> str:
    """Return the first part of a route's path, such as ``templates``."""
    return _BASE.sub("/", route).split("/")[1]


def _check_grant(caller: Caller, endpoint: _Endpoint) -> None:
    """Raise 403 unless the caller may use the route."""
    grant = endpoint.grant
    if caller.user is None and grant in caller.grants:
        return
    if caller.user is not None and caller.user.must_enrol and grant != ENROLLING:
        raise must_enrol()
    if grant in (PERSON, ENROLLING):
        if caller.user is None:
            raise Forbidden("this is for signed-in users, not for API keys")
    elif grant not in NO_GRANTS and grant not in caller.grants:
        raise Forbidden


def _call(
    endpoint: _Endpoint, request: Request, event: Mapping[str, Any], parameters: Mapping[str, str]
) -> Reply:
    if event["requestContext"].get("bodyTooLarge"):
        raise TooLarge
    return endpoint.view(request, **{name: unquote(text) for name, text in parameters.items()})


def _endpoint(methods: Mapping[str, _Endpoint], method: str) -> _Endpoint:
    endpoint = methods.get(method) or (methods.get("GET") if method == "HEAD" else None)
    if endpoint is None:
        raise MethodNotAllowed(_allowed(methods))
    return endpoint


def _allowed(methods: Iterable[str]) -> list[str]:
    return sorted({*methods, "HEAD"} if "GET" in methods else methods)


def _log_reply(event: Mapping[str, Any], status: int, seconds: float) -> None:
    logs.measured(
        _log,
        "answered",
        {
            "Requests": 1,
            "Refusals": int(400 <= status < 500),
            "Faults": int(status >= 500),
            "RequestTime": round(seconds * 1000, 1),
        },
        dimensions={},
        routine=True,
        method=(event.get("requestContext") or {}).get("httpMethod"),
        status=status,
    )


def _fault(error: Exception, request_id: str) -> Reply:
    if aws.is_overload(error):
        busy = Unavailable()
        return Reply(busy.status, busy.body())
    text = f"the service failed to answer; quote id {request_id}"
    return Reply(500, {"errors": [{"message": "Internal error", "description": text}]})


def _any_path() -> None:
    """Stand for every path; ``App`` answers before Chalice looks up a view."""
