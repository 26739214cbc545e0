"""Convert plain values to DynamoDB's typed form and back.

``str``, ``bytes``, ``bool``, ``None``, numbers (``int`` or ``float``), lists, mappings and sets of
strings go in; the same come out, with a tuple as a list and a frozen set as a set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.core.dynamo.items import AnyItem

MOST_PK_BYTES = 2048
MOST_SK_BYTES = 1024


_NAME = re.compile(r"#(\w+)")


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
    """Return an item with its values in typed form."""
    return {name: encode(value) for name, value in item.items()}


def decode_item(item: Mapping[str, Any]) -> AnyItem:
    """Return an item with plain values, as a dictionary."""
    return {name: decode(value) for name, value in item.items()}


def attributes_of(item: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those attributes that an item has among ``names``."""
    return {name: item[name] for name in names if name in item}


def encode_key(pk: str, sk: str) -> dict[str, Any]:
    """Return the key of an item in typed form."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def expression_arguments(values: Mapping[str, Any], *expressions: str) -> dict[str, Any]:
    """Return the request arguments that define the ``#names`` and ``:values`` of expressions."""
    arguments: dict[str, Any] = {}
    names = {f"#{name}": name for text in expressions for name in _NAME.findall(text)}
    if names:
        arguments["ExpressionAttributeNames"] = names
    if values:
        arguments["ExpressionAttributeValues"] = {
            f":{name}": encode(value) for name, value in values.items()
        }
    return arguments


def is_key(pk: str, sk: str) -> bool:
    """Tell whether DynamoDB can hold an item with this key; it refuses to read any other key.

    Clients may ask for any id, so a key that DynamoDB cannot hold counts as not found.
    """
    try:
        return len(pk.encode()) <= MOST_PK_BYTES and len(sk.encode()) <= MOST_SK_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
