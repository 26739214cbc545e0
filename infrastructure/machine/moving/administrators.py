"""Count the active administrators of each account at the target.

The number keeps an account from losing its last administrator. It follows from the users, of whom
both sides may have changed some, so it is neither copied nor added up.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from chalicelib.core.dynamo.codec import decode_item
from chalicelib.users import roles
from chalicelib.users.model import ACTIVE
from chalicelib.users.store import users
from infrastructure.machine.moving import target_writes
from infrastructure.machine.moving.place import Place, key_of

_ATTEMPTS: Final = 8
_USERS_AND_COUNTS: Final[dict[str, Any]] = {
    "FilterExpression": "begins_with(pk, :user) AND sk = :sk",
    "ProjectionExpression": "account_id, #role, #status",
    "ExpressionAttributeNames": {"#role": "role", "#status": "status"},
    "ExpressionAttributeValues": {":user": {"S": "user#"}, ":sk": {"S": "user"}},
}


def recount(place: Place) -> None:
    """Let each account that has users have the number of its active administrators.

    Where users change meanwhile, it is counted again.
    """
    for _ in range(_ATTEMPTS):
        earlier = {account: _stored(place, account) for account in _counted(place)}
        numbers = _counted(place)
        done = [_store(place, account, numbers[account], earlier[account]) for account in earlier]
        if all(done):
            return


def _counted(place: Place) -> Counter[int]:
    """Return how many active administrators each account with users has."""
    numbers: Counter[int] = Counter()
    for page in place.pages("config", None, **_USERS_AND_COUNTS):
        for item in page.items:
            user = decode_item(item)
            is_counted = user["role"] == roles.ADMIN and user["status"] == ACTIVE
            numbers[int(user["account_id"])] += is_counted
    return numbers


def _stored(place: Place, account_id: int) -> Any:
    return place.get("config", *users.administrators_key(account_id))


def _store(place: Place, account_id: int, number: int, earlier: Any) -> bool:
    """Store a number unless it changed since it was read; tell whether it is right now."""
    item = key_of(*users.administrators_key(account_id)) | {"count": {"N": str(number)}}
    return item == earlier or target_writes.put(place, "config", item, earlier)
