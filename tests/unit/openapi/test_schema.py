"""Constructors of JSON Schemas."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic

from chalicelib.core.fields import Body
from chalicelib.openapi.schema import (
    ANY,
    Maybe,
    array,
    either,
    flag,
    integer,
    mapping,
    nullable,
    obj,
    of_model,
    record,
    text,
)


class Inner(Body):
    """An object in a body."""

    title: str


class Outer(Body):
    """A body."""

    from_: str | Inner | None = pydantic.Field(default=None, alias="from")
    inner: Inner | None = None
    several: list[Inner] = pydantic.Field(default_factory=list)
    short: Annotated[str, pydantic.Field(max_length=3)] | None = None
    kind: Literal["a", "b"] | None = None
    anything: dict[str, object] | None = None
    texts: dict[str, str] | None = None
    needed: int


INNER = obj("title", title=text())


def test_a_record_requires_all_its_fields_except_those_that_are_maybe() -> None:
    assert record(id=text(), more=Maybe(integer(1))) == {
        "type": "object",
        "properties": {"id": {"type": "string"}, "more": {"type": "integer", "minimum": 1}},
        "required": ["id"],
    }


def test_an_underscore_behind_a_word_of_python_is_dropped() -> None:
    assert obj("from", from_=text()) == record(from_=text())


def test_bounds_without_a_value_are_left_out() -> None:
    assert array(text(most=3), least=1) == {
        "type": "array",
        "items": {"type": "string", "maxLength": 3},
        "minItems": 1,
    }
    assert mapping() == {"type": "object"}
    assert nullable(flag()) == {"type": ["boolean", "null"]}
    assert integer(0, 0) == {"type": "integer", "minimum": 0, "maximum": 0}


def test_a_model_is_described_without_titles_and_definitions() -> None:
    null = {"type": "null"}
    assert of_model(Outer) == obj(
        "needed",
        from_=either(text(), INNER, null),
        inner=nullable(INNER),
        several=array(INNER),
        short=nullable(text(most=3)),
        kind=either({"type": "string", "enum": ["a", "b"]}, null),
        anything=nullable(mapping()),
        texts=nullable(mapping(text())),
        needed=integer(),
    )


def test_a_field_may_be_described_more_exactly_than_by_its_type() -> None:
    schema = of_model(Outer, "inner", needed=integer(1, 2), inner=ANY)
    assert schema["required"] == ["needed", "inner"]
    assert schema["properties"]["needed"] == integer(1, 2)
    assert schema["properties"]["inner"] == ANY
