"""Sign and read the cursors of lists that are read page by page.

A cursor says where the next page begins. It is bound to the list, the account and the filters: with
any other of them it is refused, because its position and its count belong to other results. The
size of the pages may change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

from chalicelib.core import signing

#: The cursor of the first page
FIRST: Final = "initial"


class BadCursor(ValueError):
    """The text is no cursor of this list and these filters; the error is for the caller."""


def encode(position: Iterable[Any], purpose: str, binding: Any) -> str:
    """Return the signed text of a cursor to ``position``; it is bound to ``binding`` (both JSON).

    ``purpose`` names the list.
    """
    return signing.to_token([_digest(binding), *position], purpose)


def decode(text: str, purpose: str, binding: Any) -> list[Any]:
    """Return the position in a cursor; raises :class:`BadCursor`."""
    try:
        digest, *position = signing.from_token(text, purpose)
    except (signing.BadSignature, TypeError, ValueError):
        # A version before this one signed other values
        raise BadCursor("cursor is not one of this service") from None
    if digest != _digest(binding):
        raise BadCursor("cursor belongs to a search with other filters")
    return position


def _digest(binding: Any) -> str:
    text = json.dumps(binding, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=9).hexdigest()
