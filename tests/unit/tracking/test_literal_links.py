from __future__ import annotations

import pytest

from chalicelib.template_language import HTML, TEXT, TemplatePart, compile_part
from chalicelib.tracking import literal_links
from chalicelib.tracking.literal_links import mark, mark_all
from tests.unit.linear_time import assert_linear
from tests.unit.tracking.examples import html, targets, text

URL = "https://values.example/"


def rendered(source: str, part: TemplatePart, dynamic: dict[str, object] | None = None) -> str:
    return compile_part(mark(source), part).render({"url": URL, "id": 7}, dynamic=dynamic)


@pytest.mark.parametrize(
    ("source", "tracked"),
    [
        ('<a href="https://a.example/">', ["https://a.example/"]),
        ('<a href="https://a.example/?id={{id}}">', ["https://a.example/?id=7"]),
        ('<a href=" HTTPS://a.example/">', ["HTTPS://a.example/"]),
        ('<a href="{{url}}">', []),
        ('<a href="{{{url}}}x">', []),
        ("<a href=\"{{'https://in.example'}}\">", []),
        ('<a href="{{if id}}https://a.example/{{else}}{{url}}{{end}}">', ["https://a.example/"]),
        ('<a href="https://{{id}}.example/"><a href="{{url}}">', ["https://7.example/"]),
    ],
)
def test_links_are_tracked_whose_protocol_is_in_the_template(
    source: str, tracked: list[str]
) -> None:
    assert targets(html(rendered(source, HTML), marked=True)) == tracked


def test_links_in_text_are_tracked_whose_protocol_is_in_the_template() -> None:
    source = "{{url}} https://a.example/{{id}}, see {{url}}"
    out = text(rendered(source, TEXT), marked=True)
    assert targets(out) == ["https://a.example/7"]
    assert out.startswith(URL)
    assert out.endswith(f", see {URL}")


def test_links_of_dynamic_content_are_tracked() -> None:
    dynamic = mark_all(
        {"dynamic_html": {"list": ['<a href="https://a.example/">']}, "n": [1, None]}
    )
    assert dynamic["n"] == [1, None]
    out = rendered("{{render_dynamic_content(dynamic_html.list[1])}}", HTML, dynamic)
    assert targets(html(out, marked=True)) == ["https://a.example/"]


def test_the_rewriter_removes_every_mark() -> None:
    source = (
        '<!DOCTYPE html PUBLIC "x" "http://www.w3.org/"><img src="https://a.example/">'
        '<style>p{background:url(https://a.example/)}</style><a href="mailto:a" x="http://b">'
        '<!-- http://c --> http://d <a data-svc-clicktrack="0" href="http://e"><a href="http://f" y'
    )
    assert mark(source) != source
    out = html(mark(source), marked=True)
    assert out == source.replace(' data-svc-clicktrack="0"', "")
    assert (
        text(mark("http://d <http://e/ http://f[[data-svc-clicktrack=0]]"), marked=True)[0] == "h"
    )


def test_a_source_without_links_is_unchanged() -> None:
    source = "Hello {{name}}, {{ 'http://x' }} mailto:x {{ unclosed"
    assert mark(source) == source


def test_marked_sources_are_cached_and_the_cache_is_limited() -> None:
    source = "<a href='http://a/'>" * 50_000
    assert mark(source) is mark("".join(source))
    first = mark("again http://a")
    for number in range(9):
        mark(f"{number} {source}")
    assert mark("again http://a") == first
    assert literal_links._cache._size <= literal_links._CACHE_BYTES


def test_hostile_sources_take_linear_time() -> None:
    for unit in ("{{", "{{}}", "http://", "{", "http:/"):
        assert_linear(mark, unit * (400_000 // len(unit)))
