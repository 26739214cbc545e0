"""Read an HTTP request and its JSON body (415) from a REST event, and hold the caller who made it.

A view gets a :class:`Request` and does not depend on the framework; a test makes one by its fields.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from chalicelib.core import strict_json
from chalicelib.core.errors import UnsupportedMediaType, bad_format, invalid_params
from chalicelib.core.query import Query, QueryParameters
from chalicelib.core.scope import Scope

_JSON_TYPE = re.compile(r"application/(?:[\w.!#$&^-]+\+)?json\s*(?:;|$)", re.IGNORECASE)
#: Headers that are no lists, and that a request cannot do without: two values are a contradiction
_ONE_VALUE: Final = frozenset({"authorization", "content-type", "host"})


class Actor(NamedTuple):
    """Who changes something: ``type`` is ``user``, ``key`` or ``operator``.

    ``id`` is the id that the API shows; ``label`` is the user's address, the label of the key or
    the operator's command.
    """

    type: str
    id: str
    label: str


NOBODY: Final = Actor("", "", "")


class SignedIn(NamedTuple):
    """The user who makes a request, and the session (the hash of its secret).

    ``must_enrol``: the user has a second factor, or the account asks for one, and this session has
    shown none, so that it may show or set up one and nothing else.
    """

    user_id: str
    session_id: str
    must_enrol: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """The account of a key or a user, and the part of the account that this request is about.

    ``confined_to`` is the subaccount of the key or user itself. A view that does not use the scope,
    such as a search with a subaccount parameter, must not show anything outside that subaccount.

    A signed-in user has no ``key_id``, and a key no ``user``. The ``actor`` of a key is ``NOBODY``
    where the request only reads.
    """

    scope: Scope
    key_id: str
    grants: frozenset[str]
    confined_to: int | None = None
    actor: Actor = NOBODY
    user: SignedIn | None = None

    @property
    def account_id(self) -> int:
        """Return the account of the key or user."""
        return self.scope.account_id


@dataclass(slots=True)
class Request:
    """A request.

    ``path`` is percent-encoded, without the query; ``query`` is decoded; ``headers`` have
    lower-case names; ``source_ip`` is the peer of the connection, whatever the headers say.

    The different values of a repeated header are one list, with commas between them (RFC 9110 5.3).
    A header that takes one value has no valid value then, and whoever reads it refuses it.
    """

    method: str = "GET"
    path: str = "/"
    query: Query = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    raw_body: bytes = b""
    source_ip: str = "127.0.0.1"
    request_id: str = "-"
    authenticated: Caller | None = None

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> Request:
        """Read an API Gateway REST proxy event; raises 400 for headers that contradict."""
        context = event["requestContext"]
        return cls(
            method=context["httpMethod"],
            path=event.get("path") or context.get("path") or "/",
            query=QueryParameters(event.get("multiValueQueryStringParameters") or {}),
            headers=_headers(event),
            raw_body=_body(event),
            source_ip=(context.get("identity") or {}).get("sourceIp") or "",
            request_id=context.get("requestId") or "-",
        )

    @property
    def caller(self) -> Caller:
        """The caller; only on routes that need a key or a session."""
        if self.authenticated is None:
            raise RuntimeError("a public route has no caller")
        return self.authenticated

    @property
    def user(self) -> SignedIn:
        """The user who is signed in; only on routes for people."""
        if self.caller.user is None:
            raise RuntimeError("only a route for people has a user")
        return self.caller.user

    def cookie(self, name: str) -> str:
        """Return the value of a cookie, or ``""``; the first of several counts (RFC 6265 5.4)."""
        for pair in self.headers.get("cookie", "").split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                return value
        return ""

    def json(self) -> Any:
        """Parse the body; raises 415 for another content type, 422 or 400 for bad JSON."""
        if not self.raw_body:
            raise bad_format("Problems parsing request as json: the request body is empty")
        if not _JSON_TYPE.match(self.headers.get("content-type", "").strip()):
            raise UnsupportedMediaType("Content-Type must be application/json")
        if self.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise UnsupportedMediaType("the body must be sent without a Content-Encoding")
        return strict_json.loads(self.raw_body)


def _headers(event: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers, without the blanks around their values (RFC 9110 5.5)."""
    values: dict[str, dict[str, None]] = {}
    for name, texts in _header_lines(event):
        present = values.setdefault(name.lower(), {})
        for text in texts:
            present[text.strip(" \t")] = None
    for name in _ONE_VALUE & values.keys():
        if len(values[name]) > 1:
            raise invalid_params(f"the request has {len(values[name])} different {name} headers")
    headers = {name: ", ".join(texts) for name, texts in values.items()}
    if "cookie" in values:
        # Cookies are no list: HTTP/2 may send each in a line of its own (RFC 9113 8.2.3)
        headers["cookie"] = "; ".join(values["cookie"])
    return headers


def _header_lines(event: Mapping[str, Any]) -> Iterable[tuple[str, Iterable[str]]]:
    if lines := event.get("multiValueHeaders"):
        return lines.items()
    return ((name, [text]) for name, text in (event.get("headers") or {}).items())


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body")
    if not body:
        return b""
    return base64.b64decode(body) if event.get("isBase64Encoded") else body.encode("utf-8")
