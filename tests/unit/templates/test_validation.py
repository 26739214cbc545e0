"""The content validator: every error with its place, missing data, and the snippets in use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

PATH = "/api/v1/utils/content-validator"
CONTENT = {"from": "me@example.test", "subject": "Hello", "text": "Hello"}


@pytest.fixture
def client(cloud: None) -> Client:
    make_account(1)
    return make_key(1)


def places(results: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("code", "part", "line", "column", "length")
    return [tuple(error.get(name) for name in names) for error in results["errors"]]


def test_valid_content_has_no_errors(client: Client) -> None:
    results = client.post(PATH, {"content": CONTENT}).results
    assert results == {"valid": True, "errors": [], "variables": [], "snippets": []}


def test_every_error_of_every_part_has_its_place(client: Client) -> None:
    content = {
        "from": {"email": "{{ a b }}@example.test", "name": "{{ ? }}"},
        "subject": "{{end}}",
        "reply_to": "{{ x",
        "html": "<p>\n{{if a}}{{ b c }}\n</p>",
        "amp_html": "{{else}}",
        "text": "fine {{ name }}",
        "headers": {"X-A": "{{ ! }}"},
    }
    results = client.post(PATH, {"content": content}).results
    assert not results["valid"]
    assert places(results) == [
        ("3000", "Header:From", 1, 6, 1),
        ("3000", "Header:From", 1, 4, 1),
        ("3000", "Header:Subject", 1, 1, 7),
        ("3000", "Header:Reply-To", 1, 1, 2),
        ("3000", "html", 2, 1, 8),
        ("3000", "html", 2, 14, 1),
        ("3000", "amp_html", 1, 1, 8),
        ("3000", "Header:X-A", 1, 4, 1),
    ]
    assert results["errors"][4]["description"] == (
        "Error while compiling part html: line 2: 'if' is missing its 'end'"
    )


def test_the_other_rules_of_content_are_checked_all_at_once(client: Client) -> None:
    content = {"headers": {"To": "a", "X-A": " ", "b:": "c"}, "amp_html": "{{end}}"}
    results = client.post(PATH, {"content": content}).results
    assert [error["code"] for error in results["errors"]] == [
        *("1400", "1400", "1400"),
        *("3002", "3002", "3002"),
        "3000",
    ]
    for wrong in (
        {"email_rfc822": "no message"},
        {"email_rfc822": "Subject: x\n\nx", "text": "x"},
        CONTENT | {"attachments": [{}]},
        CONTENT | {"subject": "a\nb"},
        CONTENT | {"text": "x" * 5 * 2**20},
        CONTENT | {"text": "{{" * 60_000},
    ):
        results = client.post(PATH, {"content": wrong}).results
        assert (results["valid"], len(results["errors"])) == (False, 1), wrong.keys()


def test_content_is_valid_exactly_if_it_can_be_stored(client: Client) -> None:
    for content in (CONTENT, CONTENT | {"text": "{{a b}}"}, {"text": "x"}, {"email_rfc822": "x"}):
        valid = client.post(PATH, {"content": content}).results["valid"]
        status = client.post("/api/v1/templates", {"name": "x", "content": content}).status
        assert status == (200 if valid else 422)


def test_a_pre_built_message_has_places_in_its_parts(client: Client) -> None:
    raw = "From: a@example.test\nSubject: {{ a b }}\nContent-Type: text/html\n\n<p>\n {{end}}\n"
    results = client.post(PATH, {"content": {"email_rfc822": raw}}).results
    assert places(results) == [
        ("3000", "Header:Subject", 1, 6, 1),
        ("3000", "html", 2, 2, 7),
    ]


def test_variables_that_the_data_lacks_are_named(client: Client) -> None:
    content = CONTENT | {
        "subject": "Hi {{ user.name }}",
        "text": "{{ user.name }} {{ user.age }} {{ address.email }}"
        "{{each items}}{{ loop_var.price }}{{end}}",
    }
    results = client.post(PATH, {"content": content}).results
    subject = {"part": "Header:Subject", "line": 1, "optional": False}
    text = {"part": "text", "line": 1, "optional": False}
    assert results["variables"] == [
        subject | {"name": "user.name", "column": 7, "length": 4},
        text | {"name": "user.name", "column": 4, "length": 4},
        text | {"name": "user.age", "column": 20, "length": 4},
        text | {"name": "items", "column": 58, "length": 5},
    ]
    data = {"user": {"name": "x", "age": None}, "items": []}
    results = client.post(PATH, {"content": content, "substitution_data": data}).results
    assert results["valid"]
    assert [each["name"] for each in results["variables"] if each["missing"]] == ["user.age"]


def test_a_variable_without_which_nothing_lacks_is_optional(client: Client) -> None:
    content = CONTENT | {"text": "{{ name or 'you' }}", "html": "{{if name}}{{name}}{{end}}{{age}}"}
    results = client.post(PATH, {"content": content, "substitution_data": {}}).results
    variables = {(each["part"], each["name"]): each for each in results["variables"]}
    optional = {key: each["optional"] for key, each in variables.items()}
    assert optional[("text", "name")] is optional[("html", "name")] is True
    assert optional[("html", "age")] is False
    assert all(each["missing"] for each in variables.values())


def test_snippets_that_the_content_names_are_looked_up(client: Client) -> None:
    client.post("/api/labs/snippets", {"id": "footer", "content": {"text": "x"}})
    content = CONTENT | {"text": '{{ render_snippet("footer") }}{{ render_snippet("header") }}'}
    results = client.post(PATH, {"content": content}).results
    assert results["snippets"] == [
        {"id": "footer", "part": "text", "line": 1, "column": 19, "length": 8, "exists": True},
        {"id": "header", "part": "text", "line": 1, "column": 49, "length": 8, "exists": False},
    ]
    results = client.on_behalf_of(make_subaccount().id).post(PATH, {"content": content}).results
    assert [each["exists"] for each in results["snippets"]] == [False, False]


def test_the_content_of_a_snippet_follows_the_rules_of_snippets(client: Client) -> None:
    def errors(content: dict[str, Any]) -> list[tuple[Any, ...]]:
        return places(client.post(PATH, {"content": content, "snippet": True}).results)

    assert errors({"html": "{{ loop_var }}"}) == []
    call = {"text": '{{ render_snippet("a") }}'}
    assert errors(call) == [("3000", "text", 1, 4, 14)]
    assert errors({"subject": "x"}) == [("1300", None, None, None, None)]
    assert errors({"text": "x" * 102_401}) == [("1300", None, None, None, None)]


def test_a_body_that_is_no_content_is_refused(client: Client) -> None:
    assert client.post(PATH, {}).error["code"] == "1400"
    assert client.post(PATH, {"content": {"text": 5}}).error["code"] == "1300"
    assert client.post(PATH, {"content": CONTENT, "substitution_data": []}).status == 422


def test_the_grant_is_that_of_previews(client: Client) -> None:
    assert make_key(1, grants=("templates/preview",)).post(PATH, {"content": CONTENT}).status == 200
    assert make_key(1, grants=("templates/modify",)).post(PATH, {"content": CONTENT}).status == 403
