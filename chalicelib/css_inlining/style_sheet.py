"""Read a style sheet: which of its rules can be inlined, and what stays of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from chalicelib.css_inlining.declarations import Declaration, declarations, family
from chalicelib.css_inlining.selectors import Selector, selectors
from chalicelib.css_inlining.structure import GAP, outer_marks

#: Selectors by rule and by place in its list
Place = tuple[int, int]

_PIECE_END: Final = re.compile(r"[;{}]")
_IMPORTANT: Final = re.compile(r"!\s*+important", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its selectors and declarations; ``text`` is as written, with what is before it.

    At-rules, and rules that cannot be inlined at all, have no selectors.
    """

    text: str
    block: str = ""
    selectors: tuple[Selector, ...] = ()
    declarations: tuple[Declaration, ...] = ()

    def rest(self, inlined: Collection[int]) -> str:
        """Return the rule without the selectors at these places of its list."""
        if not inlined:
            return self.text
        others = [each.text for place, each in enumerate(self.selectors) if place not in inlined]
        return ",".join(others) + self.block if others else ""


class StyleSheet:
    """A style sheet that applies to screens."""

    def __init__(self, css: str) -> None:
        self.rules = list(_rules(css))

    def rest(self, inlined: Collection[Place]) -> str:
        """Return the style sheet without selectors that were inlined."""
        by_rule: dict[int, set[int]] = {}
        for rule, place in inlined:
            by_rule.setdefault(rule, set()).add(place)
        rest = "".join(rule.rest(by_rule.get(n, ())) for n, rule in enumerate(self.rules))
        return rest if GAP.fullmatch(rest) is None else ""


@lru_cache(maxsize=8)
def style_sheet(css: str) -> StyleSheet:
    """Return a style sheet; the messages of a transmission mostly have the same."""
    return StyleSheet(css)


def important_families(css: str) -> set[str]:
    """Return the families of properties that style sheets declare as important anywhere."""
    pieces = (piece for piece in _PIECE_END.split(css) if _IMPORTANT.search(piece))
    return {family(piece.partition(":")[0].strip().lower()) for piece in pieces}


def _rules(css: str) -> Iterator[Rule]:
    start = block = 0
    for mark, place in outer_marks(css):
        if mark == "{":
            block = place
        elif mark == "}":
            yield _rule(css, start, block, place + 1)
            start, block = place + 1, 0
        elif mark == ";" and css[_past_gap(css, start)] == "@":
            yield Rule(css[start : place + 1])
            start = place + 1
    if block > start:
        yield _rule(css, start, block, len(css))
    elif start < len(css):
        yield Rule(css[start:])


def _rule(css: str, start: int, block: int, end: int) -> Rule:
    text, prelude = css[start:end], css[_past_gap(css, start) : block]
    if prelude.startswith("@"):
        return Rule(text)
    body = css[block + 1 : end - 1 if css[end - 1] == "}" else end]
    block_declarations = declarations(body)
    if block_declarations is None:
        return Rule(text)
    return Rule(text, css[block:end], tuple(selectors(prelude)), block_declarations)


def _past_gap(css: str, start: int) -> int:
    match = GAP.match(css, start)
    assert match is not None
    return match.end()
