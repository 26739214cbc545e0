"""Write a message's HTML for a frame of another page, as `/view/{id}.html?embed=1` asks for it.

Links open in a window of their own. Mailpit also adds a script that tells the page how high the
message is; here a message's page runs no scripts.
"""

from __future__ import annotations

import re

_LINK = re.compile(r"<a(?=[\s/>])", re.IGNORECASE)
# Of an attribute that is there twice, browsers read the first one
_OPENING = r'\g<0> target="_blank" rel="noreferrer noopener"'


def embedded(html: str) -> str:
    """Return the HTML with links that open elsewhere.

    >>> embedded('<p><A href="/">Shop</A></p>')
    '<p><A target="_blank" rel="noreferrer noopener" href="/">Shop</A></p>'
    """
    return _LINK.sub(_OPENING, html)
