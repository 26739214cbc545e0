"""Turn the style sheets of html into style attributes, for ``options.inline_css`` (spec 2.1)."""

from __future__ import annotations

from typing import Final

from chalicelib.core.confined import Confined, Died
from chalicelib.css_inlining.inliner import inline
from chalicelib.generation.faults import RenderFault
from chalicelib.template_language.cache import SizedCache

# css-inline follows the nesting of html on its stack, and builds more elements than html has tags.
# Usual html takes a tenth of this time, and the largest message a quarter of the memory.
_inline: Final = Confined(inline, memory=1024 * 1024 * 1024, seconds=1.0, per_megabyte=2.0)

#: So many messages of a chunk may be too much to inline before its others are not tried any more
MOST_DEATHS: Final = 3

_cache: Final[SizedCache[str | RenderFault]] = SizedCache(most=32, most_bytes=8 * 1024 * 1024)


class CssInliner:
    """Inlines the style sheets of one chunk's messages, whose html is much the same."""

    def __init__(self) -> None:
        self._deaths = 0

    def inlined(self, html: str) -> str:
        """Return ``html`` with its style sheets inlined; raises :class:`RenderFault`."""
        if self._deaths >= MOST_DEATHS:
            raise RenderFault("[internal] inline_css: html like it could not be inlined")
        result = _cache.get(html, lambda: self._inlined(html))
        if isinstance(result, RenderFault):
            raise RenderFault(str(result))
        return result

    def _inlined(self, html: str) -> str | RenderFault:
        """Return the html or the fault, to be cached: the html of many messages is the same."""
        if "style" not in html.lower():
            return html
        try:
            data = _inline(html.encode("utf-8", "surrogatepass"))
        except Died as death:
            self._deaths += 1
            return RenderFault(f"[internal] inline_css: the html cannot be inlined: {death}")
        except ValueError as fault:
            return RenderFault(f"[internal] inline_css: {fault}")
        return data.decode("utf-8", "surrogatepass")
