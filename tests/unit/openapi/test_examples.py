"""Each request body has an example, which its schema and the views' own checks accept."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from app import app
from chalicelib.openapi import examples
from chalicelib.openapi.document import document

BODIES = {
    f"{method.upper()} {path}": operation["requestBody"]["content"]
    for path, item in document(app)["paths"].items()
    for method, operation in item.items()
    if "requestBody" in operation
}


def test_every_body_has_an_example_and_every_example_a_body() -> None:
    assert set(examples._BODIES) == set(BODIES)


@pytest.mark.parametrize("name", BODIES)
def test_an_example_is_what_its_schema_describes(name: str) -> None:
    for media in BODIES[name].values():
        components = {"components": document(app)["components"]}
        validator = Draft202012Validator(media["schema"] | components)
        assert [each.message for each in validator.iter_errors(media["example"])] == []
        # Misspelled fields would be ignored, so the schema alone does not notice them
        properties = media["schema"].get("properties")
        if properties and isinstance(media["example"], dict):
            assert set(media["example"]) <= set(properties)
