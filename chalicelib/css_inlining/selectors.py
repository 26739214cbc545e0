"""Read selectors: how specific they are, and whether the elements of all readers match them.

What depends on the reader or its program (``a:hover``, ``::before``), and what the program may add
to a message (``[style...]``), cannot be inlined.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from chalicelib.css_inlining.structure import divided, without_comments

Specificity = tuple[int, int, int]
"""How many ids, then classes and the like, then types a selector has (selectors-4, 17)."""

_NAME: Final = r"(?:[\w-]|[^\x00-\x7f]|\\.)++"
_STRING: Final = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'"""
_TOKEN: Final = re.compile(
    rf"""
    (?P<id>\#{_NAME})
    | (?P<class>\.{_NAME})
    | (?P<attribute>\[(?:[^\]"'\\]|\\.|{_STRING})*+\])
    | :(?P<counted>nth-(?:last-)?(?:child|of-type))\([-+0-9nNa-z \t]*+\)
    | (?P<negation>:not\()
    | :(?P<pseudo>{_NAME})(?P<function>\(?)
    | (?P<type>{_NAME})
    | (?P<other>[*>+~) \t\r\n\f])
    """,
    re.VERBOSE | re.DOTALL,
)
#: Pseudo-classes that say where an element is in its document
_OF_PLACE: Final = frozenset(
    ("first-child", "last-child", "only-child", "first-of-type", "last-of-type", "only-of-type")
)
#: Readers' programs write style attributes, which such selectors are meant for
_OF_STYLE: Final = re.compile(r"\[\s*style\b", re.IGNORECASE)


class Selector(NamedTuple):
    """A selector as written; ``matcher`` finds the same elements in css-inline.

    ``matcher`` is empty if the selector cannot be inlined.
    """

    text: str
    matcher: str = ""
    specificity: Specificity = (0, 0, 0)


def selectors(prelude: str) -> list[Selector]:
    """Return the selectors of a rule."""
    pieces = divided(without_comments(prelude), ",")
    return [_selector(each.strip()) for each in pieces or [prelude]]


def _selector(text: str) -> Selector:
    """Read one selector.

    css-inline takes each comma for the end of a selector, knows but the last element of an id, and
    skips names that it does not find in the document as they are written.
    """
    ids = classes = types = position = 0
    matcher = ["/**/"]
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return Selector(text)
        position, token = match.end(), match[0]
        if match["id"]:
            ids += 1
            token = f'[id="{token[1:]}"]'
        elif match["class"] or match["counted"]:
            classes += 1
        elif match["attribute"]:
            if _OF_STYLE.match(token):
                return Selector(text)
            classes += 1
            token = token.replace(",", "\\2c ")
        elif match["type"]:
            types += 1
            token = token.lower()
        elif match["pseudo"]:
            if match["function"] or match["pseudo"].lower() not in _OF_PLACE:
                return Selector(text)
            classes += 1
        matcher.append(token)
    if len(matcher) == 1:
        return Selector(text)
    return Selector(text, "".join(matcher), (ids, classes, types))
