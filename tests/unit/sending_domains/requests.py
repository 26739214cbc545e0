"""Build API requests, and read their results and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from chalicelib.core.reply import Reply
from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import Scope
from tests.unit.refusals import refusal_errors


def request(
    body: Any = None, *, account: int = 1, part: int | None = 0, query: dict[str, str] | None = None
) -> Request:
    """Return a request for a part of an account (``None``: all of it, 0: the primary account)."""
    return Request(
        query=query or {},
        headers={"content-type": "application/json"},
        raw_body=b"" if body is None else json.dumps(body).encode(),
        authenticated=Caller(Scope(account, part), "key", frozenset()),
    )


def results(reply: Reply) -> Any:
    """Return the results of a successful reply."""
    assert reply.status == 200, reply
    return reply.body["results"]


def error_of(view: Callable[[], object]) -> dict[str, Any]:
    """Return the one error that a view raises, with its HTTP status."""
    status, (error,) = refusal_errors(view)
    return {"status": status, **error}
