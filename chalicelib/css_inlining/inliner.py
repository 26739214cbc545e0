"""Inline the style sheets of html, so that it looks the same in programs that ignore them.

css-inline finds the elements for each selector. It writes html in another form than it was, so its
result is only read for that: each start tag carries its number there, and each selector declares a
property that is named by its number.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from chalicelib.css_inlining.declarations import DeclarationBlock, merged
from chalicelib.css_inlining.document import Document, StyleElement
from chalicelib.css_inlining.style_sheet import (
    Rule,
    StyleSheet,
    important_families,
    style_sheet,
)
from chalicelib.tracking.links import MARK


class _Candidate(NamedTuple):
    """A selector that may match: its style sheet, rule and place in the rule's list."""

    sheet: int
    rule: int
    place: int


def inline(html: bytes) -> bytes:
    """Return html (UTF-8) with its style sheets inlined; raises ``ValueError``.

    A rule that was inlined for some of its selectors stays for the others, and so do at-rules. No
    remote style sheet is loaded.
    """
    text = html.decode("utf-8", "surrogatepass")
    return inlined(text).encode("utf-8", "surrogatepass")


def inlined(html: str) -> str:
    """Return html with its style sheets inlined; raises ``ValueError``."""
    document = Document(html)
    elements = document.inlinable()
    sheets = [style_sheet(html[each.content_start : each.content_end]) for each in elements]
    candidates = list(_candidates(sheets))
    if not candidates:
        return html
    matches = _matches(document, sheets, candidates)
    rests = _rests(elements, sheets, candidates, {n for each in matches.values() for n in each})
    styles = _styles(document, sheets, candidates, matches, _important(document, rests))
    return document.rewritten(styles, rests)


def _candidates(sheets: Sequence[StyleSheet]) -> Iterator[_Candidate]:
    for number, sheet in enumerate(sheets):
        for rule_number, rule in enumerate(sheet.rules):
            for place, selector in enumerate(rule.selectors):
                if selector.matcher:
                    yield _Candidate(number, rule_number, place)


def _matches(
    document: Document, sheets: Sequence[StyleSheet], candidates: Sequence[_Candidate]
) -> Mapping[int, tuple[int, ...]]:
    """Return the candidates that match each start tag, by number; other tags are absent."""
    import css_inline

    name = f"data-n{secrets.token_hex(8)}"
    css = "".join(
        f"{_rule(sheets, each).selectors[each.place].matcher}{{--{number}:0}}"
        for number, each in enumerate(candidates)
    )
    result = css_inline.inline(
        _characters(document.numbered(name)),
        inline_style_tags=False,
        load_remote_stylesheets=False,
        extra_css=_characters(css),
    )
    # css-inline sorts attributes by their names, and writes the style behind them
    others = r"""(?: (?!style=")[^\s"=]+="[^"]*+")*+"""
    element = re.compile(rf' {name}="(\d+)"{others} style="((?:--\d+: 0;)+)"')
    numbers = cache(lambda style: tuple(map(int, re.findall(r"\d+(?=:)", style))))
    # The parser may have made several elements of one tag: the first is the one in its place
    results = reversed(list(element.finditer(result)))
    return {int(each[1]): numbers(each[2]) for each in results}


def _characters(text: str) -> str:
    """Return text without the marks of literal links, and without what is no character."""
    return text.replace(MARK, "").encode("utf-8", "replace").decode()


def _rests(
    elements: Sequence[StyleElement],
    sheets: Sequence[StyleSheet],
    candidates: Sequence[_Candidate],
    inlined_numbers: set[int],
) -> Mapping[StyleElement, str]:
    """Return what stays of style elements from which something was inlined."""
    places: dict[int, list[tuple[int, int]]] = {}
    for number in inlined_numbers:
        candidate = candidates[number]
        places.setdefault(candidate.sheet, []).append((candidate.rule, candidate.place))
    return {
        elements[number]: sheets[number].rest(of_sheet)
        for number, of_sheet in places.items()
        if not elements[number].is_kept
    }


def _important(document: Document, rests: Mapping[StyleElement, str]) -> set[str]:
    """Return the families of properties that are important in what stays of style sheets."""
    html = document.html
    texts = (
        rests[each] if each in rests else html[each.content_start : each.content_end]
        for each in document.style_elements
    )
    return set[str]().union(*map(important_families, texts))


def _styles(
    document: Document,
    sheets: Sequence[StyleSheet],
    candidates: Sequence[_Candidate],
    matches: Mapping[int, tuple[int, ...]],
    important_elsewhere: set[str],
) -> Mapping[int, str]:
    """Return the new value of each style attribute, by the number of its start tag."""

    @cache
    def value(numbers: tuple[int, ...], style: str) -> str:
        blocks = [_block(sheets, candidates[number], number) for number in numbers]
        return merged(blocks, style, important_elsewhere)

    return {tag: value(numbers, document.style_of(tag)) for tag, numbers in matches.items()}


def _block(sheets: Sequence[StyleSheet], candidate: _Candidate, order: int) -> DeclarationBlock:
    rule = _rule(sheets, candidate)
    return DeclarationBlock(rule.selectors[candidate.place].specificity, order, rule.declarations)


def _rule(sheets: Sequence[StyleSheet], candidate: _Candidate) -> Rule:
    return sheets[candidate.sheet].rules[candidate.rule]
