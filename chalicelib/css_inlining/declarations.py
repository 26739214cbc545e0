"""Read declarations, and merge those of several rules into one style attribute.

A style attribute holds what the cascade (css-cascade-5) leaves of the declarations for an element:
important ones win, then those of the attribute itself, then those of more specific selectors, then
later ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from html import unescape
from typing import Final, NamedTuple

from chalicelib.css_inlining.selectors import Specificity
from chalicelib.css_inlining.structure import divided, is_complete, without_comments

_NAME: Final = re.compile(r"\s*+(-?[A-Za-z_][\w-]*+|--[\w-]++)\s*+:")
_IMPORTANT: Final = re.compile(r"!\s*+important\Z", re.IGNORECASE)
_LINE_ENDS: Final = re.compile(r"[ \t]*+[\r\n\f][ \t\r\n\f]*+")


class Declaration(NamedTuple):
    """A property with its value."""

    name: str
    value: str
    important: bool


class DeclarationBlock(NamedTuple):
    """The declarations of a rule that matches an element; ``order`` is its place among all."""

    specificity: Specificity
    order: int
    declarations: tuple[Declaration, ...]


def declarations(text: str) -> tuple[Declaration, ...] | None:
    """Return the valid declarations of a block's text; ``None`` if rules are nested in it."""
    pieces = divided(text, ";")
    if pieces is None:
        return None
    return tuple(filter(None, map(_declaration, pieces)))


def _declaration(text: str) -> Declaration | None:
    if not is_complete(text):
        return None
    text = without_comments(text)
    match = _NAME.match(text)
    if match is None:
        return None
    value = _LINE_ENDS.sub(" ", text[match.end() :].strip())
    important = _IMPORTANT.search(value[-40:])
    if important:
        value = value[: len(value) - len(important[0])].rstrip()
    name = match[1] if match[1].startswith("--") else match[1].lower()
    return Declaration(name, value, bool(important)) if value else None


def merged(
    blocks: Sequence[DeclarationBlock], style: str, important_elsewhere: Collection[str]
) -> str:
    """Return a style attribute for double quotes: what the blocks declare, and its own ``style``.

    ``style`` is as written in html. An important declaration stays important, unless rules that
    stay in style sheets have important ones for its family of properties (``important_elsewhere``):
    those are for some readers, and must win there.
    """

    def text(declaration: Declaration) -> str:
        name, value, important = declaration
        flag = " !important" if important and family(name) not in important_elsewhere else ""
        return f"{name}: {_escaped(value)}{flag};"

    own = _own(style)
    head = "".join(text(e) for e in _cascade(blocks, important=False) if e.name not in own.names)
    tail = "".join(text(e) for e in _cascade(blocks, important=True) if not own.overrides(e))
    style = style.replace('"', "&quot;")
    if not tail or not own.is_complete:
        return f"{head}{tail}{style}"
    return f"{head}{style}{'' if own.is_ended else ';'}{tail}"


def _escaped(value: str) -> str:
    """Return a value for an attribute in double quotes; few programs know entities there."""
    value = value.replace("&", "&amp;")
    return value.replace('"', "&quot;" if "'" in value else "'")


def family(name: str) -> str:
    """Return the first word of a property: ``border-left`` is of the family ``border``."""
    return name if name.startswith("-") else name.partition("-")[0]


class _Own(NamedTuple):
    """What a style attribute declares itself: all properties, and those that are important."""

    names: frozenset[str]
    important: frozenset[str]
    is_complete: bool
    is_ended: bool

    def overrides(self, declaration: Declaration) -> bool:
        name = declaration.name
        return any(name == each or name.startswith(f"{each}-") for each in self.important)


@lru_cache(maxsize=1000)
def _own(style: str) -> _Own:
    text = unescape(style)
    own = declarations(text) or ()
    return _Own(
        frozenset(each.name for each in own),
        frozenset(each.name for each in own if each.important),
        is_complete(text),
        not text.strip() or text.rstrip().endswith(";"),
    )


def _cascade(blocks: Sequence[DeclarationBlock], *, important: bool) -> list[Declaration]:
    """Return the declarations that count, the strongest last.

    A block may declare a property twice, the second time in a way that few readers know.
    """
    result: list[Declaration] = []
    names: set[str] = set()
    for block in sorted(blocks, reverse=True):
        strong = [each for each in block.declarations if each.important is important]
        unique = dict.fromkeys(reversed(strong))
        result += [each for each in unique if each.name not in names]
        names.update(each.name for each in strong)
    return result[::-1]
