"""Store the records of recipient lists.

Access patterns of ``config``:

- one list → ``recipient_list#<account>#<list id>`` / ``list``
- all lists of an account, by id → ``account#<account>/recipient_lists`` / ``<list id>`` [by_owner]

The leases on a list are kept in its partition (``core.leases``), its recipients in the bucket
(``store.contents``). A replacement writes a new version of the recipients, makes the record name
it, on the condition that nobody changed or leased the list meanwhile, and then removes the
old version. A list that is deleted while transmissions wait for it is kept for them
(``store.deleted``).

Even a single write is a transaction: boto3 repeats a request whose answer was lost, and only of a
transaction is the repetition recognised. If it were taken for another's write, the recipients that
the record names would be removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NotRequired

from chalicelib.core import audit, dynamo, leases
from chalicelib.core.dynamo import Table, retry_conflicts
from chalicelib.core.errors import resource_conflict
from chalicelib.core.leases import Record, ResourceLease
from chalicelib.core.owner_keys import OwnedKeys, account_partition, owned_items
from chalicelib.recipient_lists.model import RecipientList, shown_fields
from chalicelib.recipient_lists.store import contents, deleted
from chalicelib.recipient_lists.stored_form import StoredRecipient

#: How long before a scheduled start the lease on a list begins (10 minutes)
PROTECTED_SECONDS = 600.0


class RecipientListItem(OwnedKeys):
    """A recipient list: the fields of ``RecipientList``."""

    account_id: int
    id: str
    name: str
    description: str
    #: JSON
    attributes: str
    version: str
    count: int
    parts: int
    #: The revision
    stamp: str
    #: Version 0.1.0 did not write it
    identity: NotRequired[str]


_config: Table[RecipientListItem] = Table("config")


def get(account_id: int, list_id: str) -> RecipientList | None:
    """Return the account's list with this id, or ``None``."""
    item = _config.get(*_key(account_id, list_id))
    return _from_item(item) if item else None


def in_account(account_id: int) -> Iterator[RecipientList]:
    """Yield the lists of an account, by id."""
    return map(_from_item, owned_items(_config, account_id, "recipient_lists"))


def parts(recipient_list: RecipientList, start: int = 0) -> Iterator[Iterator[StoredRecipient]]:
    """Yield the recipients of a list, a thousand at a time, in their stored form.

    ``start`` is the number of the part to begin with; recipient ``n`` is in part ``n // 1000``.
    Raises ``BlobMissing`` when the recipients were replaced since the record was read, which cannot
    be between :func:`acquire_lease` and :func:`release_lease`.
    """
    return contents.read(contents.version_of(recipient_list), start)


def create(new: RecipientList) -> bool:
    """Store the record of a new list; return ``False`` if its id is taken."""
    record = dynamo.put(_config, _to_item(new), condition="attribute_not_exists(#pk)")
    return dynamo.try_transact([record, *audit.line(new.id, None, shown_fields(new))])


def change(
    account_id: int, list_id: str, edit: Callable[[RecipientList], RecipientList]
) -> tuple[RecipientList, RecipientList] | None:
    """Change a list by ``edit``; return it before and after, or ``None`` if there is none.

    ``edit`` may be called again if others change the list meanwhile. Raises 409 with code 1602
    while the list is in use.
    """

    def attempt() -> tuple[RecipientList, RecipientList] | None:
        old = _get_unused(account_id, list_id)
        if old is None:
            return None
        new = edit(old)
        record = dynamo.put(_config, _to_item(new), **leases.unchanged(old.revision))
        dynamo.transact([record, *audit.line(list_id, shown_fields(old), shown_fields(new))])
        return old, new

    return retry_conflicts(attempt)


def delete(account_id: int, list_id: str) -> bool:
    """Delete a list; return ``False`` if there is none. Raises 409 with code 1602 as above.

    Transmissions that wait for it still find its recipients, with ``deleted.get``.
    """

    def attempt() -> bool:
        old = _get_unused(account_id, list_id)
        if old is None:
            return False
        holders = leases.holders(_record(account_id, list_id))
        if holders:
            deleted.keep(old, holders)
        key = _key(account_id, list_id)
        record = dynamo.delete(_config, *key, **leases.unchanged(old.revision))
        dynamo.transact([record, *audit.line(list_id, shown_fields(old), None)])
        if not holders:
            contents.remove(contents.version_of(old))
        for holder in holders:
            release_lease(account_id, list_id, holder)
        return True

    return retry_conflicts(attempt)


def acquire_lease(
    account_id: int, list_id: str, transmission_id: str, *, starts: float, until: float
) -> RecipientList | None:
    """Lease a list, so that it does not change while a transmission uses it; return it.

    The lease begins 10 minutes before ``starts`` (at once for a start that is near or past) and
    ends at ``until`` at the latest, both in seconds; a second call for the same transmission moves
    it. The list may change before the lease begins: call again when generation begins. ``None`` if
    there is no such list.
    """
    lease = ResourceLease(transmission_id, starts - PROTECTED_SECONDS, until)
    item = leases.acquire(_record(account_id, list_id), lease)
    return _from_item(item) if item else None


def release_lease(account_id: int, list_id: str, transmission_id: str) -> None:
    """Release the lease of a transmission; repeating it does no harm."""
    leases.release(_record(account_id, list_id), transmission_id)


def release_when_generated(account_id: int, list_id: str, transmission_id: str) -> None:
    """Keep a list from being changed while a transmission that has read it is being generated."""
    leases.release_when_inactive(_record(account_id, list_id), transmission_id)


def check_unused(account_id: int, list_id: str) -> None:
    """Raise 409 with code 1602 if the list is in use now."""
    if leases.is_leased(_record(account_id, list_id)):
        raise resource_conflict(f"recipient list '{list_id}' is in use by msg generation")


def _get_unused(account_id: int, list_id: str) -> RecipientList | None:
    """Return a list that may be changed now; raises 409 with code 1602 while it is in use."""
    recipient_list = get(account_id, list_id)
    if recipient_list is not None:
        check_unused(account_id, list_id)
    return recipient_list


def _record(account_id: int, list_id: str) -> Record:
    return Record(*_key(account_id, list_id))


def _key(account_id: int, list_id: str) -> tuple[str, str]:
    return f"recipient_list#{account_id}#{list_id}", "list"


def _to_item(recipient_list: RecipientList) -> RecipientListItem:
    pk, sk = _key(recipient_list.account_id, recipient_list.id)
    return {
        "pk": pk,
        "sk": sk,
        "owner": account_partition(recipient_list.account_id, "recipient_lists"),
        "owner_key": recipient_list.id,
        "account_id": recipient_list.account_id,
        "id": recipient_list.id,
        "name": recipient_list.name,
        "description": recipient_list.description,
        # As text: a map could not hold every object that JSON can
        "attributes": json.dumps(recipient_list.attributes),
        "version": recipient_list.version,
        "count": recipient_list.count,
        "parts": recipient_list.parts,
        "stamp": dynamo.draw_revision(),
        "identity": recipient_list.identity,
    }


def _from_item(item: RecipientListItem) -> RecipientList:
    return RecipientList(
        account_id=item["account_id"],
        id=item["id"],
        name=item["name"],
        version=item["version"],
        count=item["count"],
        parts=item["parts"],
        description=item["description"],
        attributes=json.loads(item["attributes"]),
        revision=item["stamp"],
        identity=item.get("identity", ""),
    )
