"""A list comes to be or gets other recipients: checked, written, then named by its record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.core.errors import ApiError, recipient_list_exists, resource_not_found
from chalicelib.recipient_lists import contents, store
from chalicelib.recipient_lists.contents import Written
from chalicelib.recipient_lists.model import LONGEST_ID, RecipientList, draw_id
from chalicelib.recipient_lists.recipients import Refusals, good_recipients, no_good_recipient
from chalicelib.recipient_lists.request import ListBody


@dataclass(frozen=True, slots=True)
class Saved:
    """The list as it is now, and what was wrong with the recipients that were refused."""

    list: RecipientList
    refusals: Refusals


def create(account_id: int, body: ListBody) -> Saved:
    """Store a new list; raises 400 if its id is taken (5001) or no recipient is good (5002)."""
    list_id = body.id or draw_id()
    if store.get(account_id, list_id) is not None:
        raise _exists(list_id)
    refusals = Refusals()
    written = _write(account_id, list_id, body.recipients or [], refusals)
    new = RecipientList(
        account_id=account_id,
        id=list_id,
        name=body.name or list_id,
        version=written.version,
        count=written.count,
        parts=written.parts,
        description=body.description or "",
        attributes=body.attributes or {},
    )
    if not store.create(new):
        contents.remove(written)
        raise _exists(list_id)
    return Saved(new, refusals)


def update(account_id: int, list_id: str, body: ListBody) -> Saved:
    """Change what the body names of a list, its recipients as a whole.

    Raises 404 (1600) if there is no such list, 409 (1602) while it is in use, and 400 (5002) if
    recipients were given and not one is good.
    """
    if store.get(account_id, list_id) is None:
        raise unknown(list_id)
    store.check_unused(account_id, list_id)
    refusals = Refusals()
    if body.recipients is None:
        return Saved(_change(account_id, list_id, body, None)[1], refusals)
    written = _write(account_id, list_id, body.recipients, refusals)
    try:
        old, new = _change(account_id, list_id, body, written)
    except ApiError:
        contents.remove(written)
        raise
    contents.remove(contents.of(old))
    return Saved(new, refusals)


def unknown(list_id: str) -> ApiError:
    """Return 404 with code 1600: the account has no such list."""
    return resource_not_found(f"recipient list '{list_id[:LONGEST_ID]}' does not exist")


def _write(account_id: int, list_id: str, given: list[Any], refusals: Refusals) -> Written:
    written = contents.write(account_id, list_id, good_recipients(given, refusals))
    if not written.count:
        raise no_good_recipient(refusals.errors)
    return written


def _change(
    account_id: int, list_id: str, body: ListBody, written: Written | None
) -> tuple[RecipientList, RecipientList]:
    def edit(old: RecipientList) -> RecipientList:
        new = replace(
            old,
            name=old.name if body.name is None else body.name or list_id,
            description=old.description if body.description is None else body.description,
            attributes=old.attributes if body.attributes is None else body.attributes,
        )
        if written is None:
            return new
        return replace(new, version=written.version, count=written.count, parts=written.parts)

    changed = store.change(account_id, list_id, edit)
    if changed is None:
        raise unknown(list_id)
    return changed


def _exists(list_id: str) -> ApiError:
    return recipient_list_exists(f"recipient list '{list_id}' already exists")
