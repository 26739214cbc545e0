"""Track the links in plain text: bare URLs (``core.text_urls``).

``https://example.com/[[data-svc-clicktrack="0"]]`` is not tracked; the brackets are removed. Signed
and encrypted texts (``mail_format.armor``) stay as they are, because a change would break the
signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chalicelib.core.text_urls import TextUrl, urls
from chalicelib.mail_format import armor
from chalicelib.tracking import links
from chalicelib.tracking.links import LinkOptions, TrackedUrl
from chalicelib.tracking.literal_links import without_marks
from chalicelib.tracking.tokens import MessageTokens

# Our option after a URL, and what may close brackets and sentences between them. A longer value is
# none: else each option without an end would be read to the end of the text
_OPTION = re.compile(
    r"""[^\s\w\[]*(\[\[data-(?:svc|msys)-clicktrack=(["']?)([^"'\]\s]{0,20})\2\]\])"""
)
_CACHE_ENTRIES = 2000


class TextLinks:
    """The links of text parts. ``marked``: only marked links are tracked."""

    def __init__(self, base_url: str, *, marked: bool) -> None:
        self._base_url = base_url
        self._marked = marked
        self._cache: dict[str, TrackedUrl] = {}

    def rewritten(self, text: str, issuer: MessageTokens | None) -> str:
        """Return the text without our options; its links are tracked if ``issuer`` is there."""
        plain, positions = without_marks(text) if self._marked else (text, None)
        pieces, position = [], 0
        has_options = "[[data-" in plain
        for url in _changeable_urls(plain):
            option = _OPTION.match(plain, url.limit) if has_options else None
            is_link = positions is None or url.start in positions
            if issuer and is_link and not (option and option[3].strip() == "0"):
                tracked = self._cached(plain[url.start : url.end])
                if tracked:
                    pieces += [plain[position : url.start], tracked.start]
                    pieces.append(issuer.token_of(tracked.link))
                    position = url.end
            if option:
                pieces.append(plain[position : option.start(1)])
                position = option.end()
        return "".join([*pieces, plain[position:]])

    def _cached(self, url: str) -> TrackedUrl | None:
        tracked = self._cache.get(url)
        if tracked is not None:
            return tracked
        if len(self._cache) >= _CACHE_ENTRIES:
            self._cache.clear()
        tracked = self.tracked(url)
        if tracked is not None:
            self._cache[url] = tracked
        return tracked

    def tracked(self, url: str) -> TrackedUrl | None:
        """Return the tracked form of a URL, or ``None`` for a URL not to track."""
        return links.tracked(self._base_url, links.link(url, LinkOptions()))


def _changeable_urls(text: str) -> Iterator[TextUrl]:
    """Yield the URLs of a text that are in no armored block."""
    blocks = iter(armor.blocks(text))
    block = next(blocks, None)
    for url in urls(text):
        while block and block.end <= url.start:
            block = next(blocks, None)
        if block is None or url.start < block.start:
            yield url
