"""What the service asks and tells the suppression list, by recipient.

The access patterns are listed in ``store/items.py``, which builds the keys. Recipients may be given
in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from chalicelib.core.dynamo import Item
from chalicelib.core.errors import NotFound
from chalicelib.core.reading import Read
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.suppression import removal, writing
from chalicelib.suppression.model import (
    COMPLIANCE,
    LONGEST_DESCRIPTION,
    NON_TRANSACTIONAL,
    OPEN_TRACKING,
    TRANSACTIONAL,
    Entry,
    entry_about,
    is_list_id,
)
from chalicelib.suppression.store import items
from chalicelib.suppression.store.items import Key, read_recipient, slot_key, to_entry
from chalicelib.suppression.store.lookup_items import lists_of

_LONGEST_OWN = LONGEST_DESCRIPTION // 4  # characters, none of which has more than four bytes


class Recipient(NamedTuple):
    """Somebody whom one sender writes to: ``subaccount_id`` is ``None`` for the primary account."""

    account_id: int
    subaccount_id: int | None
    address: str


class Hold(NamedTuple):
    """What a list has of one recipient and one type: which messages it holds back.

    ``source`` is that of the account-wide entry, empty if there is none; ``lists`` are the mailing
    lists, in lower case, that have an entry of their own.
    """

    source: str
    lists: frozenset[str]

    def holds_back(self, list_id: str) -> bool:
        """Tell whether it holds back a message of this mailing list (empty: of none)."""
        return bool(self.source) or list_id.lower() in self.lists


def blocking_keys(
    account_id: int, subaccount_id: int | None, recipients: Iterable[str], *, transactional: bool
) -> list[Key]:
    """Return the keys that :func:`blocking` asks about each of the recipients."""
    kind = TRANSACTIONAL if transactional else NON_TRANSACTIONAL
    return [slot_key(account_id, subaccount_id, each.lower(), kind) for each in recipients]


def read_eventually(keys: Iterable[Key]) -> Mapping[Key, Item]:
    """Read items as they were a moment ago: half as dear, and early enough to hold mail back."""
    return items.read(set(keys), consistent=False)


def blocking(
    account_id: int,
    subaccount_id: int | None,
    recipients: Sequence[str],
    *,
    transactional: bool,
    read: Read = read_eventually,
) -> dict[str, Hold]:
    """Return what may hold back a message of this kind, for each recipient who has such entries.

    Takes one request for 100 recipients.
    """
    slots = blocking_keys(account_id, subaccount_id, recipients, transactional=transactional)
    answers = read(slots)
    return {
        recipient: Hold(answers[slot].get("source", ""), lists_of(answers[slot]))
        for recipient, slot in zip(recipients, slots, strict=True)
        if slot in answers
    }


def opens_key(recipient: Recipient) -> Key:
    """Return the key that :func:`suppressing_opens` asks about."""
    account_id, subaccount_id, address = recipient
    return slot_key(account_id, subaccount_id, address.lower(), OPEN_TRACKING)


def suppressing_opens(
    recipients: Iterable[Recipient], read: Read = read_eventually
) -> set[Recipient]:
    """Return those of whose opens no events may be made: a request for 100 of any accounts."""
    slots = {each: opens_key(each) for each in recipients}
    found = read(slots.values()) if slots else {}
    return {each for each, slot in slots.items() if slot in found}


def of_recipient(scope: Scope, recipient: str) -> list[Entry]:
    """Return the entries of a recipient in a scope, those updated last first."""
    found = read_recipient(scope, recipient.lower()).values()
    ordered = sorted((each for each in found if "source" in each), key=lambda each: each["at"])
    return [entry for item in reversed(ordered) if (entry := to_entry(item))]


def add(
    account_id: int,
    subaccount_id: int | None,
    recipient: str,
    type: str,
    source: str,
    description: str,
    list_id: str | None = None,
) -> None:
    """Note what the service itself found out; an entry that is there already stays as it is.

    So adding again changes nothing. No limit keeps it out, a long description is cut, and a
    ``list_id`` that cannot be one makes the entry account-wide: someone asked not to be written to.
    ``recipient`` is an address. Raises ``ValueError`` for anything else that an entry cannot have.
    """
    entry = entry_about(
        recipient,
        type,
        source,
        description=description[:_LONGEST_OWN],
        list_id=list_id if list_id and is_list_id(list_id) else None,
    )
    add_all(account_id, subaccount_id, [entry])


def add_all(account_id: int, subaccount_id: int | None, entries: Iterable[Entry]) -> None:
    """Add many entries of one list, as :func:`add` does: about one request for 50."""
    writing.write(account_id, subaccount_id, entries, writing.if_absent)


def put_all(account_id: int, subaccount_id: int | None, entries: Iterable[Entry]) -> None:
    """Create or update entries of one list, as customers may.

    Raises 403, and writes nothing, if one of them was added by compliance, and 400 where a limit
    would be exceeded.
    """
    rule, check = writing.updated, writing.as_customer
    writing.write(account_id, subaccount_id, entries, rule, check)


def impose_all(account_id: int, subaccount_id: int | None, entries: Iterable[Entry]) -> None:
    """Write entries of one list over what is there, as the operator may.

    Raises 400 where a limit would be exceeded.
    """
    rule, check = writing.imposed, writing.within_limits
    writing.write(account_id, subaccount_id, entries, rule, check)


def remove(
    account_id: int,
    subaccount_id: int | None,
    recipient: str,
    types: Collection[str],
    list_id: str | None = None,
) -> None:
    """Remove a recipient's entries of these types from one list (spec 4.8 rules 4 to 6).

    ``list_id`` narrows to the entry for a mailing list, or if empty to the account-wide ones.
    Raises 404 if there are none, and 403, and removes nothing, if one was added by compliance.
    """
    wanted = None if list_id is None else list_id.lower()

    def chosen(entry: Entry) -> bool:
        return entry.type in types and wanted in (None, entry.list_id.lower())

    scope = Scope(account_id, subaccount_id or PRIMARY)
    if not removal.remove(scope, recipient.lower(), chosen, by_customer=True):
        raise NotFound("Recipient could not be found")


def erase(scope: Scope, recipient: str, *, compliance: bool = False) -> int:
    """Remove all that the lists in a scope hold about a recipient; return how many entries.

    Those added by compliance stay, unless ``compliance`` is true.
    """

    def chosen(entry: Entry) -> bool:
        return compliance or entry.source != COMPLIANCE

    return removal.remove(scope, recipient.lower(), chosen, by_customer=False)
