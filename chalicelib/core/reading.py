"""Read items for one piece of work: each item once, and many in one request.

A piece of work, such as a chunk of messages, needs the same items in several places. It makes a
:class:`Reads` for each table and reads the keys that it can foresee with :func:`read_ahead`; a
later read through ``Reads`` makes a request only for the rest. Items are kept for this piece of
work only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from chalicelib.core import dynamo
from chalicelib.core.dynamo import AnyItem, Key, Table, TableKeys

#: Reads items by their keys; returns those that exist, by key
Read = Callable[[Iterable[Key]], Mapping[Key, AnyItem]]

_config: Table[AnyItem] = Table("config")


def read_config(keys: Iterable[Key]) -> Mapping[Key, AnyItem]:
    """Read items of the ``config`` table as they are now, without keeping them."""
    (items,) = dynamo.batch_get([TableKeys(_config, list(dict.fromkeys(keys)), consistent=True)])
    return items


class Reads:
    """The items of one table that a piece of work has read; a call reads missing ones."""

    def __init__(self, table: Table[AnyItem], *, consistent: bool) -> None:
        self._table = table
        self._consistent = consistent
        self._items: dict[Key, AnyItem | None] = {}

    def __call__(self, keys: Iterable[Key]) -> dict[Key, AnyItem]:
        """Return the items that exist among ``keys``."""
        keys = list(keys)
        read_ahead({self: keys})
        return {key: item for key in keys if (item := self._items[key])}

    def unread(self, keys: Iterable[Key]) -> TableKeys:
        """Return those of ``keys`` that have not been read."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._items]
        return TableKeys(self._table, missing, self._consistent)

    def learn(self, keys: Iterable[Key], items: Mapping[Key, AnyItem]) -> None:
        """Keep the items that were read for ``keys``; the other keys have no item."""
        self._items.update({key: items.get(key) for key in keys})


def config_reads() -> Reads:
    """Return the reads of one task in the ``config`` table; they see what was written before."""
    return Reads(_config, consistent=True)


def read_ahead(keys_of: Mapping[Reads, Iterable[Key]]) -> None:
    """Read the keys of several tables that have not been read, 100 a request."""
    unread = {reads: reads.unread(keys) for reads, keys in keys_of.items()}
    missing = {reads: each for reads, each in unread.items() if each.keys}
    if not missing:
        return
    results = dynamo.batch_get(list(missing.values()))
    for (reads, each), items in zip(missing.items(), results, strict=True):
        reads.learn(each.keys, items)
