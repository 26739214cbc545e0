"""Where recipient lists are kept.

Access patterns (table ``config``):

- one list → ``pk = recipient_list#<account>#<list id>``, ``sk = list``
- all lists of an account, by id → index ``by_owner``: ``owner = account#<id>/recipient_lists``
- who uses a list now → the same ``pk``, kept by ``core.uses``

``contents`` keeps the recipients. A replacement writes a new version of them, makes the record name
it, on the condition that nobody changed or began to use the list meanwhile, and then removes the
old one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from chalicelib.core import leases
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.errors import Unavailable, resource_conflict
from chalicelib.core.leases import Record, Use
from chalicelib.core.owner_keys import account_partition, owned_items
from chalicelib.recipient_lists import contents
from chalicelib.recipient_lists.model import RecipientList

Json = dict[str, Any]

PROTECTED_SECONDS = 600.0
"""How long before a scheduled use a list can no longer be changed (10 minutes)."""

_ATTEMPTS = 20

_config = Table("config")


def get(account_id: int, list_id: str) -> RecipientList | None:
    """Return the account's list with this id, or ``None``."""
    item = _config.get(*_key(account_id, list_id))
    return _from_item(item) if item else None


def in_account(account_id: int) -> Iterator[RecipientList]:
    """Yield the lists of an account, by id."""
    return map(_from_item, owned_items(_config, account_id, "recipient_lists"))


def parts(found: RecipientList, start: int = 0) -> Iterator[list[Json]]:
    """Yield the recipients of a list, a thousand at a time, in their stored form.

    ``start`` is the number of the part to begin with; recipient ``n`` is in part ``n // 1000``.
    Raises ``BlobMissing`` when the recipients were replaced since ``found`` was read: between
    :func:`begin_use` and :func:`end_use` they are not.
    """
    return contents.read(contents.of(found), start)


def create(new: RecipientList) -> bool:
    """Store a new list, whose recipients are written; return ``False`` if its id is taken."""
    item = _to_item(new)
    try:
        _config.create(item)
    except ConditionFailed as found:
        return _is_ours(item, found)
    return True


def change(
    account_id: int, list_id: str, edit: Callable[[RecipientList], RecipientList]
) -> tuple[RecipientList, RecipientList] | None:
    """Change a list by ``edit``; return it before and after, or ``None`` if there is none.

    ``edit`` may be called again if others change the list meanwhile. Raises 409 with code 1602
    while the list is in use.
    """
    for _ in range(_ATTEMPTS):
        old = _standing(account_id, list_id)
        if old is None:
            return None
        new = edit(old)
        item = _to_item(new)
        try:
            _config.put(item, **leases.unchanged(old.stamp))
        except ConditionFailed as found:
            if not _is_ours(item, found):
                continue
        return old, new
    raise Unavailable


def delete(account_id: int, list_id: str) -> bool:
    """Delete a list; return ``False`` if there is none. Raises 409 with code 1602 as above."""
    for _ in range(_ATTEMPTS):
        old = _standing(account_id, list_id)
        if old is None:
            return False
        try:
            _config.delete(*_key(account_id, list_id), **leases.unchanged(old.stamp))
        except ConditionFailed:
            continue
        contents.remove(contents.of(old))
        return True
    raise Unavailable


def begin_use(
    account_id: int, list_id: str, transmission_id: str, *, starts: float, until: float
) -> RecipientList | None:
    """Keep a list from being changed while a transmission uses it; return it as it then is.

    The protection begins 10 minutes before ``starts`` (at once for a start that is near or past)
    and ends at ``until`` at the latest, both in seconds; asking again for the same transmission
    moves it. A list may still change before: call again when generation begins. ``None`` if there
    is no such list.
    """
    use = Use(transmission_id, starts - PROTECTED_SECONDS, until)
    item = leases.begin(_record(account_id, list_id), use)
    return _from_item(item) if item else None


def end_use(account_id: int, list_id: str, transmission_id: str) -> None:
    """End the protection that a transmission asked for; repeating it does no harm."""
    leases.end(_record(account_id, list_id), transmission_id)


def check_unused(account_id: int, list_id: str) -> None:
    """Raise 409 with code 1602 if the list is in use now."""
    if leases.in_use(_record(account_id, list_id)):
        raise resource_conflict(f"recipient list '{list_id}' is in use by msg generation")


def _is_ours(item: Item, found: ConditionFailed) -> bool:
    """Tell whether a write failed because it had been made: its answer was lost, so it was sent
    again. Taking it for another's would remove recipients that the list has."""
    return found.item is not None and found.item["stamp"] == item["stamp"]


def _standing(account_id: int, list_id: str) -> RecipientList | None:
    found = get(account_id, list_id)
    if found is not None:
        check_unused(account_id, list_id)
    return found


def _record(account_id: int, list_id: str) -> Record:
    return Record(*_key(account_id, list_id))


def _key(account_id: int, list_id: str) -> tuple[str, str]:
    return f"recipient_list#{account_id}#{list_id}", "list"


def _to_item(found: RecipientList) -> Item:
    pk, sk = _key(found.account_id, found.id)
    return {
        "pk": pk,
        "sk": sk,
        "owner": account_partition(found.account_id, "recipient_lists"),
        "owner_key": found.id,
        "account_id": found.account_id,
        "id": found.id,
        "name": found.name,
        "description": found.description,
        # As text: a map could not hold every object that JSON can
        "attributes": json.dumps(found.attributes),
        "version": found.version,
        "count": found.count,
        "parts": found.parts,
        "stamp": leases.draw_stamp(),
    }


def _from_item(item: Item) -> RecipientList:
    return RecipientList(
        account_id=item["account_id"],
        id=item["id"],
        name=item["name"],
        version=item["version"],
        count=item["count"],
        parts=item["parts"],
        description=item["description"],
        attributes=json.loads(item["attributes"]),
        stamp=item["stamp"],
    )
