"""Repairable faults of XML are repaired, and nothing else is changed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain_reports.xml_text import repaired, without_declaration
from tests.unit.linear_time import assert_linear

PIECES = st.lists(st.text("&<>;#x19amplgtBb \0", max_size=20), max_size=9)


def repair(text: str) -> str:
    return "".join(repaired([text]))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("AT&T", "AT&T"),
        ("a & b && c&", "a & b && c&"),
        ("&nbsp;&eacute;", "&nbsp;&eacute;"),
        ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"),
        ("&#65;&#x41;&#0065;&#9;&#x1F600;&#12354;", "AAA\t\U0001f600あ"),
        ("&#0;&#x1;&#xD800;&#55296;&#x;&#;", "&#0;&#x1;&#xD800;&#55296;&#x;&#;"),
        ("a < b <3 <", "a < b <3 <"),
        ("a\0b\x1bc\ufffe", "a\ufffdb\ufffdc\ufffd"),
    ],
)
def test_what_is_no_markup_is_text(text: str, content: str) -> None:
    assert ElementTree.fromstring(f"<a>{repair(text)} </a>").text == f"{content} "


def test_markup_stays_as_it_is() -> None:
    text = "<ns:a b='c'><!-- d --><?e f?><g/></ns:a>"
    assert repair(text) == text


@given(PIECES)
def test_pieces_are_repaired_like_the_whole(texts: list[str]) -> None:
    assert "".join(repaired(texts)) == repair("".join(texts))


@pytest.mark.parametrize(
    "head",
    [
        *("", "\n", "\r\n \t", "\ufeff\n"),
        *('<?xml version="1.0"?>', '\n<?XML version="1.1" encoding="no-such" ?>\n', "<?xml x>"),
    ],
)
def test_a_document_begins_with_its_root_element(head: str) -> None:
    (text,) = without_declaration([f"{head}<a/>"])
    assert text.lstrip() == "<a/>"


def test_only_the_beginning_is_left_out() -> None:
    assert list(without_declaration(["<a> ", " <?xml b?></a>"])) == ["<a> ", " <?xml b?></a>"]


@pytest.mark.parametrize("piece", ["&", "<", "&#", "&#x1", "\0", "<?xml "])
def test_repairing_takes_linear_time(piece: str) -> None:
    assert_linear(lambda text: "".join(repaired(without_declaration([text]))), piece * 300_000)
