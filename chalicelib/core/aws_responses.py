"""Convert the JSON of AWS responses to the form in which botocore returns them, per operation.

Only operations of `PARSERS` can be prepared: for any other nobody says where its response holds
bytes, which travel in base64.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any

from chalicelib.core.item_parser import attribute_of
from chalicelib.core.json_types import Json

Parser = Callable[[Json], Json]


def _item(item: Json) -> Json:
    return {name: attribute_of(attribute) for name, attribute in item.items()}


def _items(items: list[Json]) -> list[Json]:
    return [_item(item) for item in items]


def _items_of_tables(tables: dict[str, list[Json]]) -> Json:
    return {table: _items(items) for table, items in tables.items()}


def _keys_of_tables(tables: dict[str, Json]) -> Json:
    return {table: {**part, "Keys": _items(part["Keys"])} for table, part in tables.items()}


def _writes_of_tables(tables: dict[str, list[Json]]) -> Json:
    return {table: [_write(request) for request in requests] for table, requests in tables.items()}


def _write(request: Json) -> Json:
    """Return a ``PutRequest`` with its ``Item``, or a ``DeleteRequest`` with its ``Key``."""
    return {
        kind: {name: _item(item) for name, item in part.items()} for kind, part in request.items()
    }


def _messages(messages: list[Json]) -> list[Json]:
    for message in messages:
        for attribute in message.get("MessageAttributes", {}).values():
            if "BinaryValue" in attribute:
                attribute["BinaryValue"] = b64decode(attribute["BinaryValue"])
    return messages


def _parser(**members: Callable[[Any], Any]) -> Parser:
    """Return a parser that converts these members, and drops those that are null."""

    def parse(response: Json) -> Json:
        return {
            name: members[name](value) if name in members else value
            for name, value in response.items()
            if value is not None
        }

    return parse


PARSERS: dict[str, Parser] = {
    "BatchGetItem": _parser(Responses=_items_of_tables, UnprocessedKeys=_keys_of_tables),
    "BatchWriteItem": _parser(UnprocessedItems=_writes_of_tables),
    "ChangeMessageVisibilityBatch": _parser(),
    "DeleteItem": _parser(Attributes=_item),
    "DeleteMessage": _parser(),
    "DeleteMessageBatch": _parser(),
    "GetItem": _parser(Item=_item),
    "PutItem": _parser(Attributes=_item),
    "Query": _parser(Items=_items, LastEvaluatedKey=_item),
    "ReceiveMessage": _parser(Messages=_messages),
    "SendMessage": _parser(),
    "SendMessageBatch": _parser(),
    "TransactWriteItems": _parser(),
    "UpdateItem": _parser(Attributes=_item),
}
