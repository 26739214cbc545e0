"""The html refers to an inline image by the very characters of its Content-ID."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import quote

import pytest
from hypothesis import given

from chalicelib.mail_format.content_ids import content_id, with_content_ids
from tests.unit.mail_format.examples import ONE_LINE, examples


@pytest.mark.parametrize("name", ["logo", "logo@1.x", "a b.png", "100%25.png", "a&b"])
def test_an_ascii_name_is_its_own_content_id(name: str) -> None:
    html = f'<img src="cid:{name}"> cid:é'
    assert content_id(name) == name
    assert with_content_ids(html, [name]) == html


@examples(100)
@given(ONE_LINE)
def test_a_content_id_reads_the_same_in_a_header_and_in_a_url(name: str) -> None:
    identifier = content_id(name + "é")
    assert re.fullmatch(r"[0-9a-f]{32}@[a-z]+", identifier)
    assert content_id("é" + name + "é") != identifier


@pytest.mark.parametrize(
    "reference",
    [
        "Größe & 1.png",
        "Größe &amp; 1.png",
        "Gr&ouml;&szlig;e &amp; 1.png",
        "Gr&#246;&#xDF;e &amp; 1.png",
        "Gr%C3%B6%c3%9fe%20%26%201.png",
        "Gr%C3%B6%C3%9Fe%20&amp;%201.png",
    ],
)
@pytest.mark.parametrize("html", ["<img src='cid:{}'>", "a{{b:url(CID:{})}}", "cid:{}"])
def test_every_way_to_write_a_name_is_found(html: str, reference: str) -> None:
    name = "Größe & 1.png"
    expected = html.format(content_id(name))
    assert with_content_ids(html.format(reference), [name, "logo"]) == expected


@examples(200)
@given(ONE_LINE)
def test_any_name_is_found_raw_escaped_and_percent_encoded(name: str) -> None:
    name += "é"
    expected = f'<a><img src="cid:{content_id(name)}">'
    escaped = quote(name, errors="surrogatepass")
    for reference in (escape(name), escaped):
        assert with_content_ids(f'<a><img src="cid:{reference}">', [name]) == expected


def test_the_longest_name_counts() -> None:
    names = ["ä", "ä.png"]
    html = with_content_ids('"cid:ä" "cid:ä.png"', names)
    assert html == f'"cid:{content_id("ä")}" "cid:{content_id("ä.png")}"'


def test_a_name_with_a_percent_sign_is_taken_as_written_first() -> None:
    names = ["ä%41", "äA"]
    html = with_content_ids("'cid:ä%41' 'cid:äA'", names)
    assert html == f"'cid:{content_id('ä%41')}' 'cid:{content_id('äA')}'"


def test_other_text_stays_as_it_is() -> None:
    html = "<p>ä cid: &auml; cid:%</p><img src='cid:other'> cid:%C3"
    assert with_content_ids(html, ["ä"]) == html
    assert with_content_ids("", ["ä"]) == ""
