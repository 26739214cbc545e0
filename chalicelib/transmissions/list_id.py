"""List ids (RFC 2919): what ``override.list_id`` may be, and how it stands in a message."""

from __future__ import annotations

import re

from chalicelib.core.errors import bad_format

_LIST_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
LONGEST = 255


def check_list_id(list_id: str) -> None:
    """Raise 1300 unless ``list_id`` is one (spec 2.9)."""
    if len(list_id) > LONGEST or not _LIST_ID.fullmatch(list_id):
        raise bad_format("field 'override.list_id' is not a valid list id")


def header_of(list_id: str) -> tuple[str, str]:
    """Return the name and value of the header that tells of the list."""
    return "List-Id", f"<{list_id}>"
