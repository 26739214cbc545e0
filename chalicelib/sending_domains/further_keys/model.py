"""A further DKIM key of a sending domain, and the rules for its id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.model import UNVERIFIED, shown_key

#: The id reserved for the domain's own key, which signs when a transmission names none
DEFAULT: Final = "default"
MOST_KEYS: Final = 256

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class FurtherKey:
    """One key. ``created`` is in seconds; ``status`` is one of the check statuses of spec 2.5."""

    id: str
    key: DkimKey
    created: float
    status: str = UNVERIFIED


def is_id(text: str) -> bool:
    """Tell whether a key can have this id."""
    return _ID.fullmatch(text) is not None


def shown_fields(further: FurtherKey) -> dict[str, Any]:
    """Return the fields of a key that the audit log tells about."""
    return {"id": further.id, **shown_key(further.key), "dkim_status": further.status}
