"""Links and pixels of finished content: the last step before it becomes a message.

Only the URL of a tracked link changes, our own attributes go and pixels come; all else stays as it
is, byte for byte.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from chalicelib.tracking import pixels
from chalicelib.tracking.plain_text import TextLinks
from chalicelib.tracking.segments import Bound, Segments
from chalicelib.tracking.tokens import MessageTokens


class Tracked(NamedTuple):
    """What is tracked in one message: the options in force (spec 2.1)."""

    opens: bool = True
    clicks: bool = True
    initial_opens: bool = True


@lru_cache(maxsize=8)
def rewriter(base_url: str, *, marked: bool) -> LinkRewriter:
    """Return this process's rewriter for links that go through ``base_url``."""
    return LinkRewriter(base_url, marked=marked)


class LinkRewriter:
    """Rewrites the parts of many messages whose links go through ``base_url``.

    What it learns of one message speeds up the next, so take the one of this process
    (:func:`rewriter`); threads may share it. ``marked`` says that the templates went through
    ``literal_links.mark``; only links that they write out are tracked then. Every part of every
    message goes through it, whatever is tracked, since it also takes out what is meant for it.
    """

    def __init__(self, base_url: str, *, marked: bool = False) -> None:
        self._base_url = base_url
        self._html = Segments(base_url, amp=False, marked=marked)
        self._amp = Segments(base_url, amp=True, marked=marked)
        self._text = TextLinks(base_url, marked=marked)

    def html(self, html: str, issuer: MessageTokens, tracked: Tracked) -> str:
        """Return an html part with its links and pixels."""
        return self._rewritten(self._html, html, issuer, tracked, amp=False)

    def amp(self, amp_html: str, issuer: MessageTokens, tracked: Tracked) -> str:
        """Return an AMP part with its links and pixels."""
        return self._rewritten(self._amp, amp_html, issuer, tracked, amp=True)

    def text(self, text: str, issuer: MessageTokens, tracked: Tracked) -> str:
        """Return a text part with its links."""
        return self._text.rewritten(text, issuer if tracked.clicks else None)

    def _rewritten(
        self, segments: Segments, markup: str, issuer: MessageTokens, tracked: Tracked, *, amp: bool
    ) -> str:
        texts, begin, end = _assembled(segments, markup, issuer if tracked.clicks else None)
        if tracked.opens:
            texts[end] = pixels.open_pixel(self._base_url, issuer, amp=amp)
        if not tracked.initial_opens:
            return "".join(texts)
        pixel = pixels.initial_pixel(self._base_url, issuer, amp=amp)
        if begin is not None:
            texts[begin] = pixel
            return "".join(texts)
        before, behind = "".join(texts[:end]), "".join(texts[end:])
        start = pixels.content_start(before)
        return before[:start] + pixel + before[start:] + behind


def _assembled(
    segments: Segments, markup: str, issuer: MessageTokens | None
) -> tuple[list[str], int | None, int]:
    """Return the texts of the new part, with empty ones where its body begins and ends.

    Where there is no tag of the body, its begin is ``None`` and its end comes last, or before
    what has no end.
    """
    texts: list[str] = []
    places: dict[Bound, int] = {}
    for pieces in segments.pieces(markup):
        for piece in pieces:
            if isinstance(piece, str):
                texts.append(piece)
            elif isinstance(piece, Bound):
                if piece is not Bound.BODY_START or piece not in places:  # the first, and the last
                    places[piece] = len(texts)
                texts.append("")
            elif issuer is None:
                texts.append(piece.untracked)
            else:
                tag = issuer.tag(piece.link)
                texts += (piece.before, issuer.text, piece.middle, tag, piece.after)
    texts.append("")
    last = places.get(Bound.UNFINISHED, len(texts) - 1)
    return texts, places.get(Bound.BODY_START), places.get(Bound.BODY_END, last)
