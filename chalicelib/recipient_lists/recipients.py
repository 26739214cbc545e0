"""Recipients: each is checked on its own, and what is wrong with one stops only that one.

In its stored form a recipient is ``email`` and those that it has of ``name``, ``header_to``,
``tags``, ``metadata``, ``substitution_data``, ``options`` and ``return_path`` (spec 2.1).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chalicelib.core.addresses import is_address
from chalicelib.core.errors import (
    ApiError,
    ServiceError,
    bad_format,
    missing_field,
    no_valid_recipient,
)
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.limits import too_large_data

Json = dict[str, Any]

MOST_TAGS = 10
#: Errors that are kept of the recipients of one request
MOST_TOLD = 100_000

_OPTIONS = ("open_tracking", "click_tracking", "initial_open")
_ADDRESS_FIELDS = ("email", "name", "header_to")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Sorted:
    """The recipients that are good, and what is wrong with those that are not."""

    accepted: list[Json]
    refusals: Refusals


@dataclass(slots=True)
class Refusals:
    """What is wrong with recipients: how many are bad, and the first ``most`` of the errors."""

    most: int = MOST_TOLD
    count: int = 0
    errors: list[Json] = field(default_factory=list)

    def add(self, error: Json) -> None:
        """Note one bad recipient."""
        self.count += 1
        if len(self.errors) < self.most:
            self.errors.append(error)

    def shown(self, most: int) -> list[Json]:
        """Return at most ``most`` errors, and no more than an answer has room for.

        Lambda replaces an answer that is too large by a failure, for what was accepted.
        """
        room = settings().max_reply_bytes
        for number, error in enumerate(self.errors[:most]):
            room -= _size_in_reply(error)
            if room < 0:
                return self.errors[:number]
        return self.errors[:most]


def sort_recipients(given: list[Any]) -> Sorted:
    """Check every recipient; raises 400 with code 5002 if not one is good."""
    refusals = Refusals()
    accepted = list(good_recipients(given, refusals))
    if not accepted:
        raise no_good_recipient(refusals.errors)
    return Sorted(accepted, refusals)


def good_recipients(given: Iterable[Any], refusals: Refusals) -> Iterator[Json]:
    """Yield the good ones in their stored form, one by one, and note the others."""
    for recipient in given:
        try:
            found = read_recipient(recipient)
        except ServiceError as error:
            refusals.add(error.errors[0])
        else:
            yield found


def no_good_recipient(errors: list[Json]) -> ApiError:
    """Return 400 with code 5002: there is nobody to send to."""
    return no_valid_recipient(_summary(errors))


def read_recipient(given: Any) -> Json:
    """Return a recipient in its stored form."""
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
    if given.get("options") is not None:
        found["options"] = _read_options(given["options"])
    if given.get("return_path") is not None:
        found["return_path"] = _read_return_path(given["return_path"])
    if error := too_large_data(found.get("metadata"), found.get("substitution_data")):
        raise error
    return found


def _read_options(given: Any) -> Json:
    if not isinstance(given, dict):
        raise bad_format(
            f"field 'options' is of type '{_kind(given)}', but needs to be of type 'object'"
        )
    found = {name: given[name] for name in _OPTIONS if given.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, bool):
            raise bad_format(
                f"field 'options.{name}' is of type '{_kind(value)}', "
                "but needs to be of type 'boolean'"
            )
    return found


def as_given(stored: Json) -> Json:
    """Return a stored recipient in the form in which a request gives it."""
    address = {name: stored[name] for name in _ADDRESS_FIELDS if name in stored}
    rest = {name: value for name, value in stored.items() if name not in _ADDRESS_FIELDS}
    return {"address": address} | rest


def _read_address(address: Any) -> Json:
    if isinstance(address, str):
        address = {"email": address}
    if not isinstance(address, dict) or not address.get("email"):
        raise missing_field("address.email required for each recipient")
    found: Json = {}
    for name in _ADDRESS_FIELDS:
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
    if any(map(_CONTROL.search, found.values())):
        raise bad_format("address.name and address.header_to may not hold control characters")
    return found


def _read_return_path(given: Any) -> str:
    if not isinstance(given, str) or not is_address(given):
        raise bad_format(f"return_path '{str(given)[:300]}' is not a valid email address")
    return given


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array"}
    return names.get(type(value), "object")


def _size_in_reply(error: Json) -> int:
    """Return what an error takes in the reply, which is JSON as a text within JSON."""
    text = json.dumps(error, separators=(",", ":"))
    return len(text) + text.count('"') + text.count("\\") + 1


def _summary(errors: list[Json]) -> str:
    texts = Counter(str(error.get("description") or error["message"]) for error in errors)
    return "; ".join(text for text, _ in texts.most_common(3)) or "recipients is empty"
