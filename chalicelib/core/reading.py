"""Reads that belong to one piece of work: each item is read once, and many come in one request.

A piece of work, such as a chunk of messages, asks the same things again and again, in various
places. It makes a :class:`Reads` for each table, and has what it can foresee read by
:func:`read_ahead`; whoever then asks through ``Reads`` causes a request only for the rest. What was
read holds for the piece of work, and the next one reads it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Item, Key, Table, TableKeys

#: What finds items by their keys: those that exist, by key
Read = Callable[[Iterable[Key]], Mapping[Key, Item]]

_config = Table("config")


def read_config(keys: Iterable[Key]) -> Mapping[Key, Item]:
    """Read items of the ``config`` table as they are now: what is asked where nothing is kept."""
    (found,) = dynamo.batch_get([TableKeys(_config, list(dict.fromkeys(keys)), consistent=True)])
    return found


class Reads:
    """The items of one table that a piece of work has read; calling it reads what is missing."""

    def __init__(self, table: Table, *, consistent: bool) -> None:
        self._table = table
        self._consistent = consistent
        self._known: dict[Key, Item | None] = {}

    def __call__(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Return the items that exist among ``keys``."""
        wanted = list(keys)
        read_ahead({self: wanted})
        return {key: item for key in wanted if (item := self._known[key])}

    def unread(self, keys: Iterable[Key]) -> TableKeys:
        """Return what would have to be read to know ``keys``."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._known]
        return TableKeys(self._table, missing, self._consistent)

    def learn(self, keys: Iterable[Key], found: Mapping[Key, Item]) -> None:
        """Take note of what was found of ``keys``; of the rest there is nothing."""
        self._known.update({key: found.get(key) for key in keys})


def config_reads() -> Reads:
    """Return the reads of one task in the ``config`` table; they see what was written before."""
    return Reads(_config, consistent=True)


def read_ahead(wanted: Mapping[Reads, Iterable[Key]]) -> None:
    """Read what is not known yet of the keys of several tables, in one request for 100 of them."""
    unread = {reads: reads.unread(keys) for reads, keys in wanted.items()}
    missing = {reads: each for reads, each in unread.items() if each.keys}
    if not missing:
        return
    found = dynamo.batch_get(list(missing.values()))
    for (reads, each), items in zip(missing.items(), found, strict=True):
        reads.learn(each.keys, items)
