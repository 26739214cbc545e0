"""Keep the recipients of a deleted list while transmissions wait that were accepted for them.

Each of these recipients still gets an event. A list created later under the same id is another one,
with another identity.

Access patterns of ``config``:

- a deleted list → ``recipient_list#<account>#<list id>`` / ``deleted#<identity>``
- the transmissions that wait for it, in its partition → ``recipient_list#<account>#<list id>`` /
  ``kept#<identity>#<transmission>``

What nobody releases expires.
"""

from __future__ import annotations

from collections.abc import Iterable

from chalicelib.core import clock
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import contents

# Longer than a transmission can be scheduled ahead
_KEPT_SECONDS = 400 * 86400


class DeletedListItem(Keyed):
    """A deleted list that transmissions wait for; the fields are those of ``RecipientList``."""

    version: str
    count: int
    parts: int
    expires: int


class KeptListItem(Keyed):
    """A transmission that waits for a deleted list."""

    expires: int


_config: Table[DeletedListItem] = Table("config")
_holders: Table[KeptListItem] = Table("config")


def keep(recipient_list: RecipientList, holders: Iterable[str]) -> None:
    """Keep a list that is about to be deleted for these transmissions; repeating does no harm."""
    partition, identity = _partition(recipient_list), recipient_list.identity
    expires = int(clock.now()) + _KEPT_SECONDS
    for holder in holders:
        _holders.put({"pk": partition, "sk": f"kept#{identity}#{holder}", "expires": expires})
    version = contents.version_of(recipient_list)
    _config.put(
        {
            "pk": partition,
            "sk": f"deleted#{identity}",
            "version": version.name,
            "count": version.count,
            "parts": version.parts,
            "expires": expires,
        }
    )


def get(account_id: int, list_id: str, identity: str) -> RecipientList | None:
    """Return a deleted list, which has its id and recipients only; ``None`` if it is not kept."""
    item = _config.get(_key(account_id, list_id), f"deleted#{identity}")
    if item is None:
        return None
    return RecipientList(
        account_id=account_id,
        id=list_id,
        name="",
        version=item["version"],
        count=item["count"],
        parts=item["parts"],
        identity=identity,
    )


def release(recipient_list: RecipientList, holder: str) -> None:
    """Say that a transmission no longer needs a deleted list; the last one removes it."""
    partition, identity = _partition(recipient_list), recipient_list.identity
    _holders.delete(partition, f"kept#{identity}#{holder}")
    holders = _holders.query_all(
        "#pk = :pk AND begins_with(#sk, :kept)",
        {"pk": partition, "kept": f"kept#{identity}#"},
        consistent=True,
    )
    if not any(holders):
        contents.remove(contents.version_of(recipient_list))
        _config.delete(partition, f"deleted#{identity}")


def _partition(recipient_list: RecipientList) -> str:
    return _key(recipient_list.account_id, recipient_list.id)


def _key(account_id: int, list_id: str) -> str:
    return f"recipient_list#{account_id}#{list_id}"
