"""Turn a pydantic ``ValidationError`` into the errors of this API (spec 7).

A missing field has code 1400 and everything else code 1300; missing fields come first. Types have
their JSON names. A field that may have one of several forms gives one error, not one per form.
The text of a validator's own ``ValueError`` is shown as it is, so it should name the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pydantic

from chalicelib.core.errors import ApiErrors, ServiceError, bad_format, missing_field

MAX_ERRORS = 100
_MAX_EXPANDED = 1000  # pydantic spends about 600 bytes on each error that it lists

_NEEDED = {
    "bool_type": "boolean",
    "dict_type": "object",
    "float_type": "number",
    "int_type": "number",
    "list_type": "array",
    "model_type": "object",
    "none_required": "null",
    "string_type": "string",
    "tuple_type": "array",
}

_Path = tuple[str | int, ...]


def from_validation(error: pydantic.ValidationError, data: Any) -> ServiceError:
    """Return the 422 with the violations in ``data``, the body that was validated."""
    if error.error_count() > _MAX_EXPANDED:
        return bad_format(f"the request body has {error.error_count()} errors")
    by_path: dict[_Path, list[Mapping[str, Any]]] = {}
    for detail in error.errors(include_url=False):
        by_path.setdefault(_path(detail, data), []).append(detail)
    outer = {path[:end] for path in by_path for end in range(len(path))}
    errors = [
        _as_error(path, form)
        for path, details in by_path.items()
        for form in _decisive(details, path in outer)
    ]
    errors.sort(key=lambda each: each.code != "1400")
    return ApiErrors(422, [entry for each in errors[:MAX_ERRORS] for entry in each.errors])


def _path(detail: Mapping[str, Any], data: Any) -> _Path:
    """Keep those steps of pydantic's location that are in ``data``: it also names union members."""
    missing = detail["type"] == "missing"
    path: list[str | int] = []
    for step in detail["loc"][:-1] if missing else detail["loc"]:
        if (isinstance(data, dict) and step in data) or (
            isinstance(data, list) and isinstance(step, int) and step < len(data)
        ):
            data = data[step]
            path.append(step)
    return (*path, detail["loc"][-1]) if missing else tuple(path)


def _decisive(details: list[Mapping[str, Any]], has_inner: bool) -> Iterator[Mapping[str, Any]]:
    """Drop the forms that a value did not try to have, and unite wrong types into one error."""
    wrong = [detail for detail in details if detail["type"] in _NEEDED]
    other = [detail for detail in details if detail["type"] not in _NEEDED]
    if other:
        yield other[0]
    elif not has_inner:
        needed = dict.fromkeys(_needed(detail) for detail in wrong)
        yield {**wrong[0], "needed": " or ".join(f"'{name}'" for name in needed)}


def _needed(detail: Mapping[str, Any]) -> str:
    if detail["type"] == "int_type" and isinstance(detail["input"], float):
        return "integer"
    return _NEEDED[detail["type"]]


def _as_error(path: _Path, detail: Mapping[str, Any]) -> Any:
    kind, context, name = detail["type"], detail.get("ctx", {}), _name(path)
    if kind == "missing":
        return missing_field(f"{name} is a required field")
    field = f"field '{name}'" if name else "the request body"
    return bad_format(_text(field, kind, detail, context))


def _text(field: str, kind: str, detail: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    value = detail["input"]
    if "needed" in detail:
        needed = detail["needed"]
        return f"{field} is of type '{_json_type(value)}', but needs to be of type {needed}"
    if kind in ("string_too_long", "too_long"):
        limit = context["max_length"]
        return f"{field} has length '{len(value)}', which is over the max length '{limit}'"
    if kind in ("string_too_short", "too_short"):
        limit = context["min_length"]
        return f"{field} has length '{len(value)}', which is under the min length '{limit}'"
    if kind == "literal_error":
        return f"{field} needs to be {context['expected']}"
    if kind == "value_error":
        return str(context["error"])
    return f"{field}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"


def _name(path: _Path) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")
