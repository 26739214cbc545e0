"""Check that the running service keeps to its OpenAPI description for any request.

Schemathesis generates valid and invalid requests for every operation. Each response must have a
documented status, type and shape, and is never a server error. The tests run their own service,
because the requests change the account's options, lists and keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi import checks

from chalicelib.core.json_types import Json
from tests.http_target import serving
from tests.journey.service import KEY, ROOT, Service
from tests.journey.things import BODIES, RARE, SINCE, make_things

Things = dict[str, str]
Case = schemathesis.Case[Any]
Operation = APIOperation[Any, Any, Any, Any]

DESCRIPTION = ROOT / "docs" / "openapi.json"
EXAMPLES = 4
SUBACCOUNT = "#/components/parameters/subaccount"
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


def without_subaccount(document: Json) -> Json:
    """Remove the subaccount header: with a generated value every request would be refused."""
    for item in document["paths"].values():
        for operation in item.values():
            parameters = operation.get("parameters", [])
            operation["parameters"] = [
                each for each in parameters if each.get("$ref") != SUBACCOUNT
            ]
    return document


def operations() -> list[Operation]:
    """Return every operation of the description; those that delete come last."""
    document = without_subaccount(json.loads(DESCRIPTION.read_text(encoding="utf-8")))
    schema = schemathesis.openapi.from_dict(document)
    parsed = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    return sorted(parsed, key=lambda each: each.method.upper() == "DELETE")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("described")) as running:
        yield running


@pytest.fixture(scope="module")
def things(running: Service) -> Iterator[Things]:
    with serving() as target:
        yield make_things(running, target.url)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.headers["Authorization"] = KEY
        yield session


def use_existing_things(case: Case, things: Things) -> None:
    """Put ids of existing things into a request, so that it passes the first checks."""
    if "/dkim-keys/" in case.path:
        things = things | {"key_id": "thing"}
    for name in case.path_parameters:
        case.path_parameters[name] = things.get(name, case.path_parameters[name])
    for name in RARE:
        case.query.pop(name, None)
    if "from" in case.query:
        case.query["from"] = SINCE
    if isinstance(case.body, dict):
        case.body = case.body | BODIES.get(case.operation.label, {})


def test_the_served_api_description_equals_the_file_in_docs(running: Service) -> None:
    response = running.request("GET", "/openapi.json", key=None)
    assert response.status == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json == json.loads(DESCRIPTION.read_text(encoding="utf-8"))


@pytest.mark.parametrize("operation", operations(), ids=lambda operation: operation.label)
def test_generated_requests_get_responses_that_the_description_documents(
    operation: Operation, running: Service, session: requests.Session, things: Things
) -> None:
    good = operation.as_strategy()
    bad = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @given(case=good | bad, existing=st.booleans())
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: Case, existing: bool) -> None:
        if existing:
            use_existing_things(case, things)
        url = f"http://127.0.0.1:{running.api_port}"
        response = case.call(base_url=url, session=session, timeout=120)
        case.validate_response(response, checks=CHECKS)

    check()
