"""Add to the target's counters what the source has counted since the last copy."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.core.json_types import Json
from infrastructure.machine.moving.merge import CounterChange

#: Counters of metrics have the number of their last rollup. The target begins at 1.
_NO_ROLLUP: Mapping[str, Json] = {"metrics": {"seq": {"N": "0"}}}


def update_of(table: str, full_name: str, image: Json, change: CounterChange) -> Json:
    """Return the write that makes a change to the target's item with the keys of ``image``."""
    names: dict[str, str] = {}
    values: Json = {}

    def place(name: str, value: Json) -> tuple[str, str]:
        number = len(names)
        names[f"#a{number}"], values[f":a{number}"] = name, value
        return f"#a{number}", f":a{number}"

    sets = [f"{name} = {value}" for name, value in (place(*each) for each in change.sets.items())]
    first = change.first | _NO_ROLLUP.get(table, {})
    pairs = (place(*each) for each in first.items())
    sets += [f"{name} = if_not_exists({name}, {value})" for name, value in pairs]
    additions = [
        " ".join(place(name, {"N": f"{number:f}"})) for name, number in change.additions.items()
    ]
    expression = "SET " + ", ".join(sets) if sets else ""
    if additions:
        expression += " ADD " + ", ".join(additions)
    return {
        "Update": {
            "TableName": full_name,
            "Key": {"pk": image["pk"], "sk": image["sk"]},
            "UpdateExpression": expression.strip(),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
    }
