"""Make entries and requests for the tests of the suppression list."""

from __future__ import annotations

import json
from typing import Any

from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import Scope
from chalicelib.suppression.model import (
    MANUALLY_ADDED,
    NON_TRANSACTIONAL,
    SuppressionEntry,
    new_entry,
)
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.items import parts_in, rows_of
from chalicelib.suppression.view import summary_view

GRANT = frozenset({"suppression_lists/manage"})


def entry(
    recipient: str, type: str = NON_TRANSACTIONAL, source: str = MANUALLY_ADDED, **fields: Any
) -> SuppressionEntry:
    return new_entry(recipient, type, source, **fields)


def request(
    account: int,
    body: Any = None,
    *,
    part: int | None = None,
    headers: dict[str, str] | None = None,
    **query: str,
) -> Request:
    """Return a request as it reaches a view; ``from`` is written ``from_``."""
    return Request(
        query={name.rstrip("_"): text for name, text in query.items()},
        headers={"content-type": "application/json", **(headers or {})},
        raw_body=b"" if body is None else json.dumps(body).encode(),
        authenticated=Caller(Scope(account, part), "key", GRANT),
    )


def summary(account: int, part: int | None = None) -> dict[str, int]:
    """Return the summary of an account's list, or of all its lists."""
    return summary_view(counts.read(account, parts_in(Scope(account, part))).values())


def entries_of(scope: Scope, recipient: str) -> list[SuppressionEntry]:
    """Return the entries of a recipient in a scope, the last updated first."""
    return [each for _, each in rows_of(scope, recipient)]
