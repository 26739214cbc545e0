"""Read and write the items of one table as plain dictionaries.

A store has a :class:`Table` for each kind of item that it keeps, with the class that declares it.

A conditional write whose condition fails raises :class:`ConditionFailed`, which carries the stored
item. In expressions, names are written ``#name`` and values ``:value``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.dynamo.batches import read_batches, write_batches
from chalicelib.core.dynamo.codec import (
    decode_item,
    encode_item,
    encode_key,
    expression_arguments,
    is_key,
)
from chalicelib.core.dynamo.conflicts import ConditionFailed
from chalicelib.core.dynamo.items import AnyItem, Item, ItemT, Key
from chalicelib.core.settings import settings


@dataclass(frozen=True, slots=True)
class ItemPage(Generic[ItemT]):
    """One page of a query: its items and where the next page starts (``None`` at the end)."""

    items: list[ItemT]
    next_key: Item | None
    count: int = 0


class Table(Generic[ItemT]):
    """The items of one kind in a table, by its short name (``config``, ``messages``, ...)."""

    def __init__(self, short_name: str) -> None:
        self.short_name = short_name

    @property
    def name(self) -> str:
        """Return the table's full name."""
        return settings().table(self.short_name)

    def get(self, pk: str, sk: str, *, consistent: bool = True) -> ItemT | None:
        """Return the item at ``pk``, ``sk``, or ``None``."""
        if not is_key(pk, sk):
            return None
        response = aws.dynamodb().get_item(
            TableName=self.name, Key=encode_key(pk, sk), ConsistentRead=consistent
        )
        return decode_item(response["Item"]) if "Item" in response else None

    def put(
        self, item: ItemT, *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> None:
        """Write ``item``; with a ``condition``, raise :class:`ConditionFailed` unless it holds."""
        arguments: dict[str, Any] = {"TableName": self.name, "Item": encode_item(item)}
        arguments |= _condition_arguments(condition, values)
        _conditional(aws.dynamodb().put_item, arguments)

    def create(self, item: ItemT) -> None:
        """Write ``item`` if nothing is at its key, else raise :class:`ConditionFailed`."""
        self.put(item, condition="attribute_not_exists(#pk)")

    def update(
        self,
        pk: str,
        sk: str,
        expression: str,
        *,
        values: Mapping[str, Any] | None = None,
        condition: str = "",
    ) -> ItemT:
        """Apply an update expression and return the updated item.

        Raises :class:`ConditionFailed`.
        """
        arguments: dict[str, Any] = {
            "TableName": self.name,
            "Key": encode_key(pk, sk),
            "UpdateExpression": expression,
            "ReturnValues": "ALL_NEW",
        }
        arguments |= _condition_arguments(condition, None)
        arguments |= expression_arguments(values or {}, expression, condition)
        return decode_item(_conditional(aws.dynamodb().update_item, arguments)["Attributes"])

    def delete(
        self, pk: str, sk: str, *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> ItemT | None:
        """Delete an item and return it; raises :class:`ConditionFailed`."""
        arguments: dict[str, Any] = {
            "TableName": self.name,
            "Key": encode_key(pk, sk),
            "ReturnValues": "ALL_OLD",
        }
        arguments |= _condition_arguments(condition, values)
        response = _conditional(aws.dynamodb().delete_item, arguments)
        return decode_item(response["Attributes"]) if response.get("Attributes") else None

    def query(
        self,
        key: str,
        values: Mapping[str, Any],
        *,
        index: str = "",
        newest_first: bool = False,
        limit: int | None = None,
        start: Item | None = None,
        only_count: bool = False,
        consistent: bool = False,
    ) -> ItemPage[ItemT]:
        """Return one page of the items under the key condition ``key``, whose partition is ``:pk``.

        The partition key of an index may have any name.
        """
        if not is_key(values.get("pk", ""), ""):
            return ItemPage([], None)
        arguments: dict[str, Any] = {
            "TableName": self.name,
            "KeyConditionExpression": key,
            "ScanIndexForward": not newest_first,
        } | expression_arguments(values, key)
        if index:
            arguments["IndexName"] = index
        if consistent:
            arguments["ConsistentRead"] = True
        if limit:
            arguments["Limit"] = limit
        if start:
            arguments["ExclusiveStartKey"] = encode_item(start)
        if only_count:
            arguments["Select"] = "COUNT"
        response = aws.dynamodb().query(**arguments)
        next_key = response.get("LastEvaluatedKey")
        return ItemPage(
            [decode_item(item) for item in response.get("Items", [])],
            decode_item(next_key) if next_key else None,
            response["Count"],
        )

    def query_all(self, key: str, values: Mapping[str, Any], **options: Any) -> Iterator[ItemT]:
        """Yield every item under the key condition, page by page."""
        start: Item | None = None
        while True:
            page = self.query(key, values, start=start, **options)
            yield from page.items
            if page.next_key is None:
                return
            start = page.next_key

    def write_all(self, items: Sequence[ItemT], *, delete: Sequence[Key] = ()) -> None:
        """Write and delete many items, 25 a request, without conditions."""
        deletions = [(self.name, key) for key in delete]
        write_batches([(self.name, item) for item in items], deletions)

    def get_all(self, keys: Iterable[Key], *, consistent: bool = False) -> list[ItemT]:
        """Return the items that exist among ``keys`` (no duplicates), 100 a request, unordered."""
        (items,) = batch_get([TableKeys(self, list(keys), consistent)])
        return list(items.values())


@dataclass(frozen=True, slots=True)
class TableKeys:
    """Keys of items to read from one table (no duplicates)."""

    table: Table[Any]
    keys: Sequence[Key]
    consistent: bool = False


#: An item with the table that it is written to
TableItem = tuple[Table[Any], Mapping[str, Any]]


def write_all(items: Sequence[TableItem]) -> None:
    """Write items of any tables, 25 a request, without conditions and in their order."""
    write_batches([(table.name, item) for table, item in items], [])


def batch_get(requests: Sequence[TableKeys]) -> list[dict[Key, AnyItem]]:
    """Return for each of ``requests``, each of another table, the items that exist.

    A request to DynamoDB holds 100 keys of any tables, so reading from several tables costs one.
    """
    names = [request.table.name for request in requests]
    keys = [
        (name, key)
        for name, request in zip(names, requests, strict=True)
        for key in request.keys
        if is_key(*key)
    ]
    consistent = {name: each.consistent for name, each in zip(names, requests, strict=True)}
    items: dict[str, dict[Key, AnyItem]] = {name: {} for name in names}
    for name, item in read_batches(keys, consistent):
        items[name][item["pk"], item["sk"]] = item
    return [items[name] for name in names]


def _condition_arguments(condition: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a condition; a failure returns the stored item."""
    if not condition:
        return {}
    return {
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    } | expression_arguments(values or {}, condition)


def _conditional(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        return call(**arguments)
    except ClientError as error:
        response: Any = error.response
        if response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        item = response.get("Item")
        raise ConditionFailed(decode_item(item) if item else None) from None
