"""Hold the query parameters of a request, and read those that several lists have.

A repeated parameter that takes a single value is refused.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chalicelib.core import cursors
from chalicelib.core.cursors import BadCursor
from chalicelib.core.errors import invalid_params

Query = Mapping[str, str]
"""Query parameters, decoded. A plain mapping is a query in which none is repeated."""

_LONGEST_NAME: Final = 100
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class QueryParameters(Query):
    """The query parameters of a request, any of which may be repeated.

    Reading the value of a repeated parameter raises 400, since a client that repeats it expects
    each value to count. ``items`` yields every value, so lists can be read from it, and parameters
    that no route reads are ignored (spec 1.5).
    """

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self.values_of = values

    def __getitem__(self, name: str) -> str:
        texts = self.values_of[name]
        if len(texts) > 1:
            text = f"{name[:_LONGEST_NAME]} takes one value, and the query has {len(texts)}"
            raise invalid_params(text, param=name[:_LONGEST_NAME])
        return texts[0]

    def __contains__(self, name: object) -> bool:
        return name in self.values_of

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_of)

    def __len__(self) -> int:
        return len(self.values_of)

    def items(self) -> ItemsView[str, str]:
        """Return all pairs of name and value; a repeated name is in several."""
        return _Pairs(self)


class _Pairs(ItemsView[str, str]):
    _mapping: QueryParameters

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for name, texts in self._mapping.values_of.items():
            for text in texts:
                yield name, text


def comma_list(query: Query, name: str) -> list[str]:
    """Read a comma-separated list, without blanks; empty when absent.

    A repeated parameter is one list: ``a=1&a=2,3`` means ``a=1,2,3``.
    """
    return _list(query, name, ",")


def delimited_list(query: Query, name: str) -> list[str]:
    """Read a list whose values are separated by the parameter ``delimiter``, a comma by default."""
    return _list(query, name, query.get("delimiter") or ",")


def with_cursor(query: Query, cursor: str) -> list[tuple[str, str]]:
    """Return the names and values of a query with another cursor, for the link to a page."""
    return [*((name, text) for name, text in query.items() if name != "cursor"), ("cursor", cursor)]


def time_ms(query: Query, name: str, default: int) -> int:
    """Read an ISO 8601 date in milliseconds; without an offset it is in UTC. Raises 400."""
    text = query.get(name)
    if not text:
        return default
    try:
        # A "+" that was not percent-encoded arrives as a blank
        moment = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        example = f"{name} must be a date such as 2026-01-31T09:05:00Z"
        raise invalid_params(example, param=name) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def position(cursor: str, purpose: str, binding: Any) -> list[Any]:
    """Return the position in a cursor (``core.cursors``); raises 400."""
    try:
        return cursors.decode(cursor, purpose, binding)
    except BadCursor as fault:
        raise invalid_params(str(fault), param="cursor") from None


def _list(query: Query, name: str, delimiter: str) -> list[str]:
    return [
        value
        for each, text in query.items()
        if each == name
        for part in text.split(delimiter)
        if (value := part.strip())
    ]
