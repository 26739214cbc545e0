"""The bodies that write and remove entries (spec 4.8). Refusals are 400 with a message alone."""

from __future__ import annotations

import json
from typing import Any, Final

from chalicelib.core.errors import bad_request
from chalicelib.suppression.model import BLOCKING, MANUALLY_ADDED, Entry, check_type, new_entry

MOST_IN_BULK: Final = 10_000
LARGEST_BULK: Final = 50 * 1024 * 1024
_MOST_NAMED = 100
_LONGEST_NAME = 254


def read_bulk(body: Any) -> list[Entry]:
    """Read the entries of a bulk load; raises 400 that names every malformed one (up to 100)."""
    given = body.get("recipients") if isinstance(body, dict) else None
    if not isinstance(given, list) or not given:
        raise bad_request("recipients must be an array of recipient objects")
    if len(given) > MOST_IN_BULK:
        raise bad_request(f"recipients can hold at most {MOST_IN_BULK} entries")
    entries: list[Entry] = []
    faults: list[tuple[str, str]] = []
    for place, each in enumerate(given):
        try:
            entries += _entries(_recipient(each), each)
        except ValueError as fault:
            faults.append((_name(each, place), str(fault)))
    if faults:
        names = ", ".join(name for name, _ in faults[:_MOST_NAMED])
        reasons = "; ".join(dict.fromkeys(reason for _, reason in faults))
        text = f"PUT body contains {len(faults)} invalid or malformed recipient(s): {names}"
        raise bad_request(text, description=reasons)
    return entries


def read_entries(recipient: str, body: Any) -> list[Entry]:
    """Read the entries that an object describes: one, or two by the deprecated flags; or 400."""
    try:
        return _entries(recipient, body)
    except ValueError as fault:
        raise bad_request(str(fault)) from None


def read_removal(body: Any) -> tuple[str, ...]:
    """Return the types to remove (spec 4.8 rule 4); ``body`` is ``None`` when there is none."""
    if body is not None and not isinstance(body, dict):
        raise bad_request("The request body must be an object")
    given = body.get("type") if body else None
    if given is None:
        return BLOCKING
    try:
        check_type(given)
    except ValueError as fault:
        raise bad_request(str(fault)) from None
    return (given,)


def _entries(recipient: Any, body: Any) -> list[Entry]:
    if not isinstance(body, dict):
        raise ValueError("A recipient must be an object")
    if not isinstance(recipient, str):
        raise ValueError("recipient must be a string")
    description, list_id = _text(body, "description"), _text(body, "list_id")
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
    given = body.get("type")
    if given is not None and given != "":
        return [given]
    flagged = [each for each in BLOCKING if body.get(each) is True]
    if not flagged:
        raise ValueError("Must supply a suppression type")
    return flagged


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    return value


def _recipient(each: Any) -> Any:
    """Return whom an element of a bulk load names; ``email`` is its name in older clients."""
    return each.get("recipient", each.get("email")) if isinstance(each, dict) else None


def _name(each: Any, place: int) -> str:
    recipient = _recipient(each) if isinstance(each, dict) else each
    text = recipient if isinstance(recipient, str) else json.dumps(recipient)
    return text[:_LONGEST_NAME] if recipient else f"#{place + 1}"
