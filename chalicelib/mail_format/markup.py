"""Turn the markup of a notice into lines of text, without what it quotes.

A mail client shows each paragraph, row and line break on a line of its own. Notices rely on that:
an address is alone on its line, and the copy of the original message begins on a new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chalicelib.mail_format.entities import unescape

_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>", re.IGNORECASE | re.ASCII)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^<>]*>", re.DOTALL)
_BLANKS = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n\s*\n")

_BREAKS = {"br": "\n", "div": "\n", "tr": "\n", "li": "\n", "dt": "\n", "dd": "\n"}
_PARAGRAPHS = ("p", "hr", "pre", "table", "ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6")
_BREAKS |= dict.fromkeys(_PARAGRAPHS, "\n\n")

#: Elements whose content nobody reads, or which quote another message
_DROPPED = frozenset({"style", "script", "title", "blockquote"})


def text_of_markup(markup: str) -> str:
    """Return the text that a client shows of HTML, however broken; paragraphs have blank lines."""
    text = unescape("".join(_pieces(_COMMENT.sub("", markup))))
    lines = (_BLANKS.sub(" ", line).strip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _pieces(markup: str) -> Iterator[str]:
    """Yield the text between the tags, and a break for each tag that begins a new line."""
    dropped, depth, position = "", 0, 0
    for tag in _TAG.finditer(markup):
        name = tag[2].lower()
        if dropped:
            if name == dropped:
                depth += -1 if tag[1] else 1
            if depth == 0:
                dropped = ""
        else:
            # A line end in the source is a blank to the reader
            yield markup[position : tag.start()].replace("\n", " ")
            yield _BREAKS.get(name, " ")
            if name in _DROPPED and not tag[1]:
                dropped, depth = name, 1
        position = tag.end()
    if not dropped:
        yield markup[position:].replace("\n", " ")
