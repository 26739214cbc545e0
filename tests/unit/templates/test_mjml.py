"""MJML is compiled when content is saved; every error has its place, and all tags survive."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.template_language import HTML, compile_part, merge_data
from chalicelib.templates.mjml import MOST_BYTES, Compilation
from chalicelib.templates.mjml_structure import DEEPEST, MOST_ELEMENTS
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key

BODY = "<mjml><mj-body>%s</mj-body></mjml>"
COLUMN = BODY % "<mj-section><mj-column>%s</mj-column></mj-section>"
TEXT = COLUMN % "<mj-text>%s</mj-text>"
SHOP = """<mjml>
  <mj-head>
    <mj-attributes><mj-divider border-color="{{ brand }}" /></mj-attributes>
    <mj-preview>{{ preview }}</mj-preview>
  </mj-head>
  <mj-body>
    {{ if is_customer and orders < 3 }}
    <mj-section><mj-column>
      <mj-text>Hello {{ name }}<br>&nbsp;</mj-text>
      {{ each items }}
      <mj-button href="https://shop.example/?id={{ loop_var.id }}&amp;a=1">
        {{ loop_var.title }}
      </mj-button>
      {{ end }}
    </mj-column></mj-section>
    {{ end }}
  </mj-body>
</mjml>"""


def error_of(source: str) -> dict[str, Any]:
    """Return the only error of a source, without what all errors have."""
    (error,) = [located.as_dict() for located in Compilation(source).errors]
    assert (error.pop("code"), error.pop("part")) == ("3000", "mjml")
    error.pop("message")
    error["description"] = error["description"].partition(f"line {error['line']}: ")[2]
    return error


def render(source: str, data: dict[str, Any]) -> str:
    compilation = Compilation(source)
    assert compilation.errors == []
    part = compile_part(compilation.html, HTML)
    return part.render(merge_data(transmission_data=data), dynamic={})


def test_a_template_is_compiled_with_its_tags_and_renders() -> None:
    items = [{"id": 7, "title": "Tea & milk"}, {"id": 8, "title": "<b>"}]
    data = {"is_customer": True, "orders": 1, "name": "Ann", "preview": "News", "items": items}
    html = render(SHOP, data)
    assert "Hello Ann<br />&nbsp;" in html
    assert html.count('<a href="https://shop.example/?id=') == 2
    assert "Tea &amp; milk" in html
    assert "{{" not in html
    assert "tag0" not in html
    assert "Hello" not in render(SHOP, data | {"orders": 5})


def test_no_fonts_are_loaded_but_those_that_are_declared() -> None:
    assert set(re.findall(r"https?://[^/\"]+", Compilation(TEXT % "a").html)) <= {
        "http://www.w3.org"
    }
    font = '<mj-font name="Raleway" href="https://fonts.example/raleway.css" />'
    text = (
        '<mj-section><mj-column><mj-text font-family="Raleway">a</mj-text></mj-column></mj-section>'
    )
    source = f"<mjml><mj-head>{font}</mj-head><mj-body>{text}</mj-body></mjml>"
    assert "https://fonts.example/raleway.css" in Compilation(source).html


def test_names_are_those_of_the_source() -> None:
    analysis = Compilation(SHOP).analysis
    names = {each.name: each.place.line for each in analysis.variables}
    assert names["name"] == 9
    assert {"is_customer", "orders", "items", "preview", "brand"} <= set(names)


@pytest.mark.parametrize(
    ("source", "description", "place"),
    [
        (COLUMN % "\n <mj-foo>x</mj-foo>", "there is no element <mj-foo>", "<mj-foo>"),
        (
            TEXT % "é{{ e }}\na < b",
            "'<' begins no element: write &lt; for the character",
            "<",
        ),
        (TEXT % "{{ a }}<p>x", "<p> is not closed", "<p>"),
        (TEXT % "</p>", "</p> closes no element", "</p>"),
        (
            BODY % "{{a}}<mj-include path='x'/>",
            "mj-include is not possible here: there are no files to include",
            "<mj-include path='x'/>",
        ),
        ("Hello", "MJML begins with <mjml>", ""),
        ("", "MJML begins with <mjml>", ""),
        (
            COLUMN % "<mj-image src='a' width='{{ w }}px' />",
            "MJML cannot have a substitution here",
            "{{ w }}",
        ),
        (
            COLUMN % "<mj-social>é{{ if a }}<mj-social-element/>{{ end }}</mj-social>",
            "unexpected token 'é{{ if a }}'",
            "é{{ if a }}",
        ),
        (TEXT % "{{ if }}x{{ end }}", "syntax error near '}}'", "}}"),
    ],
)
def test_an_error_has_its_place(source: str, description: str, place: str) -> None:
    start = source.index(place) if place != "<" else source.index("< b")
    line = source.count("\n", 0, start) + 1
    column = start - source.rfind("\n", 0, start)
    expected = {"description": description, "line": line, "column": column, "length": len(place)}
    assert error_of(source) == expected


def test_what_would_cost_too_much_is_refused_before_it_is_compiled() -> None:
    deep = TEXT % ("<b>" * DEEPEST + "</b>" * DEEPEST)
    assert "nested more than" in error_of(deep)["description"]
    many = BODY % ("<mj-section></mj-section>" * MOST_ELEMENTS)
    assert "more than 5000 elements" in error_of(many)["description"]
    assert f"more than {MOST_BYTES} bytes" in error_of(TEXT % ("x" * MOST_BYTES))["description"]
    defaults = f"<mj-attributes><mj-text css-class='{'x' * 20_000}'/></mj-attributes>"
    wasteful = f"<mjml><mj-head>{defaults}</mj-head><mj-body></mj-body></mjml>"
    assert "mj-attributes have more than" in error_of(wasteful)["description"]


_PIECES = st.sampled_from(
    [
        *("<mjml>", "</mjml>", "<mj-body>", "</mj-body>", "<mj-section>", "</mj-section>"),
        *("<mj-column>", "</mj-column>", "<mj-text>", "</mj-text>", "<mj-raw>", "</mj-raw>"),
        *("<mj-style>", "<mj-head>", "<mj-attributes>", "<mj-button href='{{u}}'>", "<mj-social>"),
        *("{{ x }}", "{{ if a < b }}", "{{ end }}", "{{", "}}", "{{{ x }}}", "tag00000", "<", ">"),
        *('"', "'", "&", "&nbsp;", "<!--", "-->", "<br>", "<b", "</b>", "é", "\n", " ", "x", "]]>"),
        *("<![CDATA[", "<?xml?>", "<!DOCTYPE html>", "\0", "😀", "<mj-image width='{{w}}'/>", "/>"),
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=60))
def test_any_source_has_html_or_errors_with_places(source: str) -> None:
    compilation = Compilation(source)
    assert bool(compilation.html) != bool(compilation.errors)
    lines = source.count("\n") + 1
    for located in compilation.errors:
        assert 1 <= located.error.line <= lines


_TAGS = st.sampled_from(["{{ a }}", "{{{ a }}}", "{{ if a }}y{{ end }}", '{{ a["<b>"] }}', "{{a}}"])


@given(st.lists(_TAGS | st.sampled_from(["x", " ", "<b>", "</b>", "&amp;", "\n"]), max_size=20))
def test_tags_survive_byte_for_byte(pieces: list[str]) -> None:
    text = "".join(pieces)
    compilation = Compilation(TEXT % text)
    if not compilation.errors:
        tags = re.findall(r"\{\{.*?\}\}+", text)
        assert re.findall(r"\{\{.*?\}\}+", compilation.html) == tags
        HTMLParser().feed(compilation.html)


@pytest.fixture
def client(cloud: None) -> Client:
    make_account(1)
    return make_key(1)


PATH = "/api/v1/templates/shop"


def content(**fields: Any) -> dict[str, Any]:
    return {"from": "me@example.test", "subject": "Hello", **fields}


def stored(client: Client) -> dict[str, Any]:
    result: dict[str, Any] = client.get(PATH).results["content"]
    return result


def test_a_template_keeps_its_mjml_and_has_html(client: Client) -> None:
    mjml = TEXT % "Hello {{ name }}"
    body = {"id": "shop", "content": content(mjml=mjml), "published": True}
    assert client.post("/api/v1/templates", body).status == 200
    assert stored(client)["mjml"] == mjml
    assert "Hello {{ name }}" in stored(client)["html"]
    preview = client.post(f"{PATH}/preview", {"substitution_data": {"name": "<Ann>"}}).results
    assert "Hello &lt;Ann&gt;" in preview["html"]
    assert "mjml" not in preview
    again = stored(client) | {"subject": "New"}
    assert client.put(PATH, {"content": again}).status == 200
    assert stored(client) == again
    assert client.put(PATH, {"content": content(html="<p>Hi</p>")}).status == 200
    assert "mjml" not in stored(client)


def test_a_bad_template_changes_nothing(client: Client) -> None:
    assert client.post("/api/v1/templates", {"id": "shop", "content": content(text="T")})
    before = stored(client)
    for bad, text in (
        (content(mjml=TEXT % "{{ a }}<mj-foo/>"), "there is no element <mj-foo>"),
        (content(mjml=TEXT % "{{ if }}"), "syntax error near"),
        (content(mjml=TEXT % "a", html="<p>b</p>"), "content.html must be left out"),
        (content(mjml=TEXT % "a", email_rfc822="Subject: a\n\na"), "excludes all other fields"),
        (content(mjml=""), "'text' or 'html'"),
    ):
        response = client.put(PATH, {"content": bad})
        assert response.status == 422
        assert text in json.dumps(response.body)
    assert stored(client) == before


def test_the_validator_shows_all_errors_and_names(client: Client) -> None:
    path = "/api/v1/utils/content-validator"
    bad = {"mjml": COLUMN % "\n<mj-foo>{{ name }}</mj-foo>\n<p>", "subject": "{{ if }}"}
    results = client.post(path, {"content": bad | {"from": "me@example.test"}}).results
    places = [(each["part"], each["line"], each["column"]) for each in results["errors"]]
    assert places[-2:] == [("mjml", 2, 1), ("mjml", 3, 1)]
    assert ("Header:Subject", 1, 1) in places
    good = content(mjml=TEXT % "{{ name }}{{ render_snippet('s') }}")
    results = client.post(path, {"content": good, "substitution_data": {}}).results
    assert results["valid"]
    (variable,) = results["variables"]
    assert (variable["name"], variable["part"], variable["missing"]) == ("name", "mjml", True)
    assert [(each["id"], each["exists"]) for each in results["snippets"]] == [("s", False)]
    snippet = client.post(path, {"content": {"mjml": TEXT % "a"}, "snippet": True}).results
    assert "a snippet has no content.mjml" in str(snippet["errors"])


def test_content_is_previewed_before_it_is_stored(client: Client) -> None:
    body = {"content": {"mjml": TEXT % "Hello {{ name }}"}, "substitution_data": {"name": "Ann"}}
    assert "Hello Ann" in client.post("/api/v1/utils/content-previewer", body).results["html"]
