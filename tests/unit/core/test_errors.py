"""The catalogue of errors and their bodies (spec 7)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.core import errors
from chalicelib.core.errors import ApiError, ApiErrors, ServiceError


def test_an_error_has_only_the_keys_that_were_given() -> None:
    assert ApiError(401, "Unauthorized.").body() == {"errors": [{"message": "Unauthorized."}]}


def test_an_error_may_carry_every_key_of_the_specification() -> None:
    error = ApiError(
        422,
        "substitution language syntax error in template content",
        code="3000",
        description="Error while compiling header Subject",
        param="content",
        value=0,
        part="Header:Subject",
        line=1,
    )
    assert error.body()["errors"] == [
        {
            "message": "substitution language syntax error in template content",
            "code": "3000",
            "description": "Error while compiling header Subject",
            "param": "content",
            "value": 0,
            "part": "Header:Subject",
            "line": 1,
        }
    ]


def test_a_body_may_have_more_top_level_keys() -> None:
    error = ApiError(409, "resource conflict", code="1602", extra={"results": {"id": "x"}})
    assert error.body() == {
        "errors": [{"message": "resource conflict", "code": "1602"}],
        "results": {"id": "x"},
    }


def test_several_errors_share_a_status() -> None:
    error = ApiErrors(422, [{"message": "a"}, {"message": "b"}])
    assert error.status == 422
    assert error.body() == {"errors": [{"message": "a"}, {"message": "b"}]}


def test_every_error_is_caught_as_a_service_error() -> None:
    with pytest.raises(ServiceError, match="422 x is a required field"):
        raise errors.missing_field("x is a required field")


@pytest.mark.parametrize(
    ("error", "status", "first"),
    [
        (errors.Unauthorized(), 401, {"message": "Unauthorized."}),
        (errors.Forbidden(), 403, {"message": "Forbidden."}),
        (errors.NotFound(), 404, {"message": "Resource could not be found"}),
        (errors.MethodNotAllowed(["GET"]), 405, {"message": "Method Not Allowed"}),
        (errors.TooLarge(), 413, {"message": "Request entity too large"}),
        (errors.TooManyRequests(), 429, {"message": "Too many requests"}),
    ],
)
def test_plain_refusals_carry_only_a_message(
    error: ServiceError, status: int, first: dict[str, str]
) -> None:
    assert (error.status, error.errors) == (status, [first])


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.invalid_params("d"), 400, "1200"),
        (errors.bad_format("d"), 422, "1300"),
        (errors.missing_field("d"), 422, "1400"),
        (errors.resource_not_found("d"), 404, "1600"),
        (errors.UnsupportedMediaType("d"), 415, "1700"),
    ],
)
def test_coded_refusals_carry_code_and_description(
    error: ServiceError, status: int, code: str
) -> None:
    assert error.status == status
    assert (error.errors[0]["code"], error.errors[0]["description"]) == (code, "d")


def test_an_entry_of_the_catalogue_names_the_field_at_fault() -> None:
    error = errors.bad_request("events has an unknown type", param="events", value="x")
    assert error.body() == {
        "errors": [{"message": "events has an unknown type", "param": "events", "value": "x"}]
    }


def test_the_catalogue_has_no_entry_twice() -> None:
    entries = [each for each in vars(errors).values() if isinstance(each, errors.Refusal)]
    assert len(entries) > 30
    assert len(set(entries)) == len(entries)


def test_errors_are_made_by_the_catalogue_alone() -> None:
    makers = ("ApiError", "Refusal", "BareRefusal")
    places = [
        f"{path}:{node.lineno}"
        for path in Path("chalicelib").rglob("*.py")
        if path != Path("chalicelib/core/errors.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in makers
    ]
    assert places == [], "name the refusal in chalicelib/core/errors.py"


FAULTS = [
    {"message": "invalid data format/type", "code": "1300", "description": "d"},
    {"message": "m", "code": "3000", "description": "d", "part": "html", "line": 2},
    {"message": "Forbidden.", "description": "d"},
]


def test_bare_errors_hold_the_description_as_their_message() -> None:
    with pytest.raises(ServiceError) as error_info, errors.bare_errors():
        raise ApiErrors(422, FAULTS, headers={"X-Note": "a"})
    assert error_info.value.errors == [
        {"message": "d"},
        {"message": "d", "part": "html", "line": 2},
        {"message": "d"},
    ]
    assert (error_info.value.status, error_info.value.headers) == (422, {"X-Note": "a"})


def test_bare_errors_may_leave_errors_without_a_code_as_they_are() -> None:
    with pytest.raises(ServiceError) as error_info, errors.bare_errors(coded_only=True):
        raise ApiErrors(422, FAULTS)
    assert error_info.value.errors[2] == FAULTS[2]


def test_workers_import_errors_without_the_web_framework() -> None:
    code = "import sys, chalicelib.core.errors; sys.exit('chalice' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
