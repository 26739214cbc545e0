"""Recipients: each is checked on its own, and what is wrong with one stops only that one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from chalicelib.core.addresses import is_address
from chalicelib.core.errors import ApiError, ServiceError, bad_format, missing_field
from chalicelib.transmissions.request import too_large_data

Json = dict[str, Any]

MOST_TAGS = 10


@dataclass(frozen=True, slots=True)
class Sorted:
    """The recipients that are good, and the errors of those that are not (in their order)."""

    accepted: list[Json]
    errors: list[Json]

    @property
    def rejected(self) -> int:
        """Return how many were refused."""
        return len(self.errors)


def sort_recipients(given: list[Any]) -> Sorted:
    """Check every recipient; raises 400 with code 5002 if not one is good."""
    accepted: list[Json] = []
    errors: list[Json] = []
    for recipient in given:
        try:
            accepted.append(read_recipient(recipient))
        except ServiceError as error:
            errors += error.errors[:1]
    if not accepted:
        raise ApiError(
            400,
            "At least one valid recipient is required",
            code="5002",
            description=_summary(errors),
        )
    return Sorted(accepted, errors)


def read_recipient(given: Any) -> Json:
    """Return a recipient in its stored form: ``email`` and those other keys that it has."""
    if not isinstance(given, dict):
        raise bad_format(f"recipient is of type '{_kind(given)}', but needs to be of type 'object'")
    found = _read_address(given.get("address"))
    for name, kind in (("metadata", dict), ("substitution_data", dict), ("tags", list)):
        value = given.get(name)
        if value is None:
            continue
        if not isinstance(value, kind):
            wanted = "array" if kind is list else "object"
            raise bad_format(
                f"field '{name}' is of type '{_kind(value)}', but needs to be of type '{wanted}'"
            )
        found[name] = value
    if "tags" in found:
        if not all(isinstance(tag, str) for tag in found["tags"]):
            raise bad_format("field 'tags' must be an array of strings")
        found["tags"] = found["tags"][:MOST_TAGS]
    if error := too_large_data(found.get("metadata"), found.get("substitution_data")):
        raise error
    return found


def _read_address(address: Any) -> Json:
    if isinstance(address, str):
        address = {"email": address}
    if not isinstance(address, dict) or not address.get("email"):
        raise missing_field("address.email required for each recipient")
    found: Json = {}
    for name in ("email", "name", "header_to"):
        value = address.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise bad_format(
                f"field 'address.{name}' is of type '{_kind(value)}', "
                "but needs to be of type 'string'"
            )
        found[name] = value
    found["email"] = found["email"].strip()
    if not is_address(found["email"]):
        raise bad_format(f"'{found['email'][:300]}' is not a valid email address")
    if any(ord(c) < 32 or ord(c) == 127 for text in found.values() for c in text):
        raise bad_format("address.name and address.header_to may not hold control characters")
    return found


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array"}
    return names.get(type(value), "object")


def _summary(errors: list[Json]) -> str:
    texts = Counter(str(error.get("description") or error["message"]) for error in errors)
    return "; ".join(text for text, _ in texts.most_common(3)) or "recipients is empty"
