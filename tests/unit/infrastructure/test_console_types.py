"""The types of what the API answers are current and say what its description says."""

from __future__ import annotations

from typing import Any

from infrastructure.console_types import console_types
from infrastructure.docs import CONSOLE_TYPES, types_of_answers


def types_for(schema: dict[str, Any], path: str = "/api/v1/things", **schemas: Any) -> str:
    content = {"application/json": {"schema": schema}}
    get = {"responses": {"200": {"description": "", "content": content}}}
    return console_types({"paths": {path: {"get": get}}, "components": {"schemas": schemas}})


def test_the_types_of_answers_are_current() -> None:
    assert CONSOLE_TYPES.read_text() == types_of_answers(), "run `make docs`"


def test_an_answer_has_the_members_that_the_description_names() -> None:
    properties = {
        "id": {"type": "string"},
        "count": {"type": ["integer", "null"]},
        "state": {"enum": ["on", "off"]},
        "two-words": {"type": "array", "items": {"anyOf": [{"type": "number"}, {}]}},
        "rest": {"type": "object"},
    }
    assert """    "api/v1/things": {
      id: string;
      count?: number | null;
      state?: "on" | "off";
      "two-words"?: Array<number | any>;
      rest?: Record<string, any>;
    };
""" in types_for({"type": "object", "properties": properties, "required": ["id"]})


def test_a_named_schema_is_a_type_of_its_own() -> None:
    types = types_for({"$ref": "#/components/schemas/Thing"}, Thing={"type": "boolean"})
    assert "  type Thing = boolean;\n" in types
    assert '    "api/v1/things": Thing;\n' in types


def test_a_path_with_a_parameter_has_no_type() -> None:
    assert "things" not in types_for({"type": "string"}, path="/api/v1/things/{id}")
