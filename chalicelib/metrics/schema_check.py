"""Check data against a JSON Schema, with the keywords that the schema of filters uses.

These keywords of draft-07 are supported: ``$ref`` within the schema, ``type``, ``required``,
``properties``, ``additionalProperties: false``, ``minProperties``, ``maxProperties``, ``items``,
``minItems`` and ``minLength``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from chalicelib.core.json_types import Json

_TYPES = {"object": dict, "array": list, "string": str}


class Violation(NamedTuple):
    """A rule that the data break: its keyword, the path of the data, and a text."""

    keyword: str
    dataPath: str
    message: str


def violations(data: Any, schema: Json) -> list[Violation]:
    """Return every violation, in the order of the data."""
    return list(_check(data, schema, schema, ""))


def _check(data: Any, schema: Json, root: Json, path: str) -> Iterator[Violation]:
    schema = _resolved(schema, root)
    kind = schema["type"]
    if not isinstance(data, _TYPES[kind]):
        yield Violation("type", path, f"should be {kind}")
        return
    yield from _sizes(data, schema, path)
    if isinstance(data, dict):
        yield from _members(data, schema, root, path)
    elif isinstance(data, list):
        for i, each in enumerate(data):
            yield from _check(each, schema["items"], root, f"{path}[{i}]")


def _resolved(schema: Json, root: Json) -> Json:
    while "$ref" in schema:
        reference = schema["$ref"]
        schema = root
        for name in reference.removeprefix("#/").split("/"):
            schema = schema[name]
    return schema


def _sizes(data: Any, schema: Json, path: str) -> Iterator[Violation]:
    for keyword, noun in (
        ("Properties", "properties"),
        ("Items", "items"),
        ("Length", "characters"),
    ):
        if len(data) < schema.get(f"min{keyword}", 0):
            least = schema[f"min{keyword}"]
            yield Violation(f"min{keyword}", path, f"should have at least {least} {noun}")
        if len(data) > schema.get(f"max{keyword}", len(data)):
            most = schema[f"max{keyword}"]
            yield Violation(f"max{keyword}", path, f"should have at most {most} {noun}")


def _members(data: Mapping[str, Any], schema: Json, root: Json, path: str) -> Iterator[Violation]:
    for name in schema.get("required", ()):
        if name not in data:
            yield Violation("required", path, f"should have required property '{name}'")
    properties = schema["properties"]
    for name, value in data.items():
        if name in properties:
            yield from _check(value, properties[name], root, f"{path}.{name}")
        elif schema.get("additionalProperties") is False:
            text = f"should not have the property '{name[:100]}'"
            yield Violation("additionalProperties", path, text)
