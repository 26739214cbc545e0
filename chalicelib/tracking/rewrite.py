"""Rewrite links and add pixels in finished content, the last step before it becomes a message.

Only the URLs of tracked links change, our own attributes are removed and pixels are added.
Everything else stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking import pixels
from chalicelib.tracking.link_pieces import Unclear
from chalicelib.tracking.markup_chunks import MarkupChunks
from chalicelib.tracking.plain_text import TextLinks
from chalicelib.tracking.segments import Bound, Segments
from chalicelib.tracking.text_chunks import TextChunks
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
        self._html_chunks = MarkupChunks(base_url, amp=False)
        self._amp_chunks = MarkupChunks(base_url, amp=True)
        self._text_chunks = TextChunks(self._text)
        self._marked = marked

    def html(self, html: str, issuer: MessageTokens, tracked: TrackingOptions) -> str:
        """Return an HTML part with tracked links and pixels."""
        return "".join(self._rewritten(self._html, html, issuer, tracked, amp=False))

    def amp(self, amp_html: str, issuer: MessageTokens, tracked: TrackingOptions) -> str:
        """Return an AMP part with tracked links and pixels."""
        return "".join(self._rewritten(self._amp, amp_html, issuer, tracked, amp=True))

    def text(self, text: str, issuer: MessageTokens, tracked: TrackingOptions) -> str:
        """Return a text part with tracked links."""
        return self._text.rewritten(text, issuer if tracked.clicks else None)

    def html_chunks(self, html: Chunks, issuer: MessageTokens, tracked: TrackingOptions) -> Chunks:
        """Return what :meth:`html` returns for a rendered part, faster."""
        texts = self._chunks(self._html_chunks, html, issuer, tracked, amp=False)
        return Chunks(texts or self._rewritten(self._html, str(html), issuer, tracked, amp=False))

    def amp_chunks(self, amp: Chunks, issuer: MessageTokens, tracked: TrackingOptions) -> Chunks:
        """Return what :meth:`amp` returns for a rendered part, faster."""
        texts = self._chunks(self._amp_chunks, amp, issuer, tracked, amp=True)
        return Chunks(texts or self._rewritten(self._amp, str(amp), issuer, tracked, amp=True))

    def text_chunks(self, text: Chunks, issuer: MessageTokens, tracked: TrackingOptions) -> Chunks:
        """Return what :meth:`text` returns for a rendered part, faster."""
        if self._marked and tracked.clicks:
            try:
                return Chunks(self._text_chunks.rewritten(text, issuer))
            except Unclear:
                pass
        return Chunks((self.text(str(text), issuer, tracked),))

    def _chunks(
        self,
        markup: MarkupChunks,
        chunks: Chunks,
        issuer: MessageTokens,
        tracked: TrackingOptions,
        *,
        amp: bool,
    ) -> Sequence[str] | None:
        """Return the texts of the new part, or ``None`` if the chunks must be joined first."""
        if not self._marked or not tracked.clicks:
            return None
        try:
            assembled = markup.assembled(chunks, issuer)
        except Unclear:
            return None
        return self._with_pixels(*assembled, issuer, tracked, amp=amp)

    def _rewritten(
        self,
        segments: Segments,
        markup: str,
        issuer: MessageTokens,
        tracked: TrackingOptions,
        *,
        amp: bool,
    ) -> Sequence[str]:
        assembled = _assembled(segments, markup, issuer if tracked.clicks else None)
        return self._with_pixels(*assembled, issuer, tracked, amp=amp)

    def _with_pixels(
        self,
        texts: list[str],
        begin: int | None,
        end: int,
        issuer: MessageTokens,
        tracked: TrackingOptions,
        *,
        amp: bool,
    ) -> Sequence[str]:
        if tracked.initial_opens and begin is None:
            count = len(texts)
            begin = _content_start(texts, end)
            end += len(texts) - count
        places: list[tuple[int, Sequence[str]]] = []
        if tracked.opens:
            places.append((end, pixels.open_pixel(self._base_url, issuer, amp=amp)))
        if tracked.initial_opens and begin is not None:
            places.append((begin, pixels.initial_pixel(self._base_url, issuer, amp=amp)))
        for place, pixel in sorted(places, key=_place, reverse=True):
            texts[place:place] = pixel
        return texts


def _content_start(texts: list[str], end: int) -> int:
    """Return the place before the content of markup without a body tag, which may divide a text."""
    start = pixels.content_start("".join(texts[:end]))
    place = 0
    while start > 0 and start >= len(texts[place]):
        start -= len(texts[place])
        place += 1
    if start:
        text = texts[place]
        texts[place : place + 1] = (text[:start], text[start:])
        place += 1
    return place


def _place(pixel: tuple[int, Sequence[str]]) -> int:
    return pixel[0]


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
