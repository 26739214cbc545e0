"""The Postman collection has each operation, in the folder of its tag, ready to be sent."""

from __future__ import annotations

import json
import re

import pytest

from app import app
from chalicelib.core import settings
from chalicelib.core.json_types import Json
from chalicelib.openapi.document import document
from chalicelib.openapi.postman import SCHEMA, collection
from tests.unit.calling import Client


def _path(request: Json) -> str:
    """Return the path as the document writes it."""
    return re.sub(r":(\w+)", r"{\1}", "/" + "/".join(request["url"]["path"]))


DOCUMENT = document(app)
COLLECTION = collection(DOCUMENT, "https://mail.example.com")
REQUESTS = {
    f"{request['method']} {_path(request)}": (folder["name"], request)
    for folder in COLLECTION["item"]
    for request in (item["request"] for item in folder["item"])
}


def test_each_operation_is_one_request_in_the_folder_of_its_tag() -> None:
    operations = {
        f"{method.upper()} {path}": operation["tags"][0]
        for path, item in DOCUMENT["paths"].items()
        for method, operation in item.items()
    }
    assert {name: folder for name, (folder, _) in REQUESTS.items()} == operations
    assert [each["name"] for each in COLLECTION["item"]] == [
        each["name"] for each in DOCUMENT["tags"]
    ]


def test_the_base_url_and_the_key_are_variables() -> None:
    variables = {each["key"]: each["value"] for each in COLLECTION["variable"]}
    assert variables == {"baseUrl": "https://mail.example.com", "apiKey": ""}
    key = {each["key"]: each["value"] for each in COLLECTION["auth"]["apikey"]}
    assert key == {"key": "Authorization", "value": "{{apiKey}}", "in": "header"}
    for _, request in REQUESTS.values():
        assert request["url"]["raw"].startswith("{{baseUrl}}/")


def test_a_request_without_a_key_sends_none() -> None:
    assert REQUESTS["GET /openapi.json"][1]["auth"] == {"type": "noauth"}
    assert "auth" not in REQUESTS["GET /api/v1/templates"][1]


def test_parameters_that_are_not_required_are_switched_off() -> None:
    url = REQUESTS["GET /api/v1/metrics/deliverability"][1]["url"]
    active = {each["key"] for each in url["query"] if not each["disabled"]}
    assert active == {"from", "metrics"}
    assert url["raw"].endswith("/metrics/deliverability?from=&metrics=")
    url = REQUESTS["GET /api/v1/templates/{template_id}"][1]["url"]
    assert url["variable"] == [{"key": "template_id", "value": ""}]
    assert url["raw"] == "{{baseUrl}}/api/v1/templates/:template_id"


def test_a_body_is_the_example_of_the_description() -> None:
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            _, request = REQUESTS[f"{method.upper()} {path}"]
            content = operation.get("requestBody", {}).get("content")
            if not content:
                assert "body" not in request
                continue
            example = next(iter(content.values()))["example"]
            text = request["body"]["raw"]
            assert (text if isinstance(example, str) else json.loads(text)) == example
            assert request["header"][0]["key"] == "Content-Type"


def test_the_collection_is_served_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", "https://mail.example.com")
    settings.settings.cache_clear()
    response = Client("").get("/docs/postman.json")
    assert (response.status, response.body) == (200, COLLECTION)
    assert COLLECTION["info"]["schema"] == SCHEMA
