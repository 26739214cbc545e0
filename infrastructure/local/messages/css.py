"""Read the rules and declarations of CSS, as far as they say which features it uses.

The reader knows comments, strings, ``url()`` and blocks, and lets everything else pass. Its work
grows with the length of the text and no faster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

# None of these begins again where another attempt has failed
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_URL = re.compile(r"url\(([^()]*)\)", re.IGNORECASE)
_END = re.compile(r"([{};])")
_PLAIN_BLOCKS = ("font-face", "page", "property", "counter-style")


class Declaration(NamedTuple):
    """A property and its value, in lower case."""

    name: str
    value: str


@dataclass
class Style:
    """What CSS consists of; ``nested`` are the selectors of rules inside a rule."""

    comments: int = 0
    at_rules: list[str] = field(default_factory=list)
    selectors: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)


def read_style(text: str, *, bare: bool = False) -> Style:
    """Read a style sheet, or with ``bare`` the declarations of a ``style`` attribute."""
    style = Style()
    text, style.comments = _without_comments(text)
    text = _without_texts(text, style.urls)
    blocks = ["rule"] if bare else []
    pieces = _END.split(text)
    for piece, end in zip(pieces[::2], [*pieces[1::2], ";"], strict=True):
        statement = " ".join(piece.lower().split())
        if end == "{":
            blocks.append(_open(style, statement, blocks[-1] if blocks else ""))
            continue
        if statement.startswith("@"):
            style.at_rules.append(statement)
        elif blocks and blocks[-1] != "descriptors":
            _declare(style, statement)
        if end == "}" and blocks:
            blocks.pop()
    return style


def _open(style: Style, prelude: str, parent: str) -> str:
    """Add the head of a block, and return what the block is."""
    if prelude.startswith("@"):
        style.at_rules.append(prelude)
        if "keyframes" in prelude:
            return "keyframes"
        return "descriptors" if prelude.startswith(tuple(f"@{n}" for n in _PLAIN_BLOCKS)) else ""
    if parent == "keyframes":
        return "frame"
    style.selectors.append(prelude)
    if parent == "rule":
        style.nested.append(prelude)
    return "rule"


def _declare(style: Style, statement: str) -> None:
    name, colon, value = statement.partition(":")
    if colon:
        style.declarations.append(Declaration(name.strip(), value.strip()))


def _without_comments(text: str) -> tuple[str, int]:
    first, *rest = text.split("/*")
    parts = [part.partition("*/") for part in rest]
    return first + " ".join(after for _, _, after in parts), sum(bool(end) for _, end, _ in parts)


def _without_texts(text: str, urls: list[str]) -> str:
    """Replace strings and addresses, which may hold any sign, and collect the addresses."""
    strings: list[str] = []

    def keep(match: re.Match[str]) -> str:
        strings.append(match[0][1:-1])
        return f"\0{len(strings) - 1}\0"

    def collect(match: re.Match[str]) -> str:
        inside = match[1].strip()
        urls.append(strings[int(inside[1:-1])] if inside.startswith("\0") else inside)
        return "url()"

    text = _STRING.sub(keep, text.replace("\0", ""))
    text = _URL.sub(collect, text)
    return re.sub(r"\0\d+\0", '""', text)
