"""Check recipients one by one, so that a bad recipient stops only itself.

What is good is returned in its stored form (``stored_form.StoredRecipient``), encoded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core.core_schema import (
    CoreSchema,
    TypedDictField,
    is_instance_schema,
    str_schema,
    typed_dict_field,
    typed_dict_schema,
)

from chalicelib.core.addresses import is_address
from chalicelib.core.errors import (
    ApiError,
    ServiceError,
    bad_format,
    missing_field,
    no_valid_recipient,
)
from chalicelib.core.json_types import Json
from chalicelib.core.reply import fitting
from chalicelib.mail_format.address_list import read_mailboxes
from chalicelib.recipient_lists.limits import METADATA_BYTES, too_large_data
from chalicelib.recipient_lists.stored_form import RecipientOptions, StoredRecipient, encode

MOST_TAGS = 10
#: Errors that are kept for the recipients of one request
MOST_ERRORS = 100_000

_OPTIONS = ("open_tracking", "click_tracking", "initial_open")
_ADDRESS_FIELDS = ("email", "name", "header_to")
_DATA_FIELDS = (("metadata", dict), ("substitution_data", dict), ("tags", list))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# The limits count JSON in which a fraction may have a few characters more than in what is stored
_SURELY_SMALL = METADATA_BYTES // 2

_TEXTS = frozenset({str})
_OWN_CHOICES = frozenset({"options", "return_path"})


def _optional(kind: CoreSchema, *path: str | int) -> TypedDictField:
    return typed_dict_field(kind, required=False, validation_alias=[*path] or None)


_EMAIL_PATHS: list[list[str | int]] = [["address", "email"], ["address"]]
_STRING = str_schema(strict=True)
_OBJECT = is_instance_schema(dict)
# The types alone. What ``address`` holds is moved out of it
_COMMON = SchemaValidator(
    typed_dict_schema(
        {
            "email": typed_dict_field(_STRING, validation_alias=_EMAIL_PATHS),
            "name": _optional(_STRING, "address", "name"),
            "header_to": _optional(_STRING, "address", "header_to"),
            "metadata": _optional(_OBJECT),
            "substitution_data": _optional(_OBJECT),
            "tags": _optional(is_instance_schema(list)),
        }
    )
)


@dataclass(frozen=True, slots=True)
class SortedRecipients:
    """The good recipients in their stored form, and the errors of the others."""

    accepted: list[bytes]
    refusals: Refusals


@dataclass(slots=True)
class Refusals:
    """The errors of bad recipients: how many are bad, and the first ``most`` errors."""

    most: int = MOST_ERRORS
    count: int = 0
    errors: list[Json] = field(default_factory=list)

    def add(self, error: Json) -> None:
        """Add the error of one bad recipient."""
        self.count += 1
        if len(self.errors) < self.most:
            self.errors.append(error)

    def first(self, most: int) -> list[Json]:
        """Return at most ``most`` errors, and no more than a reply has room for."""
        return list(fitting(self.errors[:most]))


def check_recipients(recipients: list[Any]) -> SortedRecipients:
    """Check every recipient; raises 400 with code 5002 if none is good."""
    refusals = Refusals()
    accepted = list(good_recipients(recipients, refusals))
    if not accepted:
        raise no_good_recipient(refusals.errors)
    return SortedRecipients(accepted, refusals)


def good_recipients(recipients: Iterable[Any], refusals: Refusals) -> Iterator[bytes]:
    """Yield the good recipients in their stored form, and add the others to ``refusals``."""
    for value in recipients:
        try:
            recipient = read_recipient(value)
        except ServiceError as error:
            refusals.add(error.errors[0])
        else:
            yield recipient


def no_good_recipient(errors: list[Json]) -> ApiError:
    """Return 400 with code 5002: no recipient is good."""
    return no_valid_recipient(_summary(errors))


def read_recipient(data: Any) -> bytes:
    """Return a recipient in its stored form."""
    recipient = _read_common(data) or _read_any(data)
    encoded = encode(recipient)
    if len(encoded) > _SURELY_SMALL:
        _check_size(recipient)
    return encoded


def _read_common(data: Any) -> StoredRecipient | None:
    """Read a good recipient without options of its own, or return ``None``.

    It is read in a third of the time, and is what :func:`_read_any` would return.
    """
    try:
        recipient: StoredRecipient = _COMMON.validate_python(data)
    except ValidationError:
        return None
    header_to = recipient.get("header_to", "")
    tags = recipient.get("tags", ())
    is_good = (
        is_address(recipient["email"])
        and recipient.get("name", "").isprintable()
        and (not header_to or is_address(header_to))
        and len(tags) <= MOST_TAGS
        and _TEXTS.issuperset(map(type, tags))
        and _OWN_CHOICES.isdisjoint(data)
    )
    return recipient if is_good else None


def _read_any(data: Any) -> StoredRecipient:
    """Read a recipient field by field; raises the error of the first bad one."""
    if not isinstance(data, dict):
        raise bad_format(f"recipient is of type '{_kind(data)}', but needs to be of type 'object'")
    recipient = _read_address(data.get("address"))
    for name, kind in _DATA_FIELDS:
        value = data.get(name)
        if value is None:
            continue
        if not isinstance(value, kind):
            expected = "array" if kind is list else "object"
            raise bad_format(
                f"field '{name}' is of type '{_kind(value)}', but needs to be of type '{expected}'"
            )
        recipient[name] = value
    if tags := recipient.get("tags"):
        if not _TEXTS.issuperset(map(type, tags)):
            raise bad_format("field 'tags' must be an array of strings")
        recipient["tags"] = tags[:MOST_TAGS]
    if data.get("options") is not None:
        recipient["options"] = _read_options(data["options"])
    if data.get("return_path") is not None:
        recipient["return_path"] = _read_return_path(data["return_path"])
    return cast(StoredRecipient, recipient)


def _check_size(recipient: StoredRecipient) -> None:
    if error := too_large_data(recipient.get("metadata"), recipient.get("substitution_data")):
        raise error


def _read_options(data: Any) -> RecipientOptions:
    if not isinstance(data, dict):
        raise bad_format(
            f"field 'options' is of type '{_kind(data)}', but needs to be of type 'object'"
        )
    options = {name: data[name] for name in _OPTIONS if data.get(name) is not None}
    for name, value in options.items():
        if not isinstance(value, bool):
            raise bad_format(
                f"field 'options.{name}' is of type '{_kind(value)}', "
                "but needs to be of type 'boolean'"
            )
    return cast(RecipientOptions, options)


def request_form(recipient: StoredRecipient) -> Json:
    """Return a stored recipient in the form that it has in requests."""
    fields: Json = {**recipient}
    address = {name: fields.pop(name) for name in _ADDRESS_FIELDS if name in fields}
    return {"address": address, **fields}


def _read_address(address: Any) -> Json:
    if isinstance(address, str):
        address = {"email": address}
    if not isinstance(address, dict) or not address.get("email"):
        raise missing_field("address.email required for each recipient")
    fields: Json = {}
    for name in _ADDRESS_FIELDS:
        value = address.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise bad_format(
                f"field 'address.{name}' is of type '{_kind(value)}', "
                "but needs to be of type 'string'"
            )
        fields[name] = value
    fields["email"] = fields["email"].strip()
    if not is_address(fields["email"]):
        raise bad_format(f"'{fields['email'][:300]}' is not a valid email address")
    if any(map(_CONTROL.search, fields.values())):
        raise bad_format("address.name and address.header_to may not hold control characters")
    if (header_to := fields.get("header_to")) and not read_mailboxes(header_to):
        raise bad_format(f"address.header_to '{header_to[:300]}' is not a list of email addresses")
    return fields


def _read_return_path(value: Any) -> str:
    if not isinstance(value, str) or not is_address(value):
        raise bad_format(f"return_path '{str(value)[:300]}' is not a valid email address")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array"}
    return names.get(type(value), "object")


def _summary(errors: list[Json]) -> str:
    texts = Counter(str(error.get("description") or error["message"]) for error in errors)
    return "; ".join(text for text, _ in texts.most_common(3)) or "recipients is empty"
