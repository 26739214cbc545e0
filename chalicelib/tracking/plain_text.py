"""Track the links in plain text: bare URLs, without the punctuation that follows them.

``https://example.com/[[data-svc-clicktrack="0"]]`` is not tracked; the brackets are removed.
"""

from __future__ import annotations

import re

from chalicelib.tracking import links
from chalicelib.tracking.links import LONGEST_TARGET, MARK, LinkOptions
from chalicelib.tracking.tokens import LinkPart, MessageTokens

_URL_REST = r"""[^\s<>"\[\x00-\x1f\x7f\x91]*(?:\[(?!\[data-)[^\s<>"\[\x00-\x1f\x7f\x91]*)*"""
_URL = rf"[hH][tT][tT][pP][sS]?://{_URL_REST}"
#: A URL, and a URL from any place after its protocol on; both end before a mark
URL, URL_REST = re.compile(_URL), re.compile(_URL_REST)
# A longer value is none: else each option without an end would be read to the end of the text
_VALUE = r"""[^"'\]\s]{0,20}"""
_LINK = re.compile(
    rf"""
    ({_URL})  # the URL
    (\[\[data-(?:svc|msys)-clicktrack=(["']?)({_VALUE})\3\]\])?  # our option after it
    """,
    re.VERBOSE,
)
# Typographic punctuation is included; mail clients leave it out of a link as well
_ENDS_SENTENCE = ".,;:!?'…”’“‘»›«‹。、，．；：！？」』】》〉"
_CLOSES = {")": "(", "]": "[", "}": "{", "）": "（"}
_CACHE_ENTRIES = 2000


class TrackedUrl:
    """A URL to track: the start of its tracked form, its link part, and the text after it."""

    __slots__ = ("before", "link", "rest")

    def __init__(self, before: str, link: LinkPart, rest: str) -> None:
        self.before = before
        self.link = link
        self.rest = rest


class TextLinks:
    """The links of text parts. ``marked``: only marked links are tracked."""

    def __init__(self, base_url: str, *, marked: bool) -> None:
        self._base_url = base_url
        self._marked = marked
        self._cache: dict[str, TrackedUrl] = {}

    def rewritten(self, text: str, issuer: MessageTokens | None) -> str:
        """Return the text without our options; its links are tracked if ``issuer`` is there."""

        def replacement(match: re.Match[str]) -> str:
            url, option, _, value = match.groups()
            start = match.start()
            before = text[start - 1] if start else ""
            is_link = before == MARK if self._marked else not before.isalnum()
            if issuer is None or not is_link or (option and value.strip() == "0"):
                return url
            tracked = self._cached(url)
            return (
                url
                if tracked is None
                else tracked.before + issuer.token_of(tracked.link) + tracked.rest
            )

        if "://" in text:
            text = _LINK.sub(replacement, text)
        return text.replace(MARK, "") if self._marked else text

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
        end = _end_of_url(url) if len(url) <= 2 * LONGEST_TARGET else len(url)
        tracked = links.tracked(self._base_url, links.link(url[:end], LinkOptions()))
        return TrackedUrl(tracked.start, tracked.link, url[end:]) if tracked else None


def _end_of_url(text: str) -> int:
    """Return the end of a URL that a full stop or a closing bracket may follow."""
    end = len(text)
    while end:
        last = text[end - 1]
        opening = _CLOSES.get(last)
        if opening:
            if text.count(last, 0, end) <= text.count(opening, 0, end):
                break
        elif last not in _ENDS_SENTENCE:
            break
        end -= 1
    return end
