from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.core.request import Request
from tests.unit.refusals import refusal_errors

_JSON = {"content-type": "application/json"}


def _event(**changes: Any) -> dict[str, Any]:
    return {
        "path": "/api/v1/x",
        "headers": None,
        "multiValueQueryStringParameters": None,
        "requestContext": {
            "httpMethod": "POST",
            "requestId": "r",
            "identity": {"sourceIp": "192.0.2.7"},
        },
        "body": None,
        "isBase64Encoded": False,
        **changes,
    }


def _status(request: Request) -> int:
    with pytest.raises(ServiceError) as error_info:
        request.json()
    return error_info.value.status


def test_an_event_becomes_a_request() -> None:
    request = Request.from_event(_event())
    assert (request.method, request.path, request.request_id) == ("POST", "/api/v1/x", "r")
    assert (request.query, request.headers, request.raw_body) == ({}, {}, b"")


def test_the_source_address_is_the_peer_whatever_headers_say() -> None:
    request = Request.from_event(_event(headers={"X-Forwarded-For": "203.0.113.9"}))
    assert request.source_ip == "192.0.2.7"


def test_header_names_are_lower_case() -> None:
    request = Request.from_event(_event(headers={"X-SVC-SUBACCOUNT": "5"}))
    assert request.headers == {"x-svc-subaccount": "5"}


def test_header_values_have_no_blanks_around_them() -> None:
    request = Request.from_event(_event(multiValueHeaders={"Idempotency-Key": [" \tone \t"]}))
    assert request.headers == {"idempotency-key": "one"}


def test_a_repeated_header_is_one_list_of_its_different_values() -> None:
    lines = {"X-A": ["1", "2 ", " 1"], "x-a": ["3"], "X-B": ["4", "4"]}
    request = Request.from_event(_event(headers={"X-A": "2", "X-B": "4"}, multiValueHeaders=lines))
    assert request.headers == {"x-a": "1, 2, 3", "x-b": "4"}


@pytest.mark.parametrize("name", ["Authorization", "authorization", "Content-Type", "Host"])
def test_a_header_that_takes_one_value_is_refused_if_it_has_several(name: str) -> None:
    status, errors = refusal_errors(
        Request.from_event, _event(multiValueHeaders={name: ["one", "two"]})
    )
    assert (status, errors[0]["code"]) == (400, "1200")
    assert name.lower() in errors[0]["description"]
    same = Request.from_event(_event(multiValueHeaders={name: ["one", "one "]}))
    assert same.headers == {name.lower(): "one"}


@pytest.mark.spec("1-r2")
def test_query_names_keep_their_case_and_the_last_value_counts() -> None:
    query = {"Draft": ["x"], "draft": ["false", "true"], "blank": [""]}
    request = Request.from_event(_event(multiValueQueryStringParameters=query))
    assert request.query == {"Draft": "x", "draft": "true", "blank": ""}


@pytest.mark.parametrize(
    ("body", "binary", "content"),
    [("ä", False, "ä".encode()), ("/w==", True, b"\xff"), ("", False, b""), (None, True, b"")],
)
def test_the_body_is_the_bytes_that_were_sent(
    body: str | None, binary: bool, content: bytes
) -> None:
    assert Request.from_event(_event(body=body, isBase64Encoded=binary)).raw_body == content


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        " application/json ; charset=utf-8",
        "application/vnd.api+json",
        "application/problem+json;q=1",
    ],
)
def test_json_is_read_under_any_json_media_type(content_type: str) -> None:
    request = Request(headers={"content-type": content_type}, raw_body=b'{"a":1}')
    assert request.json() == {"a": 1}


@pytest.mark.spec("7-t8")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": ""},
        {"content-type": "text/plain"},
        {"content-type": "application/jsonp"},
        {"content-type": "text/application/json"},
        {"content-type": "application/x-www-form-urlencoded"},
        {**_JSON, "content-encoding": "gzip"},
    ],
)
def test_a_body_of_another_media_type_or_coding_is_refused(headers: dict[str, str]) -> None:
    assert _status(Request(headers=headers, raw_body=b"{}")) == 415


def test_a_missing_body_is_refused_as_bad_json() -> None:
    assert _status(Request(headers=_JSON)) == 422
    assert _status(Request()) == 422


def test_a_public_route_has_no_caller() -> None:
    with pytest.raises(RuntimeError, match="no caller"):
        _ = Request().caller
