"""Each example of the page about the language gives what the page shows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chalicelib.template_language import (
    HTML,
    TEXT,
    TemplateError,
    TemplatePart,
    compile_part,
    header,
    merge_data,
)
from chalicelib.template_language.words import AUTOMATIC, KEYWORDS
from infrastructure.console_page import console_page
from infrastructure.docs import LANGUAGE_IN_CONSOLE

PAGE = (Path(__file__).parents[3] / "docs" / "template-language.md").read_text(encoding="utf-8")
_FENCE = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PARTS: dict[str | None, TemplatePart] = {None: HTML, "text": TEXT, "subject": header("Subject")}


@dataclass
class Example:
    """A template with what is around it on the page."""

    template: str = ""
    part: TemplatePart = HTML
    data: dict[str, Any] = field(default_factory=dict)
    snippets: dict[str, Any] = field(default_factory=dict)
    result: str = ""
    is_error: bool = False


def examples() -> list[Example]:
    """Read the page: an example ends with its output or its error."""
    listing, example = [], Example()
    for kind, name, text in _FENCE.findall(PAGE):
        if kind == "template":
            example.template, example.part = text.removesuffix("\n"), PARTS[name or None]
        elif kind == "snippet":
            example.snippets[name] = {"html": text.removesuffix("\n")}
        elif kind == "data":
            example.data[name or "transmission_data"] = json.loads(text)
        else:
            assert kind in ("output", "error"), kind
            example.result, example.is_error = text.strip("\n"), kind == "error"
            listing.append(example)
            example = Example()
    return listing


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.template[:40])
def test_an_example_gives_what_the_page_shows(example: Example) -> None:
    data = merge_data(**example.data)
    dynamic = example.data.get("transmission_data", {})
    is_error = False
    try:
        compiled = compile_part(example.template, example.part)
        result = compiled.render(data, snippets=example.snippets.get, dynamic=dynamic)
    except TemplateError as error:
        result, is_error = error.detail, True
    assert (result.strip("\n"), is_error) == (example.result, example.is_error)


def test_the_page_names_every_word_and_macro_of_the_language() -> None:
    words = {*KEYWORDS, *AUTOMATIC, "loop_var", "loop_index", "loop_vars", "empty"}
    words |= {"render_snippet", "render_dynamic_content", "dynamic_html", "dynamic_plain"}
    words |= {"dynamic_amp_html", "opening_single_curly", "opening_triple_curly"}
    assert not {word for word in words if not re.search(rf"\b{word}\b", PAGE)}
    for operator in ("+", "-", "*", "/", "#", "==", "!=", "<", "<=", ">", ">="):
        assert f"`{operator}`" in PAGE


def test_the_page_has_examples_of_both_kinds() -> None:
    assert len([each for each in examples() if each.is_error]) >= 5
    assert len(examples()) >= 25


def test_the_console_shows_the_same_page() -> None:
    assert LANGUAGE_IN_CONSOLE.read_text(encoding="utf-8") == console_page(PAGE)


def test_the_page_in_the_console_has_every_example_and_no_link_that_leads_nowhere() -> None:
    page = console_page(PAGE)
    results = re.findall(r'<div class="example (?:output|error)">', page)
    assert len(results) == len(examples())
    assert "&lt;h1&gt;Hello {{name}}&lt;/h1&gt;" in page
    assert ".md" not in page
    assert "<a " not in page
