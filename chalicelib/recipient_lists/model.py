"""Hold the record of a recipient list; ``store.contents`` keeps the recipients, in parts."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from chalicelib.core.json_types import Json
from chalicelib.core.resource_ids import is_id

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
MOST_RECIPIENTS = 100_000
PART_RECIPIENTS = 1000

_RESERVED_PREFIX = "rcptlist_"


@dataclass(frozen=True, slots=True)
class RecipientList:
    """One list of an account.

    ``version`` names the present recipients and is never used twice; ``count`` is their number,
    ``parts`` the number of stored parts (:data:`PART_RECIPIENTS` recipients in each but the last).
    ``revision`` changes with every change of the record (stored as ``stamp``).
    ``identity`` tells the list from a later one with the same id; a list of version 0.1.0 has an
    empty one (stays: lists are not rewritten).
    """

    account_id: int
    id: str
    name: str
    version: str
    count: int
    parts: int
    description: str = ""
    attributes: Json = field(default_factory=dict)
    revision: str = ""
    identity: str = field(default_factory=lambda: secrets.token_hex(12))


def shown_fields(recipient_list: RecipientList) -> Json:
    """Return the fields of a list for the audit log; of recipients, their number and version."""
    return {
        "name": recipient_list.name,
        "description": recipient_list.description,
        "attributes": recipient_list.attributes,
        "total_accepted_recipients": recipient_list.count,
        "recipients": f"version {recipient_list.version[-8:]}",
    }


def is_list_id(text: str) -> bool:
    """Tell whether a list may have this id."""
    return is_id(text) and not text.startswith(_RESERVED_PREFIX)


def draw_id() -> str:
    """Draw an id of 18 digits, for a list whose body has none."""
    return f"{secrets.randbelow(9 * 10**17) + 10**17}"
