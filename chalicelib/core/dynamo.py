"""Tables: items in and out as plain dictionaries, batches filled, failures told apart.

Values map as DynamoDB maps them: ``str``, ``bytes``, ``bool``, ``None``, numbers (``int`` or
``float`` in, ``int`` or ``float`` out), lists, dictionaries and sets of strings. A failed condition
raises :class:`ConditionFailed`, which carries the item that stood in the way.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.aws import Overloaded
from chalicelib.core.settings import settings

Item = dict[str, Any]
#: ``pk`` and ``sk`` of an item
Key = tuple[str, str]

WRITE_BATCH = 25
READ_BATCH = 100
MOST_PK_BYTES = 2048
MOST_SK_BYTES = 1024

_NAME = re.compile(r"#(\w+)")
# Why a transaction is cancelled that succeeds a moment later
_PASSING = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


class ConditionFailed(Exception):
    """A conditional write found the table in another state; ``item`` is what it found."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("condition failed")
        self.item = item


class TransactionFailed(Exception):
    """A transaction was cancelled; ``failed`` holds the positions whose condition failed."""

    def __init__(self, failed: list[int]) -> None:
        super().__init__(f"conditions failed at {failed}")
        self.failed = failed


def encode(value: Any) -> dict[str, Any]:
    """Return ``value`` in DynamoDB's typed form."""
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, float):
        return {"N": repr(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, Mapping):
        return {"M": {name: encode(inner) for name, inner in value.items()}}
    if isinstance(value, set | frozenset):
        return {"SS": sorted(value)}
    return {"L": [encode(inner) for inner in value]}


def decode(value: Mapping[str, Any]) -> Any:
    """Return the plain value of DynamoDB's typed form."""
    ((kind, inner),) = value.items()
    if kind == "N":
        return int(inner) if inner.lstrip("-").isdigit() else float(inner)
    if kind == "M":
        return {name: decode(each) for name, each in inner.items()}
    if kind == "L":
        return [decode(each) for each in inner]
    if kind == "SS":
        return set(inner)
    if kind == "NULL":
        return None
    return inner


def encode_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a whole item in typed form."""
    return {name: encode(value) for name, value in item.items()}


def decode_item(item: Mapping[str, Any]) -> Item:
    """Return a whole item as plain values."""
    return {name: decode(value) for name, value in item.items()}


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a query: its items and where the next page starts (``None`` at the end)."""

    items: list[Item]
    next_key: Item | None
    count: int = 0


def _names_in(*texts: str) -> dict[str, str]:
    return {f"#{name}": name for text in texts for name in _NAME.findall(text)}


def _clauses(values: Mapping[str, Any], *texts: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    names = _names_in(*texts)
    if names:
        arguments["ExpressionAttributeNames"] = names
    if values:
        arguments["ExpressionAttributeValues"] = {
            f":{name}": encode(value) for name, value in values.items()
        }
    return arguments


class Table:
    """One table, by its short name (``config``, ``messages``, ...)."""

    def __init__(self, short_name: str) -> None:
        self.short_name = short_name

    @property
    def name(self) -> str:
        """Return the table's full name."""
        return settings().table(self.short_name)

    def get(self, pk: str, sk: str, *, consistent: bool = True) -> Item | None:
        """Return the item at ``pk``, ``sk``, or ``None``."""
        if not _is_key(pk, sk):
            return None
        found = aws.dynamodb().get_item(
            TableName=self.name,
            Key=encode_item({"pk": pk, "sk": sk}),
            ConsistentRead=consistent,
        )
        return decode_item(found["Item"]) if "Item" in found else None

    def put(
        self, item: Item, *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> None:
        """Write ``item``; with a ``condition``, raise :class:`ConditionFailed` unless it holds."""
        arguments: dict[str, Any] = {"TableName": self.name, "Item": encode_item(item)}
        if condition:
            arguments |= {"ConditionExpression": condition} | _clauses(values or {}, condition)
            arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        _conditional(aws.dynamodb().put_item, arguments)

    def create(self, item: Item) -> None:
        """Write ``item`` if nothing is at its key, else raise :class:`ConditionFailed`."""
        self.put(item, condition="attribute_not_exists(#pk)")

    def update(
        self,
        pk: str,
        sk: str,
        change: str,
        *,
        values: Mapping[str, Any] | None = None,
        condition: str = "",
    ) -> Item:
        """Apply the update expression ``change`` and return the item as it then is.

        Names are written ``#name`` and values ``:value``. Raises :class:`ConditionFailed`.
        """
        arguments: dict[str, Any] = {
            "TableName": self.name,
            "Key": encode_item({"pk": pk, "sk": sk}),
            "UpdateExpression": change,
            "ReturnValues": "ALL_NEW",
        }
        if condition:
            arguments["ConditionExpression"] = condition
            arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        arguments |= _clauses(values or {}, change, condition)
        return decode_item(_conditional(aws.dynamodb().update_item, arguments)["Attributes"])

    def delete(
        self, pk: str, sk: str, *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> Item | None:
        """Delete an item and return what it was; raises :class:`ConditionFailed`."""
        arguments: dict[str, Any] = {
            "TableName": self.name,
            "Key": encode_item({"pk": pk, "sk": sk}),
            "ReturnValues": "ALL_OLD",
        }
        if condition:
            arguments |= {"ConditionExpression": condition} | _clauses(values or {}, condition)
            arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        gone = _conditional(aws.dynamodb().delete_item, arguments)
        return decode_item(gone["Attributes"]) if gone.get("Attributes") else None

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
    ) -> Page:
        """Return one page of the items under the key condition ``key``, whose partition is ``:pk``.

        For an index its key may have any name.
        """
        if not _is_key(values.get("pk", ""), ""):
            return Page([], None)
        arguments: dict[str, Any] = {
            "TableName": self.name,
            "KeyConditionExpression": key,
            "ScanIndexForward": not newest_first,
        } | _clauses(values, key)
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
        found = aws.dynamodb().query(**arguments)
        last = found.get("LastEvaluatedKey")
        return Page(
            [decode_item(item) for item in found.get("Items", [])],
            decode_item(last) if last else None,
            found["Count"],
        )

    def query_all(self, key: str, values: Mapping[str, Any], **options: Any) -> Iterator[Item]:
        """Yield every item under the key condition, page by page."""
        start: Item | None = None
        while True:
            page = self.query(key, values, start=start, **options)
            yield from page.items
            if page.next_key is None:
                return
            start = page.next_key

    def write_all(self, items: Sequence[Item], *, delete: Sequence[tuple[str, str]] = ()) -> None:
        """Write and delete many items in batches of 25; what AWS leaves over is sent again."""
        requests: list[Any] = [{"PutRequest": {"Item": encode_item(item)}} for item in items]
        requests += [
            {"DeleteRequest": {"Key": encode_item({"pk": pk, "sk": sk})}} for pk, sk in delete
        ]
        for start in range(0, len(requests), WRITE_BATCH):
            pending: Any = {self.name: requests[start : start + WRITE_BATCH]}
            for pause in _pauses():
                pending = aws.dynamodb().batch_write_item(RequestItems=pending)["UnprocessedItems"]
                if not pending:
                    break
                time.sleep(pause)
            else:
                raise Overloaded(f"{self.name}: writes were refused for too long")

    def get_all(self, keys: Iterable[Key], *, consistent: bool = False) -> list[Item]:
        """Return the items that exist among ``keys`` (no duplicates), 100 a request, unordered."""
        (found,) = read_together([Wanted(self, list(keys), consistent)])
        return list(found.values())


@dataclass(frozen=True, slots=True)
class Wanted:
    """Items of one table that are wanted, by their keys (no duplicates)."""

    table: Table
    keys: Sequence[Key]
    consistent: bool = False


def read_together(wanted: Sequence[Wanted]) -> list[dict[Key, Item]]:
    """Return for each of ``wanted``, which name a table each, the items that exist: 100 a request.

    They need not be of one table: what a step has to know costs one request, wherever it is kept.
    """
    places = [(each, key) for each in wanted for key in each.keys if _is_key(*key)]
    found: dict[str, dict[Key, Item]] = {each.table.name: {} for each in wanted}
    for start in range(0, len(places), READ_BATCH):
        for table, item in _read_batch(places[start : start + READ_BATCH]):
            found[table][item["pk"], item["sk"]] = item
    return [found[each.table.name] for each in wanted]


def _is_key(pk: str, sk: str) -> bool:
    """Tell whether an item can have this key. DynamoDB refuses to look for any other one.

    People ask for anything by its id, so what cannot be is not there, as what is not.
    """
    try:
        return len(pk.encode()) <= MOST_PK_BYTES and len(sk.encode()) <= MOST_SK_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _read_batch(places: Sequence[tuple[Wanted, Key]]) -> Iterator[tuple[str, Item]]:
    """Yield the items of at most 100 places, each with the name of its table."""
    pending: Any = {}
    for each, (pk, sk) in places:
        batch = pending.setdefault(each.table.name, {"Keys": []})
        batch["Keys"].append(encode_item({"pk": pk, "sk": sk}))
        if each.consistent:
            batch["ConsistentRead"] = True
    for pause in _pauses():
        answer: Any = aws.dynamodb().batch_get_item(RequestItems=pending)
        for table, items in answer["Responses"].items():
            yield from ((table, decode_item(item)) for item in items)
        pending = answer["UnprocessedKeys"]
        if not pending:
            return
        time.sleep(pause)
    raise Overloaded(f"{', '.join(pending)}: reads were refused for too long")


def _pauses() -> Iterator[float]:
    """Yield growing pauses (seconds) for work that AWS left over: about 6 s in all.

    They differ, so that those who got into each other's way do not meet again.
    """
    for power in range(8):
        yield 0.025 * 2**power * random.uniform(0.5, 1.5)


def _conditional(call: Any, arguments: dict[str, Any]) -> Any:
    try:
        return call(**arguments)
    except ClientError as error:
        answer: Any = error.response
        if answer["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        item = answer.get("Item")
        raise ConditionFailed(decode_item(item) if item else None) from None


@dataclass(frozen=True, slots=True)
class Write:
    """One action of a transaction; make it with :func:`put`, :func:`change` or :func:`remove`."""

    action: str
    arguments: dict[str, Any]


def put(
    table: Table, item: Item, *, condition: str = "", values: Mapping[str, Any] | None = None
) -> Write:
    """Return the transaction's action that writes ``item``."""
    arguments: dict[str, Any] = {"TableName": table.name, "Item": encode_item(item)}
    if condition:
        arguments |= {"ConditionExpression": condition} | _clauses(values or {}, condition)
    return Write("Put", arguments)


def change(
    table: Table,
    pk: str,
    sk: str,
    expression: str,
    *,
    values: Mapping[str, Any] | None = None,
    condition: str = "",
) -> Write:
    """Return the transaction's action that updates one item."""
    arguments: dict[str, Any] = {
        "TableName": table.name,
        "Key": encode_item({"pk": pk, "sk": sk}),
        "UpdateExpression": expression,
    } | _clauses(values or {}, expression, condition)
    if condition:
        arguments["ConditionExpression"] = condition
    return Write("Update", arguments)


def remove(
    table: Table,
    pk: str,
    sk: str,
    *,
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> Write:
    """Return the transaction's action that deletes one item."""
    arguments: dict[str, Any] = {
        "TableName": table.name,
        "Key": encode_item({"pk": pk, "sk": sk}),
    }
    if condition:
        arguments |= {"ConditionExpression": condition} | _clauses(values or {}, condition)
    return Write("Delete", arguments)


def transact(writes: Sequence[Write], *, token: str | None = None) -> None:
    """Apply up to 100 actions, all or none; raises :class:`TransactionFailed`.

    A ``token`` makes a repeat of the same actions within ten minutes succeed without effect.
    """
    arguments: dict[str, Any] = {
        "TransactItems": [{write.action: write.arguments} for write in writes]
    }
    if token:
        arguments["ClientRequestToken"] = token
    for pause in _pauses():
        try:
            aws.dynamodb().transact_write_items(**arguments)
            return
        except ClientError as error:
            if error.response["Error"]["Code"] != "TransactionCanceledException":
                raise
            reasons = [r.get("Code") for r in error.response.get("CancellationReasons", [])]
            failed = [i for i, code in enumerate(reasons) if code == "ConditionalCheckFailed"]
            if failed:
                raise TransactionFailed(failed) from None
            if not _PASSING.intersection(reasons):
                raise
            time.sleep(pause)
    raise Overloaded("a transaction met conflicts or throttling for too long")


def transacted(writes: Sequence[Write]) -> bool:
    """Apply up to 100 actions, all or none; return ``False`` if a condition does not hold."""
    try:
        transact(writes)
    except TransactionFailed:
        return False
    return True
