"""Rewrite links and add pixels in finished content, the last step before it becomes a message.

Only the URLs of tracked links change, our own attributes are removed and pixels are added.
Everything else stays byte for byte.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from chalicelib.tracking import pixels
from chalicelib.tracking.plain_text import TextLinks
from chalicelib.tracking.segments import Bound, Segments
from chalicelib.tracking.tokens import MessageTokens


class TrackingOptions(NamedTuple):
    """The tracking options in force for one message (spec 2.1)."""

    opens: bool = True
    clicks: bool = True
    initial_opens: bool = True


@lru_cache(maxsize=8)
def rewriter(base_url: str, *, marked: bool) -> LinkRewriter:
    """Return this process's rewriter for links that go through ``base_url``."""
    return LinkRewriter(base_url, marked=marked)


class LinkRewriter:
    """Rewrites the parts of many messages whose links go through ``base_url``.

    Its cache of one message speeds up the next, so use the one of this process (:func:`rewriter`);
    threads may share it. ``marked`` says that the templates went through ``literal_links.mark``;
    then only links written literally in them are tracked. Every part of every message goes through
    the rewriter, even if nothing is tracked, because it also removes marks and our attributes.
    """

    def __init__(self, base_url: str, *, marked: bool = False) -> None:
        self._base_url = base_url
        self._html = Segments(base_url, amp=False, marked=marked)
        self._amp = Segments(base_url, amp=True, marked=marked)
        self._text = TextLinks(base_url, marked=marked)

    def html(self, html: str, issuer: MessageTokens, tracked: TrackingOptions) -> str:
        """Return an HTML part with tracked links and pixels."""
        return self._rewritten(self._html, html, issuer, tracked, amp=False)

    def amp(self, amp_html: str, issuer: MessageTokens, tracked: TrackingOptions) -> str:
        """Return an AMP part with tracked links and pixels."""
        return self._rewritten(self._amp, amp_html, issuer, tracked, amp=True)

    def text(self, text: str, issuer: MessageTokens, tracked: TrackingOptions) -> str:
        """Return a text part with tracked links."""
        return self._text.rewritten(text, issuer if tracked.clicks else None)

    def _rewritten(
        self,
        segments: Segments,
        markup: str,
        issuer: MessageTokens,
        tracked: TrackingOptions,
        *,
        amp: bool,
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
    """Return the texts of the new part, with an empty text at the start and the end of its body.

    Without a body tag, the start is ``None``, and the end is the last text, or the text before an
    unfinished element.
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
