"""A further DKIM key of a sending domain: an id, a key pair, and whether its record was verified.

The domain's own key, which signs when a transmission names none, is called ``default``; that id is
reserved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from chalicelib.core.errors import bad_format, missing_field
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.model import UNVERIFIED

DEFAULT: Final = "default"
MOST_KEYS: Final = 256

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class FurtherKey:
    """One key. ``created`` is seconds; ``status`` is one of the check statuses of spec 2.5."""

    id: str
    key: DkimKey
    created: float
    status: str = UNVERIFIED


def check_id(key_id: str | None) -> str:
    """Return an id that a key may have; raises 1400 and 1300."""
    if key_id is None:
        raise missing_field("id is a required field")
    if not is_id(key_id):
        raise bad_format("id must be 1 to 64 letters, digits, dashes and underscores")
    if key_id == DEFAULT:
        raise bad_format(f"the id '{DEFAULT}' is reserved")
    return key_id


def is_id(text: str) -> bool:
    """Tell whether a key could have this id."""
    return _ID.fullmatch(text) is not None
