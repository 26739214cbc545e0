"""Recipient lists and recipients, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import Scope
from chalicelib.recipient_lists import contents, store
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.routes import GRANT


def recipients(count: int) -> Iterator[dict[str, Any]]:
    """Yield recipients in their stored form."""
    return ({"email": f"r{number}@example.test"} for number in range(count))


def given(count: int) -> list[dict[str, Any]]:
    """Return recipients as a request gives them."""
    return [{"address": recipient["email"]} for recipient in recipients(count)]


def saved(list_id: str = "friends", count: int = 3, account_id: int = 1) -> RecipientList:
    """Store a list and return it."""
    written = contents.write(account_id, list_id, recipients(count))
    store.create(
        RecipientList(
            account_id, list_id, list_id.title(), written.version, written.count, written.parts
        )
    )
    found = store.get(account_id, list_id)
    assert found is not None
    return found


def emails(found: RecipientList) -> list[str]:
    """Return the addresses of all recipients."""
    return [recipient["email"] for part in store.parts(found) for recipient in part]


def request(
    body: bytes = b"", *, part: int | None = 0, account_id: int = 1, **query: str
) -> Request:
    """Return a request of the account (or a part of it)."""
    return Request(
        raw_body=body,
        query=query,
        headers={"content-type": "application/json"},
        authenticated=Caller(Scope(account_id, part), "key", frozenset({GRANT})),
    )
