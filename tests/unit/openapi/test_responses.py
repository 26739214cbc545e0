"""The responses of the routes have the form that the description gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws
from openapi_schema_validator import OAS31Validator

from app import app
from chalicelib.core.caches import clear_caches
from chalicelib.core.json_types import Json
from chalicelib.openapi.document import document
from tests.fake_cloud import create_resources
from tests.unit.calling import Response
from tests.unit.test_isolation import _LAST, ROUTES, World, build, call, case_of

DOCUMENT = document(app)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATE_LIMIT_PER_SECOND", "0")
        clear_caches()
        with mock_aws():
            create_resources()
            yield build()
    clear_caches()


def closed(schema: Any) -> Any:
    """Return a schema that allows no fields besides those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    properties = {name: closed(each) for name, each in schema.items()}
    return properties | ({"additionalProperties": False} if "properties" in schema else {})


CLOSED = {"components": {"schemas": closed(DOCUMENT["components"]["schemas"])}}


def resolved(response: Json) -> Json:
    """Return the response that a reference stands for."""
    if "$ref" not in response:
        return response
    responses: dict[str, Json] = DOCUMENT["components"]["responses"]
    return responses[response["$ref"].rpartition("/")[2]]


def faults(name: str, response: Response) -> Iterator[str]:
    """Yield the ways in which a response differs from its description."""
    method, path = name.split(" ")
    description = DOCUMENT["paths"][path][method.lower()]["responses"].get(str(response.status))
    if description is None:
        yield f"{name} answers {response.status}: {response.body}"
        return
    content = resolved(description).get("content")
    if content is None:
        if response.body is not None:
            yield f"{name} answers {response.status} with a body: {response.body}"
        return
    # A file has a type of its own
    media_type = "application/json" if "application/json" in content else next(iter(content))
    schema = content[media_type]["schema"]
    if response.status < 400:
        rules = closed(schema) | CLOSED
    else:
        rules = schema | {"components": DOCUMENT["components"]}
    for error in OAS31Validator(rules).iter_errors(response.body):
        yield f"{name} answers {response.status}: {error.json_path}: {error.message[:300]}"


def test_every_response_has_its_described_form(world: World) -> None:
    wrong: list[str] = []
    successful: set[str] = set()
    for route in sorted(ROUTES, key=lambda each: (_LAST[each.method], -len(each.path))):
        if route.path.endswith("/verify"):  # asks the DNS
            continue
        for owner in world.owners:
            response = call(owner.client, route, case_of(route), owner)
            if response is not None:
                name = f"{route.method} {route.path}"
                wrong += faults(name, response)
                if response.status < 300:
                    successful.add(name)
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert len(successful) > 110, sorted({f"{r.method} {r.path}" for r in ROUTES} - successful)


def test_a_response_that_differs_from_its_description_is_reported() -> None:
    name = "GET /api/v1/subaccounts/summary"
    assert not list(faults(name, Response(200, {"results": {"total": 1}})))
    assert list(faults(name, Response(200, {"results": {"total": "1"}})))
    assert list(faults(name, Response(200, {"results": {"total": 1, "more": 1}})))
    assert list(faults(name, Response(418, {"errors": []})))
    assert list(faults(name, Response(403, {"errors": [{"description": "no message"}]})))


@pytest.mark.parametrize("about", ["events/message", "webhooks/events"])
@pytest.mark.parametrize("page", ["documentation", "samples"])
def test_the_documentation_of_events_has_its_described_form(
    world: World, about: str, page: str
) -> None:
    path = f"/api/v1/{about}/{page}"
    response = world.callers[0].client.get(path)
    assert response.results
    assert list(faults(f"GET {path}", response)) == []
