"""Make recipient lists and recipients for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import Scope
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.routes import GRANT
from chalicelib.recipient_lists.store import contents, lists
from chalicelib.recipient_lists.stored_form import encode


def recipients(count: int) -> Iterator[dict[str, Any]]:
    """Yield recipients in their stored form."""
    return ({"email": f"r{number}@example.test"} for number in range(count))


def given(count: int) -> list[dict[str, Any]]:
    """Return recipients as a request gives them."""
    return [{"address": recipient["email"]} for recipient in recipients(count)]


def saved(list_id: str = "friends", count: int = 3, account_id: int = 1) -> RecipientList:
    """Store a list and return it."""
    version = contents.write(account_id, list_id, map(encode, recipients(count)))
    lists.create(
        RecipientList(
            account_id, list_id, list_id.title(), version.name, version.count, version.parts
        )
    )
    recipient_list = lists.get(account_id, list_id)
    assert recipient_list is not None
    return recipient_list


def emails(result: RecipientList) -> list[str]:
    """Return the addresses of all recipients."""
    return [recipient["email"] for part in lists.parts(result) for recipient in part]


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
