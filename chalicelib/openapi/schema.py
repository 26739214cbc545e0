"""Build JSON Schemas of requests and responses.

A keyword argument that is a word of Python has an underscore at its end (``from_``), which is
dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from chalicelib.core.fields import Body
from chalicelib.core.json_types import Json

ANY: Json = {}


class Maybe(NamedTuple):
    """A field of a :func:`record` that is not always there."""

    schema: Json


def text(
    *,
    least: int | None = None,
    most: int | None = None,
    pattern: str | None = None,
    about: str | None = None,
) -> Json:
    """Describe a string; ``least`` and ``most`` count characters."""
    return _schema("string", minLength=least, maxLength=most, pattern=pattern, description=about)


def one_of(values: Iterable[str]) -> Json:
    """Describe a string that is one of ``values``."""
    return {"type": "string", "enum": list(values)}


def email() -> Json:
    """Describe an email address."""
    return {"type": "string", "format": "email"}


def identifier() -> Json:
    """Describe an id that a caller may choose."""
    return text(pattern=r"^[A-Za-z0-9_.-]{1,64}$")


def moment() -> Json:
    """Describe a date and time with an offset (RFC 3339)."""
    return {"type": "string", "format": "date-time"}


def integer(low: int | None = None, high: int | None = None) -> Json:
    """Describe an integer."""
    return _schema("integer", minimum=low, maximum=high)


def number(low: float | None = None, high: float | None = None) -> Json:
    """Describe a number."""
    return _schema("number", minimum=low, maximum=high)


def flag() -> Json:
    """Describe a boolean."""
    return {"type": "boolean"}


def array(of: Json, *, least: int | None = None, most: int | None = None) -> Json:
    """Describe an array."""
    return _schema("array", items=of, minItems=least, maxItems=most)


def mapping(of: Json = ANY) -> Json:
    """Describe an object with any keys, whose values have one schema."""
    return {"type": "object", "additionalProperties": of} if of else {"type": "object"}


def preview_data() -> Json:
    """Describe the data of previews, which is stored beside content."""
    return mapping() | {"description": "Substitution data for previews, beside the content"}


def obj(*required: str, **fields: Json) -> Json:
    """Describe an object with these fields, some of them required."""
    properties = {name.removesuffix("_"): each for name, each in fields.items()}
    schema: Json = {"type": "object", "properties": properties}
    return schema | ({"required": list(required)} if required else {})


def record(**fields: Json | Maybe) -> Json:
    """Describe an object that always has all fields except those that are ``Maybe``."""
    required = [name for name, each in fields.items() if not isinstance(each, Maybe)]
    schemas = {n: each.schema if isinstance(each, Maybe) else each for n, each in fields.items()}
    return obj(*(name.removesuffix("_") for name in required), **schemas)


def nullable(schema: Json) -> Json:
    """Describe a value that may be null instead."""
    return schema | {"type": [schema["type"], "null"]}


def either(*schemas: Json) -> Json:
    """Describe a value that has one of several forms."""
    return {"anyOf": list(schemas)}


def ref(name: str) -> Json:
    """Refer to a schema of the document's components."""
    return {"$ref": f"#/components/schemas/{name}"}


def of_model(model: type[Body], *required: str, **replaced: Json) -> Json:
    """Describe a body by the model that checks it.

    ``required`` are fields that the code after the model requires; ``replaced`` describes fields
    more exactly than their types do.
    """
    generated = model.model_json_schema()
    schema = _plain(generated, generated.get("$defs", {}))
    properties = schema["properties"] | replaced
    needed = list(dict.fromkeys([*schema.get("required", []), *required]))
    return {"type": "object", "properties": properties} | ({"required": needed} if needed else {})


def _schema(kind: str, **keywords: Any) -> Json:
    return {"type": kind} | {name: value for name, value in keywords.items() if value is not None}


def _plain(generated: Any, definitions: Mapping[str, Any]) -> Any:
    """Return pydantic's schema with its definitions in place, without titles and descriptions."""
    if not isinstance(generated, dict):
        return generated
    if "$ref" in generated:
        return _plain(definitions[generated["$ref"].rpartition("/")[2]], definitions)
    if forms := generated.get("anyOf"):
        return _of_forms([_plain(each, definitions) for each in forms])
    schema = {
        name: value
        for name, value in generated.items()
        if name not in ("title", "description", "default", "$defs", "properties")
    }
    if "items" in schema:
        schema["items"] = _plain(schema["items"], definitions)
    if schema.get("additionalProperties") is True:
        del schema["additionalProperties"]
    elif "additionalProperties" in schema:
        schema["additionalProperties"] = _plain(schema["additionalProperties"], definitions)
    if "properties" in generated:
        schema["properties"] = {
            name: _plain(value, definitions) for name, value in generated["properties"].items()
        }
    return schema


def _of_forms(forms: list[Json]) -> Json:
    """Return one of several forms; a form or null is written in the short way."""
    others = [each for each in forms if each != {"type": "null"}]
    if len(others) == 1 and len(forms) == 2 and isinstance(others[0].get("type"), str):
        return nullable(others[0]) if "enum" not in others[0] else either(*forms)
    return either(*forms)
