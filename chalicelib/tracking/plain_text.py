"""Links in plain text: URLs as they stand there, without what ends a sentence behind them.

``https://example.com/[[data-svc-clicktrack="0"]]`` leaves the URL alone; the brackets go.
"""

from __future__ import annotations

import re

from chalicelib.tracking import links
from chalicelib.tracking.links import LONGEST_TARGET, MARK, LinkOptions
from chalicelib.tracking.tokens import LinkPart, MessageTokens

_LINK = re.compile(
    r"""
    ([hH][tT][tT][pP][sS]?://
      [^\s<>"\[\x00-\x1f\x7f\x91]*(?:\[(?!\[data-)[^\s<>"\[\x00-\x1f\x7f\x91]*)*)  # the URL
    (\[\[data-(?:svc|msys)-clicktrack=(["']?)([^"'\]\s]*)\3\]\])?  # the note behind it
    """,
    re.VERBOSE,
)
# With the marks of typographers, which mail clients leave out of a link as well
_ENDS_SENTENCE = ".,;:!?'…”’“‘»›«‹。、，．；：！？」』】》〉"
_CLOSES = {")": "(", "]": "[", "}": "{", "）": "（"}
_MOST_REMEMBERED = 2000


class _Tracked:
    """A URL to track: what its tracked form begins with, and what stands behind it."""

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
        self._known: dict[str, _Tracked] = {}

    def rewritten(self, text: str, issuer: MessageTokens | None) -> str:
        """Return the text without our notes; its links are tracked if there are tokens."""

        def replaced(found: re.Match[str]) -> str:
            url, note, _, value = found.groups()
            start = found.start()
            before = text[start - 1] if start else ""
            own = before == MARK if self._marked else not before.isalnum()
            if issuer is None or not own or (note and value.strip() == "0"):
                return url
            tracked = self._tracked(url)
            return (
                url
                if tracked is None
                else tracked.before + issuer.token_of(tracked.link) + tracked.rest
            )

        if "://" in text:
            text = _LINK.sub(replaced, text)
        return text.replace(MARK, "") if self._marked else text

    def _tracked(self, url: str) -> _Tracked | None:
        found = self._known.get(url)
        if found is not None:
            return found
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        found = self._looked_at(url)
        if found is not None:
            self._known[url] = found
        return found

    def _looked_at(self, url: str) -> _Tracked | None:
        end = _end_of_url(url) if len(url) <= 2 * LONGEST_TARGET else len(url)
        found = links.tracked(self._base_url, links.link(url[:end], LinkOptions()))
        return _Tracked(found.start, found.link, url[end:]) if found else None


def _end_of_url(text: str) -> int:
    """Return where a URL ends that may have a full stop or a closing bracket behind it."""
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
