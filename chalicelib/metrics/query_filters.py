"""Read advanced filters, a JSON object of groups of comparisons (spec 4.11).

Filters are checked against ``SCHEMA``, which clients can read.
"""

from __future__ import annotations

import json
from typing import Any, Final

from chalicelib.core.errors import ApiErrors
from chalicelib.metrics.filters import Filter, Group, term
from chalicelib.metrics.model import BY_FILTER_KEY
from chalicelib.metrics.schema_check import Violation, violations

SHORTEST_SUBSTRING: Final = 3

_ANY = "OR"


def _texts(description: str, shortest: int = 0) -> dict[str, Any]:
    each = {"type": "string"} | ({"minLength": shortest} if shortest else {})
    return {"description": description, "type": "array", "minItems": 1, "items": each}


def _object(properties: dict[str, Any], **rules: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **rules}


SCHEMA: Final = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Query filters of metrics",
    **_object({"groupings": {"$ref": "#/$defs/groupings"}}, required=["groupings"]),
    "$defs": {
        "groupings": {
            "description": "Groups, all of which must hold",
            "type": "array",
            "items": {"$ref": "#/$defs/logicalOperators"},
        },
        "logicalOperators": _object(
            {"AND": {"$ref": "#/$defs/filters"}, _ANY: {"$ref": "#/$defs/filters"}},
            description="A group: all of its comparisons must hold, or any of them",
            minProperties=1,
            maxProperties=1,
        ),
        "filters": _object(
            {key: {"$ref": "#/$defs/comparators"} for key in BY_FILTER_KEY},
            description="Comparisons, by what is compared",
            minProperties=1,
        ),
        "comparators": _object(
            {
                "eq": _texts("Is one of these"),
                "notEq": _texts("Is none of these"),
                "like": _texts("Contains one of these", SHORTEST_SUBSTRING),
                "notLike": _texts("Contains none of these", SHORTEST_SUBSTRING),
            },
            minProperties=1,
        ),
    },
}


class _Repeated(ValueError):
    """A key occurs twice in one object."""


def parse(text: str) -> Filter:
    """Read advanced filters; raises 400 with every violation."""
    try:
        data = json.loads(text, object_pairs_hook=_object_of)
    except _Repeated as error:
        raise refusal([Violation("uniqueKeys", "", str(error))]) from None
    except (ValueError, RecursionError):
        raise refusal([Violation("type", "", "should be a JSON object")]) from None
    faults = violations(data, SCHEMA)
    if faults:
        raise refusal(faults)
    return Filter(tuple(_group(each) for each in data["groupings"]))


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Repeated(f"'{twice[:100]}' should occur once in its object")
    return members


def _group(data: dict[str, Any]) -> Group:
    ((operator, filters),) = data.items()
    terms = (
        term(filter_key, comparator, texts)
        for filter_key, comparators in filters.items()
        for comparator, texts in comparators.items()
    )
    return Group(tuple(terms), any=operator == _ANY)


def refusal(violations: list[Violation]) -> ApiErrors:
    """Return the error of filters with these violations.

    The specification does not say where these are, so they are both inside the error and at the
    top level.
    """
    details = [violation._asdict() for violation in violations]
    error = {
        "message": "invalid query_filters",
        "description": "; ".join(f"{v.dataPath} {v.message}".strip() for v in violations[:3]),
        "param": "query_filters",
        "validationErrors": details,
    }
    return ApiErrors(400, [error], extra={"validationErrors": details})
