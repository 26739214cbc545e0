"""The recipient list record. The recipients are kept beside it, in parts; ``store`` knows where."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

LONGEST_ID = 64
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
MOST_RECIPIENTS = 100_000
PART_RECIPIENTS = 1000

_ID = re.compile(rf"[A-Za-z0-9_.\-]{{1,{LONGEST_ID}}}", re.ASCII)
_RESERVED_PREFIX = "rcptlist_"


@dataclass(frozen=True, slots=True)
class RecipientList:
    """One list of an account.

    ``version`` names the present recipients and is never given twice; ``count`` is how many they
    are, ``parts`` the number of parts that they are kept in (:data:`PART_RECIPIENTS` in each but
    the last). ``stamp`` changes with every change of the record.
    """

    account_id: int
    id: str
    name: str
    version: str
    count: int
    parts: int
    description: str = ""
    attributes: Json = field(default_factory=dict)
    stamp: str = ""

    def summary(self) -> Json:
        """Return what the API shows of the list besides its recipients."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "attributes": self.attributes,
            "total_accepted_recipients": self.count,
        }


def is_list_id(text: str) -> bool:
    """Tell whether a list may be given this id."""
    return _ID.fullmatch(text) is not None and not text.startswith(_RESERVED_PREFIX)


def draw_id() -> str:
    """Draw an id for a list that was given none: 18 digits."""
    return f"{secrets.randbelow(9 * 10**17) + 10**17}"
