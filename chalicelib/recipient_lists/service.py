"""Create and change recipient lists: check the recipients, write them, then store the record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.core.errors import ApiError, recipient_list_exists, resource_not_found
from chalicelib.core.resource_ids import LONGEST_ID
from chalicelib.recipient_lists.model import RecipientList, draw_id
from chalicelib.recipient_lists.recipients import Refusals, good_recipients, no_good_recipient
from chalicelib.recipient_lists.request import ListBody
from chalicelib.recipient_lists.store import contents, lists
from chalicelib.recipient_lists.store.contents import ListVersion


@dataclass(frozen=True, slots=True)
class Saving:
    """The saved list, and the errors of the recipients that were refused."""

    list: RecipientList
    refusals: Refusals


def create(account_id: int, body: ListBody) -> Saving:
    """Store a new list; raises 400 if its id is taken (5001) or no recipient is good (5002)."""
    list_id = body.id or draw_id()
    if lists.get(account_id, list_id) is not None:
        raise _exists(list_id)
    refusals = Refusals()
    version = _write(account_id, list_id, body.recipients or [], refusals)
    new = RecipientList(
        account_id=account_id,
        id=list_id,
        name=body.name or list_id,
        version=version.name,
        count=version.count,
        parts=version.parts,
        description=body.description or "",
        attributes=body.attributes or {},
    )
    if not lists.create(new):
        contents.remove(version)
        raise _exists(list_id)
    return Saving(new, refusals)


def update(account_id: int, list_id: str, body: ListBody) -> Saving:
    """Change the fields of a list that the body names; recipients are replaced all together.

    Raises 404 (1600) if there is no such list, 409 (1602) while it is in use, and 400 (5002) if
    no recipient of the body is good.
    """
    if lists.get(account_id, list_id) is None:
        raise unknown_list(list_id)
    lists.check_unused(account_id, list_id)
    refusals = Refusals()
    if body.recipients is None:
        return Saving(_change(account_id, list_id, body, None)[1], refusals)
    version = _write(account_id, list_id, body.recipients, refusals)
    try:
        old, new = _change(account_id, list_id, body, version)
    except ApiError:
        contents.remove(version)
        raise
    contents.remove(contents.version_of(old))
    return Saving(new, refusals)


def unknown_list(list_id: str) -> ApiError:
    """Return 404 with code 1600: the account has no such list."""
    return resource_not_found(f"recipient list '{list_id[:LONGEST_ID]}' does not exist")


def _write(account_id: int, list_id: str, recipients: list[Any], refusals: Refusals) -> ListVersion:
    version = contents.write(account_id, list_id, good_recipients(recipients, refusals))
    if not version.count:
        raise no_good_recipient(refusals.errors)
    return version


def _change(
    account_id: int, list_id: str, body: ListBody, version: ListVersion | None
) -> tuple[RecipientList, RecipientList]:
    fields = body.model_fields_set

    def edit(old: RecipientList) -> RecipientList:
        new = replace(
            old,
            name=(body.name or list_id) if "name" in fields else old.name,
            description=(body.description or "") if "description" in fields else old.description,
            attributes=(body.attributes or {}) if "attributes" in fields else old.attributes,
        )
        if version is None:
            return new
        return replace(new, version=version.name, count=version.count, parts=version.parts)

    versions = lists.change(account_id, list_id, edit)
    if versions is None:
        raise unknown_list(list_id)
    return versions


def _exists(list_id: str) -> ApiError:
    return recipient_list_exists(f"recipient list '{list_id}' already exists")
