"""The document is valid and complete, and the file in docs is the one that is served."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from app import app
from chalicelib.core.http import ENROLLING, PERSON, PUBLIC, App, Reply, Request, Routes, ok
from chalicelib.core.routes import NO_GRANTS
from chalicelib.openapi.catalogue import RESOURCES
from chalicelib.openapi.document import document, documented_routes, page
from infrastructure.docs import API_DESCRIPTION
from tests.unit.calling import Client

DOCUMENT = document(app)
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}


def nobody(request: Request, *, subaccount_header: bool) -> Any:
    raise AssertionError("nobody is called")


def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_the_validator_reports_a_missing_parameter() -> None:
    broken = json.loads(page(app))
    broken["paths"]["/api/v1/subaccounts/{subaccount_id}"]["get"]["parameters"].pop(0)
    assert list(OpenAPIV31SpecValidator(broken).iter_errors())


def test_every_route_is_described_and_every_description_has_a_route() -> None:
    routes = {f"{each.method} {each.path}" for each in documented_routes(app)}
    described = [name for operations in RESOURCES.values() for name in operations]
    assert len(described) == len(set(described))
    assert routes == set(described)
    assert set(OPERATIONS) == set(described)


def test_no_path_answers_head_without_get() -> None:
    """The document leaves HEAD out, because GET is answered at the same path."""
    routes = {(each.method, each.path) for each in app.declared_routes()}
    assert all(("GET", path) in routes for method, path in routes if method == "HEAD")


def test_a_route_without_a_description_is_an_error() -> None:
    extra = App("extra", authenticate=nobody)
    for each in app.declared_routes():
        view = app.view(each.method, each.path)
        extra.route(each.path, methods=[each.method], grant=each.grant)(view)
    routes = Routes("extra")

    @routes.get("/api/v1/forgotten", grant=PUBLIC)
    def forgotten(request: Request) -> Reply:
        return ok({})

    extra.register_blueprint(routes)
    with pytest.raises(KeyError, match="GET /api/v1/forgotten"):
        document(extra)


def test_a_description_without_a_route_is_an_error() -> None:
    with pytest.raises(KeyError):
        document(App("empty", authenticate=nobody))


def test_an_operation_has_its_routes_grant_and_summary() -> None:
    for each in documented_routes(app):
        operation = OPERATIONS[f"{each.method} {each.path}"]
        assert len(operation["summary"]) > 7, each
        if each.grant == PUBLIC:
            assert operation["security"] == []
        else:
            roles = [] if each.grant in NO_GRANTS else [each.grant]
            schemes = ["session"]
            if each.grant not in (PERSON, ENROLLING):
                schemes = ["key", "basic", "session"]
            assert operation["security"] == [{scheme: roles} for scheme in schemes]
            subaccount = {"$ref": "#/components/parameters/subaccount"}
            assert (subaccount in operation.get("parameters", [])) is each.subaccount_header


def test_every_parameter_of_a_path_is_described() -> None:
    for name, operation in OPERATIONS.items():
        parameters = [each for each in operation.get("parameters", []) if each.get("in") == "path"]
        assert [each["name"] for each in parameters] == re.findall(r"\{(\w+)\}", name)


@pytest.mark.spec("7-t1")
def test_every_status_of_an_error_is_among_the_shared_responses() -> None:
    components = DOCUMENT["components"]["responses"]
    assert len(components) == 13
    used = {status for operation in OPERATIONS.values() for status in operation["responses"]}
    documented = {400, 401, 403, 404, 405, 409, 413, 415, 420, 422, 429, 500, 503}
    assert documented <= {int(status) for status in used}
    for response in components.values():
        assert response["content"]["application/json"]["schema"]["$ref"].endswith("/Errors")


def test_every_component_is_used() -> None:
    text = json.dumps(DOCUMENT)
    for kind in ("schemas", "parameters", "responses"):
        for name in DOCUMENT["components"][kind]:
            assert f'"#/components/{kind}/{name}"' in text, name


def test_bodies_are_those_of_the_models_that_check_them() -> None:
    body = OPERATIONS["POST /api/v1/transmissions"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert schema["required"] == ["content", "recipients"]
    options = schema["properties"]["options"]["properties"]
    assert options["click_tracking"] == {"type": ["boolean", "null"]}
    assert "from" in schema["properties"]["content"]["properties"]


def test_the_served_document_is_the_one_in_docs() -> None:
    file_text = API_DESCRIPTION.read_text(encoding="utf-8")
    assert file_text == page(app), "docs/openapi.json is not up to date: run `make docs`"
    response = Client("").get("/openapi.json")
    assert (response.status, response.body) == (200, json.loads(file_text))


def test_starting_the_application_does_not_import_the_descriptions() -> None:
    code = "import sys, app; print([m for m in sys.modules if m.startswith('chalicelib.openapi')])"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"
