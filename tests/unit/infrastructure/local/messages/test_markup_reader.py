from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from infrastructure.local.messages.features import features_of
from infrastructure.local.messages.html import Html
from infrastructure.local.messages.markup_reader import MarkupReader
from tests.unit.linear_time import assert_linear


class Calls:
    """The calls of handlers, with texts joined."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, ...]] = []

    def handle_starttag(self, *arguments: Any) -> None:
        self.calls.append(("start", *arguments))

    def handle_endtag(self, *arguments: Any) -> None:
        self.calls.append(("end", *arguments))

    def handle_comment(self, *arguments: Any) -> None:
        self.calls.append(("comment", *arguments))

    def handle_decl(self, *arguments: Any) -> None:
        self.calls.append(("decl", *arguments))

    def handle_data(self, data: str) -> None:
        if self.calls and self.calls[-1][0] == "text":
            data = self.calls.pop()[1] + data
        if data:
            self.calls.append(("text", data))


class Reader(Calls, MarkupReader):
    pass


class Parser(Calls, HTMLParser):
    pass


@pytest.mark.parametrize(
    "html",
    [
        "<!DOCTYPE html><p class=a ID='b &amp; c' hidden>x &lt; y &eacute;</P>z",
        "<style>p > a { content: '&amp;' }</style><title>a &amp; b</title>",
        "a < b<!-- c --><!--[if mso]><p><![endif]--><br><img src=x>",
        "<a href='x'>1<b>2</a>3</b>",
    ],
)
def test_handlers_are_called_as_by_the_standard_library(html: str) -> None:
    reader, parser = Reader(), Parser()
    reader.read(html)
    parser.feed(html)
    parser.close()
    assert reader.calls == parser.calls


@pytest.mark.parametrize("html", ["<![if !mso]>x<![endif]>", "<![", "<![x", "<a b", "<!--", "</"])
def test_strange_markup_is_read(html: str) -> None:
    features_of(html)
    assert Html(html).text in ("", "x")


@pytest.mark.parametrize(
    "unit", ["<!--", "<!", "<![", "<a ", '<a b="', "</", "<?", "&", "<style>", "<p style='", "<a/"]
)
def test_hostile_html_takes_linear_time(unit: str) -> None:
    assert_linear(Html, unit * (100_000 // len(unit)))
    assert_linear(features_of, unit * (100_000 // len(unit)))
