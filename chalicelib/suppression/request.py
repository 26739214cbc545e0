"""Read the bodies that write and remove suppression entries (spec 4.8); raises 400.

The errors carry a message and no code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from chalicelib.core.errors import bad_request
from chalicelib.core.reply import fitting
from chalicelib.suppression.model import (
    BLOCKING,
    MANUALLY_ADDED,
    SuppressionEntry,
    check_type,
    new_entry,
)

MOST_IN_BULK: Final = 10_000
LARGEST_BULK: Final = 50 * 1024 * 1024
_LONGEST_NAME = 254


def read_bulk(body: Any) -> list[SuppressionEntry]:
    """Read the entries of a bulk load; raises 400, which names the malformed ones."""
    recipients = body.get("recipients") if isinstance(body, dict) else None
    if not isinstance(recipients, list) or not recipients:
        raise bad_request("recipients must be an array of recipient objects")
    if len(recipients) > MOST_IN_BULK:
        raise bad_request(f"recipients can hold at most {MOST_IN_BULK} entries")
    entries: list[SuppressionEntry] = []
    faults: list[tuple[str, str]] = []
    for index, each in enumerate(recipients):
        try:
            entries += _entries(_recipient(each), each)
        except ValueError as fault:
            faults.append((_name(each, index), str(fault)))
    if faults:
        names = joined_names([name for name, _ in faults])
        reasons = "; ".join(dict.fromkeys(reason for _, reason in faults))
        text = f"PUT body contains {len(faults)} invalid or malformed recipient(s): {names}"
        raise bad_request(text, description=reasons)
    return entries


def joined_names(names: Sequence[str]) -> str:
    """Return as many names as a reply has room for, with commas, and the number of the others."""
    first = fitting(names)
    more = [f"and {len(names) - len(first)} more"] if len(first) < len(names) else []
    return ", ".join([*first, *more])


def read_entries(recipient: str, body: Any) -> list[SuppressionEntry]:
    """Read the entry that an object describes, or two by the deprecated flags; raises 400."""
    try:
        return _entries(recipient, body)
    except ValueError as fault:
        raise bad_request(str(fault)) from None


def read_removal(body: Any) -> tuple[str, ...]:
    """Return the types to remove (spec 4.8 rule 4); ``body`` is ``None`` when there is none."""
    if body is not None and not isinstance(body, dict):
        raise bad_request("The request body must be an object")
    type = body.get("type") if body else None
    if type is None:
        return BLOCKING
    try:
        check_type(type)
    except ValueError as fault:
        raise bad_request(str(fault)) from None
    return (type,)


def _entries(recipient: Any, body: Any) -> list[SuppressionEntry]:
    if not isinstance(body, dict):
        raise ValueError("A recipient must be an object")
    if not isinstance(recipient, str):
        raise ValueError("recipient must be a string")
    description, list_id = _text(body, "description"), _text(body, "list_id")
    if description is None and "description" in body:
        description = ""  # null removes the present one
    return [
        new_entry(
            recipient,
            each,
            MANUALLY_ADDED,
            description=description,
            list_id=list_id,
        )
        for each in _types(body)
    ]


def _types(body: dict[str, Any]) -> list[Any]:
    type = body.get("type")
    if type is not None and type != "":
        return [type]
    types = [each for each in BLOCKING if body.get(each) is True]
    if not types:
        raise ValueError("Must supply a suppression type")
    return types


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    return value


def _recipient(each: Any) -> Any:
    """Return the recipient in an element of a bulk load; older clients call it ``email``."""
    if not isinstance(each, dict):
        return None
    return each.get("email") if each.get("recipient") is None else each["recipient"]


def _name(each: Any, index: int) -> str:
    recipient = _recipient(each) if isinstance(each, dict) else each
    text = recipient if isinstance(recipient, str) else json.dumps(recipient)
    return text[:_LONGEST_NAME] if recipient else f"#{index + 1}"
