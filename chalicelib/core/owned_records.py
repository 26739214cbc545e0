"""Store records that each owner has under ids of its own and that the primary account may share.

Templates and snippets have these keys and rules of visibility in common. An owner is the primary
account or a subaccount. A subaccount sees its own records and those that the primary account
shares; its own record hides a shared one with the same id. A reader of the whole account sees all
(spec 5.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.core.owner_keys import (
    OwnedKeys,
    account_partition,
    owned_items,
    owner_digits,
    owner_prefix,
)
from chalicelib.core.resource_ids import is_id
from chalicelib.core.scope import Scope

_config: Table[AnyItem] = Table("config")


class OwnedRecord(Protocol):
    """A record that an owner has."""

    @property
    def account_id(self) -> int:
        """The account that it belongs to."""

    @property
    def subaccount_id(self) -> int | None:
        """The subaccount that it belongs to, ``None`` for the primary account."""

    @property
    def id(self) -> str:
        """Its id, unique for its owner."""

    @property
    def shared(self) -> bool:
        """Whether all subaccounts may read it."""


Record = TypeVar("Record", bound=OwnedRecord)


@dataclass(frozen=True, slots=True)
class OwnedRecords(Generic[Record]):
    """The records of one kind, each in an item with the sort key ``<sort>#<owner>``.

    ``from_item`` reads a record from its item.
    """

    kind: str
    sort: str
    from_item: Callable[[AnyItem], Record]

    def partition(self, account_id: int, record_id: str) -> str:
        """Return the partition key of everything that an account has under an id."""
        return f"{self.kind}#{account_id}#{record_id}"

    def key(self, account_id: int, subaccount_id: int | None, record_id: str) -> tuple[str, str]:
        """Return the key of the item of one record."""
        return self.partition(account_id, record_id), f"{self.sort}#{owner_digits(subaccount_id)}"

    def keys_of(self, record: Record) -> OwnedKeys:
        """Return the key attributes of a record's item, those of the index among them."""
        pk, sk = self.key(record.account_id, record.subaccount_id, record.id)
        flag = "s" if record.shared else "-"
        return {
            "pk": pk,
            "sk": sk,
            "owner": account_partition(record.account_id, f"{self.kind}s"),
            "owner_key": f"{owner_digits(record.subaccount_id)}/{flag}/{record.id}",
        }

    def get(self, account_id: int, subaccount_id: int | None, record_id: str) -> Record | None:
        """Return the record that this owner has under the id, or ``None``."""
        if not is_id(record_id):
            return None
        item = _config.get(*self.key(account_id, subaccount_id, record_id))
        return self.from_item(item) if item else None

    def find(self, scope: Scope, record_id: str) -> Record | None:
        """Return the record that the id means to a reader in ``scope``, or ``None``.

        In a scope that spans the account the primary account's record comes first, then that of
        the subaccount with the lowest id.
        """
        if not is_id(record_id):
            return None
        if scope.spans:
            return self._first(scope.account_id, record_id)
        if scope.owner is None:
            return self.get(scope.account_id, None, record_id)
        keys = [self.key(scope.account_id, owner, record_id) for owner in (scope.owner, None)]
        records = {
            record.subaccount_id: record
            for record in map(self.from_item, _config.get_all(keys, consistent=True))
        }
        shared = records.get(None)
        return records.get(scope.owner) or (shared if shared and shared.shared else None)

    def in_scope(self, scope: Scope, shared: bool | None) -> Iterator[Record]:
        """Yield the records that a reader in ``scope`` sees; ``shared`` narrows to (un)shared."""
        if shared:
            yield from self._owned(scope.account_id, f"{owner_digits(None)}/s/")
            return
        own = set()
        for record in self._owned(scope.account_id, owner_prefix(scope, "/")):
            own.add(record.id)
            if shared is None or not record.shared:
                yield record
        if scope.owner is not None and shared is None:
            for record in self._owned(scope.account_id, f"{owner_digits(None)}/s/"):
                if record.id not in own:
                    yield record

    def _first(self, account_id: int, record_id: str) -> Record | None:
        page = _config.query(
            "#pk = :pk AND begins_with(#sk, :sort)",
            {"pk": self.partition(account_id, record_id), "sort": f"{self.sort}#"},
            limit=1,
            consistent=True,
        )
        return self.from_item(page.items[0]) if page.items else None

    def _owned(self, account_id: int, prefix: str) -> Iterator[Record]:
        return map(self.from_item, owned_items(_config, account_id, f"{self.kind}s", prefix))
