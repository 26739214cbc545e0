"""Put what style sheets say onto the elements of HTML, where the HTML check counts it.

Unlike where mail is sent with ``inline_css``, each declaration that applies is there as it was
written, with its ``!important``, as in Mailpit's check.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core.confined import Confined, Died, FunctionFault


def inline(html: bytes) -> bytes:
    """Return HTML (UTF-8) with its style sheets on its elements; raises ``ValueError``."""
    import css_inline

    inliner = css_inline.CSSInliner(load_remote_stylesheets=False, keep_style_tags=True)
    result: str = inliner.inline(html.decode("utf-8", "replace"))
    return result.encode("utf-8", "replace")


# The library follows the nesting of HTML on its stack
_inline: Final = Confined(inline, memory=1024 * 1024 * 1024, seconds=1.0, per_megabyte=2.0)


def inlined(html: str) -> str:
    """Return HTML with its style sheets on its elements, or as it is if that does not work."""
    if "style" not in html.lower():
        return html
    try:
        return _inline(html.encode("utf-8", "replace")).decode("utf-8", "replace")
    except (Died, FunctionFault, ValueError):
        return html
