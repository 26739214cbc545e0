from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.tracking import markup
from chalicelib.tracking.markup import Unfinished
from tests.unit.linear_time import assert_linear
from tests.unit.tracking.reference_tokenizer import Reference

SCRAPS = [
    *(
        "<a",
        "<A ",
        "<area ",
        "<abbr ",
        "<body",
        "<BODY ",
        "</body",
        "<p",
        "<p ",
        "<br/>",
        "</p",
        "</a>",
    ),
    *(
        'href="u"',
        "href='u'",
        "href=u",
        "x",
        "=",
        "==",
        '"',
        "'",
        "/",
        ">",
        "<",
        " ",
        "\n",
        "\f",
        "-",
        "!",
    ),
    *("<!--", "-->", "--!>", "<!-->", "<!--->", "<!", "<?", "</", "</>", "<!doctype html>", "]]>"),
    *(
        "<style>",
        "</style>",
        "<script ",
        "</script",
        "<title>",
        "</TITLE >",
        "<textarea>",
        "é",
        "\xa0",
    ),
]
soups = st.lists(st.sampled_from(SCRAPS), max_size=25).map("".join)


def found_in(text: str) -> tuple[list[tuple[str, int, int]], bool]:
    """Return the tags that are found, and whether the markup has a proper end."""
    tags = []
    try:
        for tag in markup.tags(text):
            tags.append(tuple(tag))
    except Unfinished:
        return tags, False
    return tags, True


@settings(max_examples=400)
@given(soups)
def test_tags_are_found_where_the_specification_of_html_finds_them(text: str) -> None:
    reference = Reference(text)
    expected = [tag[:3] for tag in reference.tags if tag[0] in ("a", "area", "body", "/body")]
    tags, is_finished = found_in(text)
    assert tags == expected
    if text and not text.endswith("<"):
        assert is_finished == reference.is_finished


@settings(max_examples=400)
@given(soups)
def test_start_tags_are_found_where_the_specification_of_html_finds_them(text: str) -> None:
    expected = [tag[:3] for tag in Reference(text).tags if not tag[0].startswith("/")]
    assert list(map(tuple, markup.start_tags(text))) == expected


@settings(max_examples=400)
@given(soups)
def test_pieces_are_all_tags_and_what_is_between_them(text: str) -> None:
    pieces = list(markup.pieces(text))
    assert (
        "".join(text[start:end] for _, start, end in pieces)
        == text[: pieces[-1].end if pieces else 0]
    )
    tags = [tuple(each) for each in pieces if each.name not in ("", "!")]
    assert tags == [tag[:3] for tag in Reference(text).tags]


@settings(max_examples=250)
@given(soups.map(lambda soup: f"<a {soup}>"))
def test_attributes_are_read_as_the_specification_of_html_reads_them(text: str) -> None:
    for _, start, end, attributes in Reference(text).tags:
        tag = text[start:end]
        if tag.startswith("</"):
            continue
        read = list(markup.attributes(tag))
        assert [(each.name, each.value or "") for each in read] == attributes
        for each in read:
            assert tag[each.value_start :].startswith(each.value or "")
        cut = markup.around_href(tag)
        if cut:
            assert "".join(cut) == tag
            assert cut[1] == dict(reversed(attributes))["href"]


@pytest.mark.parametrize(
    "hidden",
    [
        '<!-- <a href="x"> -->',
        '<!--[if mso]><a href="x">y</a><![endif]-->',
        '<script>"<a href=x>"</script>',
        "<STYLE><a href=x></Style>",
        "<title><a href=x></title>",
        '<img alt="<a href=x>">',
        "<img alt='<a href=x>'>",
        "<p title=<a>",
        "<!doctype a>",
        "<?a <a ?>",
        "<abbr href=x>",
        "< a href=x>",
    ],
)
def test_text_that_only_looks_like_a_link_is_not_a_link(hidden: str) -> None:
    assert found_in(hidden + "<a>")[0] == [("a", len(hidden), len(hidden) + 3)]


UNITS = [
    *(
        "<a ",
        "<a",
        '<a b="',
        "<a b='",
        '<a b="x" ',
        "<a x=1",
        "<a/",
        "<a =",
        "<a>",
        "<area a ",
        "<body ",
    ),
    *(
        "<p ",
        "<p a=\"'",
        "<p ='",
        "<p a b c d ",
        "<p = ",
        "<p a=  ",
        "<p>",
        "<b c=d'",
        '<x "',
        '<p x"y>',
    ),
    *(
        "</a ",
        "</a '",
        '</p a="',
        "</body ",
        "</",
        "<!--",
        "<!-",
        "<!",
        "--!",
        "<?",
        "<style>",
        "</style",
    ),
    *("<title>", "<", "< ", " ", "/", "=", "'", '"', "a", "-", "<script <style "),
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("before", ["", "<p ", "<a b=", "<p", "<a b='"])
def test_hostile_markup_takes_linear_time(unit: str, before: str) -> None:
    assert_linear(found_in, before + unit * (100_000 // len(unit)))
    assert_linear(found_in, (before + unit) * (100_000 // len(before + unit)))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("before", ["", "<p ", "<a b='"])
def test_start_tags_of_hostile_markup_are_found_in_linear_time(unit: str, before: str) -> None:
    def read(text: str) -> None:
        list(markup.start_tags(text))
        list(markup.pieces(text))

    assert_linear(read, before + unit * (100_000 // len(unit)))
    assert_linear(read, (before + unit) * (100_000 // len(before + unit)))
