"""What the routes answer is what the description says of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws
from openapi_schema_validator import OAS31Validator

from app import app
from chalicelib.core.caches import clear_caches
from chalicelib.openapi.document import document
from tests.fake_cloud import create_resources
from tests.unit.calling import Answer
from tests.unit.test_isolation import _LAST, ROUTES, World, build, call, case_of

Json = dict[str, Any]

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
    """Return a schema that lets no field pass that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in schema.items()}
    return found | ({"additionalProperties": False} if "properties" in schema else {})


CLOSED = {"components": {"schemas": closed(DOCUMENT["components"]["schemas"])}}


def followed(found: Json) -> Json:
    """Return what a reference leads to."""
    if "$ref" not in found:
        return found
    responses: dict[str, Json] = DOCUMENT["components"]["responses"]
    return responses[found["$ref"].rpartition("/")[2]]


def faults(name: str, answer: Answer) -> Iterator[str]:
    """Yield what an answer has that its description does not let it have."""
    method, path = name.split(" ")
    response = DOCUMENT["paths"][path][method.lower()]["responses"].get(str(answer.status))
    if response is None:
        yield f"{name} answers {answer.status}: {answer.body}"
        return
    content = followed(response).get("content")
    if content is None:
        if answer.body is not None:
            yield f"{name} answers {answer.status} with a body: {answer.body}"
        return
    schema = content["application/json"]["schema"]
    if answer.status < 400:
        rules = closed(schema) | CLOSED
    else:
        rules = schema | {"components": DOCUMENT["components"]}
    for error in OAS31Validator(rules).iter_errors(answer.body):
        yield f"{name} answers {answer.status}: {error.json_path}: {error.message[:300]}"


def test_what_is_answered_is_described(world: World) -> None:
    wrong: list[str] = []
    shown: set[str] = set()
    for route in sorted(ROUTES, key=lambda each: (_LAST[each.method], -len(each.path))):
        if route.path.endswith("/verify"):  # asks the DNS
            continue
        for owner in world.owners:
            answer = call(owner.client, route, case_of(route), owner)
            if answer is not None:
                name = f"{route.method} {route.path}"
                wrong += faults(name, answer)
                if answer.status < 300:
                    shown.add(name)
    assert not wrong, "\n".join(dict.fromkeys(wrong))
    assert len(shown) > 110, sorted({f"{r.method} {r.path}" for r in ROUTES} - shown)


def test_what_is_not_described_is_found() -> None:
    name = "GET /api/v1/subaccounts/summary"
    assert not list(faults(name, Answer(200, {"results": {"total": 1}})))
    assert list(faults(name, Answer(200, {"results": {"total": "1"}})))
    assert list(faults(name, Answer(200, {"results": {"total": 1, "more": 1}})))
    assert list(faults(name, Answer(418, {"errors": []})))
    assert list(faults(name, Answer(403, {"errors": [{"description": "no message"}]})))


@pytest.mark.parametrize("about", ["events/message", "webhooks/events"])
@pytest.mark.parametrize("page", ["documentation", "samples"])
def test_descriptions_of_events_are_described(world: World, about: str, page: str) -> None:
    path = f"/api/v1/{about}/{page}"
    answer = world.callers[0].client.get(path)
    assert answer.results
    assert list(faults(f"GET {path}", answer)) == []
