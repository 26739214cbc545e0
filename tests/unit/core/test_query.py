"""A repeated query parameter is one list, or it is refused."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from moto import mock_aws

from app import app
from chalicelib.core.caches import clear_caches
from chalicelib.core.http import DeclaredRoute
from chalicelib.core.query import QueryParameters, comma_list, delimited_list, with_cursor
from chalicelib.openapi.document import document, documented_routes
from tests.fake_cloud import create_resources
from tests.unit.calling import Response
from tests.unit.isolation import CASES, SEEDS, Case, Owner
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key
from tests.unit.refusals import refusal_errors

QUERY = QueryParameters({"a": ["1", "2,3"], "b": ["4"], "cursor": ["x", "y"]})


@pytest.mark.parametrize(
    ("query", "items"),
    [({}, []), ({"x": ""}, []), ({"x": "a"}, ["a"]), ({"x": "a, b,,c "}, ["a", "b", "c"])],
)
def test_a_comma_list_is_split(query: dict[str, str], items: list[str]) -> None:
    assert comma_list(query, "x") == items


def test_a_list_is_split_at_the_delimiter_of_the_query() -> None:
    assert delimited_list({"x": "a,b;c", "delimiter": ";"}, "x") == ["a,b", "c"]
    assert delimited_list({"x": "a,b", "delimiter": ""}, "x") == ["a", "b"]


def test_a_repeated_list_is_one_list() -> None:
    assert comma_list(QUERY, "a") == delimited_list(QUERY, "a") == ["1", "2", "3"]


def test_a_repeated_parameter_that_takes_one_value_is_refused() -> None:
    assert (QUERY["b"], QUERY.get("c", "")) == ("4", "")
    for read in (QUERY.get, QUERY.__getitem__):
        status, errors = refusal_errors(read, "a")
        assert (status, errors[0]["code"], errors[0]["param"]) == (400, "1200", "a")
        assert errors[0]["description"] == "a takes one value, and the query has 2"


def test_a_repeated_name_is_in_the_query_without_being_read() -> None:
    assert ("a" in QUERY, "c" in QUERY, len(QUERY)) == (True, False, 3)
    assert list(QUERY) == ["a", "b", "cursor"]


def test_the_link_to_a_page_holds_every_value_and_one_cursor() -> None:
    assert with_cursor(QUERY, "next") == [("a", "1"), ("a", "2,3"), ("b", "4"), ("cursor", "next")]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter of a route, as OpenAPI describes it."""

    route: DeclaredRoute
    name: str
    schema: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.route.method} {self.route.path} {self.name}"

    @property
    def is_list(self) -> bool:
        return self.schema.get("type") == "array"

    def values(self) -> list[str]:
        """Return two values of the list."""
        items = self.schema["items"]
        return items.get("enum") or (["1", "2"] if items["type"] == "integer" else ["a", "b"])


def parameters_of(route: DeclaredRoute) -> Iterator[Parameter]:
    openapi = document(app)
    shared = openapi["components"]["parameters"]
    for each in openapi["paths"][route.path][route.method.lower()].get("parameters", []):
        parameter = shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        if parameter["in"] == "query":
            yield Parameter(route, parameter["name"], parameter["schema"])


# Whom a provider of single sign-on sends back is sent on to the console, whatever is wrong
PARAMETERS = [
    each
    for route in documented_routes(app)
    if not route.path.endswith("/callback")
    for each in parameters_of(route)
]


@pytest.fixture(scope="module")
def owner() -> Iterator[Owner]:
    """The primary account, which has one thing of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATE_LIMIT_PER_SECOND", "0")
        clear_caches()
        with mock_aws():
            create_resources()
            make_account(1, options={"inline_seeds": False})
            primary = Owner(1, None, "alder", make_key())
            for seed in SEEDS:
                seed(primary)
            yield primary
    clear_caches()


def call(owner: Owner, parameter: Parameter, values: list[str]) -> Response:
    """Call a route with values of a parameter, and with all else that it needs."""
    route = parameter.route
    case = CASES.get((route.method, route.path), Case())
    path = route.path
    for name in re.findall(r"\{(\w+)\}", path):
        path = path.replace(f"{{{name}}}", owner.things[case.names.get(name, name)])
    needed = parse_qsl(case.query.removeprefix("?").format(**owner.things))
    pairs = [pair for pair in needed if pair[0] != parameter.name]
    pairs += [(parameter.name, value) for value in values]
    body = case.body(owner) if callable(case.body) else case.body
    return owner.client.call(route.method, f"{path}?{urlencode(pairs)}", body)


@pytest.mark.parametrize("parameter", [each for each in PARAMETERS if each.is_list], ids=str)
def test_every_list_may_be_repeated(owner: Owner, parameter: Parameter) -> None:
    first, second, *_ = parameter.values() * 2
    with moving_clock(time.time()):
        response = call(owner, parameter, [first, second])
        assert "takes one value" not in str(response)
        assert response == call(owner, parameter, [f"{first},{second}"])


@pytest.mark.parametrize("parameter", [each for each in PARAMETERS if not each.is_list], ids=str)
def test_every_other_parameter_is_refused_if_it_is_repeated(
    owner: Owner, parameter: Parameter
) -> None:
    response = call(owner, parameter, ["a", "b"])
    assert response.status == 400
    assert f"{parameter.name} takes one value, and the query has 2" in str(response.body)


@pytest.mark.spec("1-r5")
def test_a_repeated_parameter_that_no_route_reads_is_ignored(owner: Owner) -> None:
    for path in ("/api/v1/events/message?", "/api/v1/suppression-list?cursor=initial&"):
        assert owner.client.get(f"{path}x=1&x=2").status == 200
