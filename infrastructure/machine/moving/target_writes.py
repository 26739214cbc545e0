"""Write items of the target on the condition that they are still as they were read."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from chalicelib.core.json_types import Json
from infrastructure.machine.moving.place import Place, key_of


def put(place: Place, table: str, item: Json, seen: Json | None) -> bool:
    """Put an item unless the one that was ``seen`` at its key has changed; tell whether it is."""
    return _happened(
        place.dynamodb.put_item, TableName=place.table(table), Item=item, **unchanged(seen)
    )


def delete(place: Place, table: str, seen: Json) -> bool:
    """Delete an item unless it has changed since it was seen; tell whether it is deleted."""
    key = key_of(seen["pk"]["S"], seen["sk"]["S"])
    return _happened(
        place.dynamodb.delete_item, TableName=place.table(table), Key=key, **unchanged(seen)
    )


def unchanged(seen: Json | None) -> dict[str, Any]:
    """Return the condition that an item is as it was seen, or that there is none."""
    if seen is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    names = sorted(seen)
    return {
        "ConditionExpression": " AND ".join(
            f"#a{place} = :a{place}" for place in range(len(names))
        ),
        "ExpressionAttributeNames": {f"#a{place}": name for place, name in enumerate(names)},
        "ExpressionAttributeValues": {f":a{place}": seen[name] for place, name in enumerate(names)},
    }


def raise_to(place: Place, table: str, item: Json, attribute: str) -> None:
    """Let an item have this number, unless the one there has a higher one."""
    _raise(place, table, item, attribute, "attribute_not_exists(#number) OR #number < :number")


def raise_present(place: Place, table: str, item: Json, attribute: str) -> None:
    """Do the same as :func:`raise_to` if the target has the item."""
    lower = "(attribute_not_exists(#number) OR #number < :number)"
    _raise(place, table, item, attribute, f"attribute_exists(pk) AND {lower}")


def _raise(place: Place, table: str, item: Json, attribute: str, condition: str) -> None:
    _happened(
        place.dynamodb.update_item,
        TableName=place.table(table),
        Key=key_of(item["pk"]["S"], item["sk"]["S"]),
        UpdateExpression="SET #number = :number",
        ConditionExpression=condition,
        ExpressionAttributeNames={"#number": attribute},
        ExpressionAttributeValues={":number": item[attribute]},
    )


def add_members(place: Place, table: str, item: Json) -> None:
    """Add the members of each set of an item to the target's; set its other attributes."""
    names = sorted(set(item) - {"pk", "sk"})
    sets = [name for name in names if "SS" in item[name]]
    others = [name for name in names if name not in sets]
    numbers = {name: number for number, name in enumerate(names)}
    clauses = []
    if others:
        parts = (f"#a{numbers[name]} = :a{numbers[name]}" for name in others)
        clauses.append("SET " + ", ".join(parts))
    if sets:
        clauses.append("ADD " + ", ".join(f"#a{numbers[name]} :a{numbers[name]}" for name in sets))
    place.dynamodb.update_item(
        TableName=place.table(table),
        Key=key_of(item["pk"]["S"], item["sk"]["S"]),
        UpdateExpression=" ".join(clauses),
        ExpressionAttributeNames={f"#a{number}": name for name, number in numbers.items()},
        ExpressionAttributeValues={f":a{number}": item[name] for name, number in numbers.items()},
    )


def _happened(request: Any, **arguments: Any) -> bool:
    try:
        request(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
            return False
        raise
    return True
