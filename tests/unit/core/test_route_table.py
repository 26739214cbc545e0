from __future__ import annotations

import pytest

from chalicelib.core.route_table import RouteTable

_ROUTES = [
    "/",
    "/api/v1/suppression-list",
    "/api/v1/suppression-list/{recipient}",
    "/api/v1/suppression-list/summary",
    "/api/v1/templates/{template_id}/preview",
    "/api/v1/{kind}/none/preview",
]


def _table() -> RouteTable:
    table = RouteTable()
    for route in _ROUTES:
        table.add(route)
    return table


@pytest.mark.parametrize(
    ("path", "route", "parameters"),
    [
        ("/", "/", {}),
        ("/api/v1/suppression-list", "/api/v1/suppression-list", {}),
        ("/api/v1/suppression-list/summary", "/api/v1/suppression-list/summary", {}),
        (
            "/api/v1/suppression-list/a%2Fb+c@x.test",
            "/api/v1/suppression-list/{recipient}",
            {"recipient": "a%2Fb+c@x.test"},
        ),
        (
            "/api/v1/suppression-list/{}",
            "/api/v1/suppression-list/{recipient}",
            {"recipient": "{}"},
        ),
        ("/api/v1/templates/t/preview", _ROUTES[4], {"template_id": "t"}),
    ],
)
def test_a_path_finds_its_route(path: str, route: str, parameters: dict[str, str]) -> None:
    assert _table().match(path) == (route, parameters)


@pytest.mark.spec("1-r1")
def test_a_trailing_slash_is_ignored() -> None:
    assert _table().match("/api/v1/suppression-list/") == (_ROUTES[1], {})
    assert _table().match("/api/v1/suppression-list/a/") == (_ROUTES[2], {"recipient": "a"})


@pytest.mark.spec("1-r2")
@pytest.mark.parametrize("path", ["/API/v1/suppression-list", "/api/v1/Suppression-List/summary/x"])
def test_paths_are_case_sensitive(path: str) -> None:
    assert _table().match(path) is None


@pytest.mark.parametrize(
    "path",
    ["", "api", "/api", "/api/v1", "/api/v1/suppression-list//", "/api/v1/a/b/c/d", "/x" * 999],
)
def test_other_paths_have_no_route(path: str) -> None:
    assert _table().match(path) is None


def test_a_parameter_is_tried_when_the_fixed_segment_leads_nowhere() -> None:
    match = _table().match("/api/v1/templates/none/preview")
    assert match == (_ROUTES[4], {"template_id": "none"})
    match = _table().match("/api/v1/suppression-list/none/preview")
    assert match == (_ROUTES[5], {"kind": "suppression-list"})


@pytest.mark.parametrize("route", ["x", "", "/x/"])
def test_a_route_that_chalice_would_refuse_is_refused_at_once(route: str) -> None:
    with pytest.raises(ValueError, match="slash"):
        RouteTable().add(route)


def test_two_names_for_a_parameter_at_one_position_are_refused_as_by_api_gateway() -> None:
    table = RouteTable()
    table.add("/templates/{template_id}")
    with pytest.raises(ValueError, match="template_id"):
        table.add("/templates/{id}/preview")
