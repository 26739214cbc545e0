"""Routes are matched by whole paths, and operations get requests that were read once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from infrastructure.local.gateway.local_api import LocalReply, LocalRequest, LocalRoute
from infrastructure.local.gateway.route_table import (
    BodyTooLarge,
    RouteMatch,
    RouteTable,
    for_method,
)
from infrastructure.local.mailpit.router import MailpitRequest


def nothing(request: LocalRequest) -> LocalReply:
    return LocalReply(b"")


def scope_of(query: bytes = b"") -> dict[str, Any]:
    headers = [(b"accept", b"text/html"), (b"accept", b"*/*")]
    return {"method": "GET", "raw_path": b"/a", "query_string": query, "headers": headers}


def received(*pieces: bytes) -> Any:
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages[-1]["more_body"] = False
    return _receiver(messages)


def _receiver(messages: Iterable[dict[str, Any]]) -> Any:
    each = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(each)

    return receive


def test_a_dot_of_a_path_stands_for_itself() -> None:
    table = RouteTable([LocalRoute("GET", "/view/{id}.html", nothing)])

    assert [match.parameters for match in table.matches("/view/a%2Fb.html")] == [{"id": "a/b"}]
    assert table.matches("/view/a-html") == []
    assert table.matches("/view/a/b.html") == []
    assert table.matches("/view/a.html/") == []


def test_the_first_route_of_a_method_answers_and_that_of_get_a_head() -> None:
    routes = [
        LocalRoute("PUT", "/{id}", nothing),
        LocalRoute("GET", "/latest", nothing),
        LocalRoute("GET", "/{id}", nothing),
    ]
    matches = RouteTable(routes).matches("/latest")

    assert for_method(matches, "HEAD") == RouteMatch(routes[1], {})
    assert for_method(matches, "PUT") == RouteMatch(routes[0], {"id": "latest"})
    assert for_method(matches, "DELETE") is None


def test_a_body_above_the_limit_of_its_route_is_too_large() -> None:
    match = RouteMatch(LocalRoute("PUT", "/a", nothing, max_body=4), {})

    request = asyncio.run(LocalRequest.read(match, scope_of(), received(b"ab", b"cd")))
    assert request is not None
    assert request.body == b"abcd"
    with pytest.raises(BodyTooLarge, match="more than 4 bytes"):
        asyncio.run(LocalRequest.read(match, scope_of(), received(b"ab", b"cde")))


def test_a_client_that_has_gone_makes_no_request() -> None:
    match = RouteMatch(LocalRoute("PUT", "/a", nothing), {})
    receive = _receiver([{"type": "http.disconnect"}])

    assert asyncio.run(LocalRequest.read(match, scope_of(), receive)) is None


def test_each_api_chooses_which_of_two_parameters_of_one_name_counts() -> None:
    match, query = RouteMatch(LocalRoute("GET", "/a", nothing), {}), b"q=1&q=2&empty="

    local = asyncio.run(LocalRequest.read(match, scope_of(query), received(b"")))
    mailpit = asyncio.run(MailpitRequest.read(match, scope_of(query), received(b"")))
    assert local is not None
    assert mailpit is not None
    assert local.query == {"q": "2", "empty": ""}
    assert mailpit.query == {"q": "1", "empty": ""}
    assert (local.header("accept"), local.header("cookie")) == ("text/html", "")
