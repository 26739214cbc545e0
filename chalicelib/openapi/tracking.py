"""Where the links and pixels of messages lead."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi.operation import Operation, Operations, content, page_of_html, redirect
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

_DEAD: Final = page_of_html(404, "The link leads nowhere, or does not any more")
_ASK: Final = page_of_html(200, "A page with the button that unsubscribes")
_PIXEL: Final = Operation(content("image/gif", text(), about="A transparent picture"))
_FOLLOW: Final = Operation(
    _ASK
    | redirect(302, "The link's target")
    | _DEAD
    | page_of_html(403, "The link was followed too often")
)
_LEAVE: Final = Operation(redirect(303, "Unsubscribed; the link's target") | _DEAD, refusals=(405,))

OPERATIONS: Final[Operations] = {
    **{
        f"GET /{kind}/{{token}}": _PIXEL
        for kind in (OPEN, INITIAL_OPEN, AMP_OPEN, AMP_INITIAL_OPEN)
    },
    **{f"GET {path}": _FOLLOW for path in _LINKS},
    **{f"POST {path}": _LEAVE for path in _LINKS},
    f"GET /{LIST_UNSUBSCRIBE}/{{token}}": Operation(_ASK | _DEAD),
    f"POST /{LIST_UNSUBSCRIBE}/{{token}}": Operation(page_of_html(200, "Unsubscribed") | _DEAD),
}
