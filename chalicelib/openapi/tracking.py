"""Describe the addresses that links and pixels of messages lead to."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi.operation import Operation, Operations, content, html_page, redirect
from chalicelib.openapi.schema import text
from chalicelib.tracking.model import (
    AMP_INITIAL_OPEN,
    AMP_OPEN,
    CLICK,
    INITIAL_OPEN,
    LIST_UNSUBSCRIBE,
    OPEN,
)

_LINKS: Final = (f"/{CLICK}/{{token}}", "/f/{sub}/{token}")

_BROKEN_LINK: Final = html_page(404, "The link is not valid, or no longer valid")
_UNSUBSCRIBE_PAGE: Final = html_page(200, "A page with a button that unsubscribes")
_PIXEL: Final = Operation(content("image/gif", text(), about="A transparent image"))
_FOLLOW: Final = Operation(
    _UNSUBSCRIBE_PAGE
    | redirect(302, "The location is the link's target")
    | _BROKEN_LINK
    | html_page(403, "The link was followed too often")
)
_UNSUBSCRIBE: Final = Operation(
    redirect(303, "Unsubscribed. The location is the link's target") | _BROKEN_LINK, refusals=(405,)
)

OPERATIONS: Final[Operations] = {
    **{
        f"GET /{kind}/{{token}}": _PIXEL
        for kind in (OPEN, INITIAL_OPEN, AMP_OPEN, AMP_INITIAL_OPEN)
    },
    **{f"GET {path}": _FOLLOW for path in _LINKS},
    **{f"POST {path}": _UNSUBSCRIBE for path in _LINKS},
    f"GET /{LIST_UNSUBSCRIBE}/{{token}}": Operation(_UNSUBSCRIBE_PAGE | _BROKEN_LINK),
    f"POST /{LIST_UNSUBSCRIBE}/{{token}}": Operation(html_page(200, "Unsubscribed") | _BROKEN_LINK),
}
