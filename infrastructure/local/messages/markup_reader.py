"""Read HTML with the tokenizer of tracked links, and tell handlers what is in it.

The interface is that of ``html.parser``. That one raises an exception at some markup, and its time
grows with the square of the length of other markup; anybody may send either.
"""

from __future__ import annotations

from html import unescape

from chalicelib.tracking.markup import attributes, pieces

_RAW_TEXT = ("style", "script", "xmp", "iframe", "noembed", "noframes")


class MarkupReader:
    """Calls a handler for each piece of HTML; a handler that is not overridden does nothing."""

    def read(self, html: str) -> None:
        """Read a whole document."""
        element = ""
        for name, start, end in pieces(html):
            text = html[start:end]
            if not name:
                self.handle_data(text if element in _RAW_TEXT else unescape(text))
            elif name == "!":
                self._markup_declaration(text)
            elif name.startswith("/"):
                self.handle_endtag(name[1:])
            else:
                values = [(each.name, each.value) for each in attributes(text)]
                self.handle_starttag(
                    name,
                    [(key, None if value is None else unescape(value)) for key, value in values],
                )
            element = name

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a start tag, its name and those of its attributes in lower case."""

    def handle_endtag(self, tag: str) -> None:
        """Take an end tag."""

    def handle_data(self, data: str) -> None:
        """Take text, which may come in several parts."""

    def handle_comment(self, data: str) -> None:
        """Take the text of a comment."""

    def handle_decl(self, decl: str) -> None:
        """Take a declaration, such as ``DOCTYPE html``."""

    def _markup_declaration(self, text: str) -> None:
        if text.startswith("<!--"):
            self.handle_comment(text[4:].removesuffix(">").removesuffix("!").removesuffix("--"))
        elif text[:9].lower() == "<!doctype":
            self.handle_decl(text[2:].removesuffix(">"))
