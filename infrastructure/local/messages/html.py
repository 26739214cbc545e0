"""Collect links, images and text of an HTML part."""

from __future__ import annotations

from typing import NamedTuple

from chalicelib.core.text_urls import urls
from infrastructure.local.messages.markup_reader import MarkupReader

# More than any client shows
_MOST_CHARACTERS = 4_000_000
_INVISIBLE = ("head", "style", "script", "title", "template")
_BLOCKS = ("p", "div", "br", "tr", "td", "li", "table", "h1", "h2", "h3", "h4", "h5", "h6")


class LinkTag(NamedTuple):
    """An ``a`` with its target and the text in it."""

    url: str
    text: str


class ImageTag(NamedTuple):
    """An ``img``; ``alt`` is ``None`` without that attribute."""

    url: str
    alt: str | None


class Html(MarkupReader):
    """The content of an HTML part, in document order."""

    def __init__(self, html: str) -> None:
        self.links: list[LinkTag] = []
        self.images: list[ImageTag] = []
        self._pieces: list[str] = []
        self._invisible = 0
        self._link_start: int | None = None
        self.read(html[:_MOST_CHARACTERS])
        self._end_link()

    @property
    def text(self) -> str:
        """The visible text, with single blanks."""
        return _joined(self._pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect an ``img`` or the beginning of an ``a``."""
        values = dict(attrs)
        if tag in _INVISIBLE:
            self._invisible += 1
        elif tag in _BLOCKS:
            self._pieces.append(" ")
        elif tag in ("img", "amp-img") and (source := values.get("src")):
            self.images.append(ImageTag(source.strip(), values.get("alt")))
        elif tag == "a" and (target := values.get("href")):
            self._end_link()
            self.links.append(LinkTag(target.strip(), ""))
            self._link_start = len(self._pieces)

    def handle_endtag(self, tag: str) -> None:
        """End an ``a``, or what is not visible."""
        if tag in _INVISIBLE:
            self._invisible = max(0, self._invisible - 1)
        elif tag == "a":
            self._end_link()

    def handle_data(self, data: str) -> None:
        """Collect visible text."""
        if not self._invisible:
            self._pieces.append(data)

    def _end_link(self) -> None:
        if self._link_start is not None:
            text = _joined(self._pieces[self._link_start :])
            self.links[-1] = self.links[-1]._replace(text=text)
            self._link_start = None


def text_links(text: str) -> list[str]:
    """Return the URLs in plain text, in order."""
    return [text[url.start : url.end] for url in urls(text)]


def _joined(pieces: list[str]) -> str:
    return " ".join("".join(pieces).split())
