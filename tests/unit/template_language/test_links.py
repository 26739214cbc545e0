from __future__ import annotations

import pytest

from chalicelib.template_language import AMP_HTML, HTML, TEXT, header

from .rendering import render

DATA = {"v": "a b/é", "t": True, "f": False, "l": ["x y", "z"], "p": "https", "n": 1e20}
ENCODED = "a%20b%2F%C3%A9"


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ('<a href="https://e.com/{{v}}">{{v}}', f'<a href="https://e.com/{ENCODED}">a b&#x2F;é'),
        ("<a href='http://e.com/{{v}}'>{{v}}", f"<a href='http://e.com/{ENCODED}'>a b&#x2F;é"),
        ("<a href=http://e.com/{{v}}>{{v}}", f"<a href=http://e.com/{ENCODED}>a b&#x2F;é"),
        ("see http://e.com/{{v}} or {{v}}", f"see http://e.com/{ENCODED} or a b&#x2F;é"),
        ("HTTPS://e.com/{{v}}/{{v}}", f"HTTPS://e.com/{ENCODED}/{ENCODED}"),
        ("https://{{{v}}}?q={{v}}", f"https://a b/é?q={ENCODED}"),
        ("https://e.com/?n={{n}}", "https://e.com/?n=1e%2B20"),
        ('<a href="{{p}}://e.com/{{v}}">', '<a href="https://e.com/a b&#x2F;é">'),
        ('<a href="ftp://e.com/{{v}}">', '<a href="ftp://e.com/a b&#x2F;é">'),
        ("url(https://e.com/a(b){{v}});x:{{v}}", f"url(https://e.com/a(b){ENCODED});x:a b&#x2F;é"),
        ("http:/{{v}} https:{{v}}", "http:/a b&#x2F;é https:a b&#x2F;é"),
    ],
)
def test_values_are_encoded_inside_links_that_the_template_begins(
    template: str, output: str
) -> None:
    assert render(template, DATA) == output


def test_links_in_text_and_amp_encode_and_headers_have_no_links() -> None:
    template = "https://e.com/{{v}}"
    assert render(template, DATA, TEXT) == f"https://e.com/{ENCODED}"
    assert render(template, DATA, AMP_HTML) == f"https://e.com/{ENCODED}"
    assert render(template, DATA, header("List-Help")) == "https://e.com/a b/é"


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("https://e.com/{{v}}。{{v}}", f"https://e.com/{ENCODED}。a b/é"),
        ("(https://e.com/({{v}}){{v}}){{v}}", f"(https://e.com/({ENCODED}){ENCODED})a b/é"),
        ("[{{v}}](https://{{v}})[{{v}}](https://{{v}})", f"[a b/é](https://{ENCODED})" * 2),
        ("&lt;https://e.com/{{v}}&gt;{{v}}", f"&lt;https://e.com/{ENCODED}&gt;a b/é"),
        ("https://e.com/?u=https://{{v}}/{{v}}", f"https://e.com/?u=https://{ENCODED}/{ENCODED}"),
        ("app://x?u=https://e.com/{{v}} {{v}}", f"app://x?u=https://e.com/{ENCODED} a b/é"),
        ("(https://e.com{{if t}}/({{end}}{{v}}){{v}}", f"(https://e.com/({ENCODED}){ENCODED}"),
        ("(https://e.com{{if f}}/({{end}}{{v}}){{v}}", f"(https://e.com{ENCODED}){ENCODED}"),
        ("https://e.com/{{v}}, {{v}}", f"https://e.com/{ENCODED}, a b/é"),
    ],
)
def test_links_in_text_end_where_readers_of_text_see_their_end(template: str, output: str) -> None:
    assert render(template, DATA, TEXT) == output


@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("http://e.com/{{if t}}{{v}}{{end}}/{{v}}", f"http://e.com/{ENCODED}/{ENCODED}"),
        ("http://e.com/{{if f}}x {{v}}{{end}}{{v}}", f"http://e.com/{ENCODED}"),
        ("http://e.com/{{if f}}x {{else}}{{v}}{{end}}", f"http://e.com/{ENCODED}"),
        ("{{if f}}http://a.com{{else}}http://b.com{{end}}/{{v}}", f"http://b.com/{ENCODED}"),
        ("{{if f}}http://a.com {{else}}b{{end}}{{v}}", "ba b&#x2F;é"),
        ("http://e.com/{{each l}}{{loop_var}},{{end}}{{v}}", f"http://e.com/x%20y,z,{ENCODED}"),
        (
            "{{if t}}\nhttps://{{v}}/\n{{else}}\nhttps://e.com/\n{{end}}\n{{v}}",
            f"https://{ENCODED}/\na b&#x2F;é",
        ),
    ],
)
def test_a_link_runs_through_blocks(template: str, output: str) -> None:
    assert render(template, DATA) == output


def test_link_attributes_are_left_alone() -> None:
    text = 'http://e.com/{{v}}[[data-svc-clicktrack="0"]] {{v}}'
    assert render(text, DATA, TEXT) == f'http://e.com/{ENCODED}[[data-svc-clicktrack="0"]] a b/é'
    html = '<a href="http://e.com" data-svc-linkname="{{v}}" data-svc-unsubscribe="1">'
    assert render(html, {"v": "x"}, HTML) == html.replace("{{v}}", "x")


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("-._~azAZ09", "-._~azAZ09"),
        ("&=?#+%/:;,@!$'()*[]", "%26%3D%3F%23%2B%25%2F%3A%3B%2C%40%21%24%27%28%29%2A%5B%5D"),
        ("\ud800", "%3F"),
        ("٣", "%D9%A3"),
        ("", ""),
        (5, "5"),
        (True, "true"),
        (None, ""),
    ],
)
def test_all_but_unreserved_characters_are_encoded(value: object, encoded: str) -> None:
    assert render("http://{{v}}", {"v": value}) == f"http://{encoded}"
