"""Read the body of a recipient list request and check it field by field."""

from __future__ import annotations

from typing import Any

from chalicelib.core.errors import bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.core.json_types import Json
from chalicelib.core.resource_ids import NEW_ID_RULE, is_new_id
from chalicelib.recipient_lists.limits import SUBSTITUTION_BYTES, check_length, size
from chalicelib.recipient_lists.model import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    MOST_RECIPIENTS,
    is_list_id,
)

ATTRIBUTES_BYTES = SUBSTITUTION_BYTES


class ListBody(Body):
    """The body of POST and PUT. Recipients are checked later, one by one."""

    id: str | None = None
    name: str | None = None
    description: str | None = None
    attributes: Json | None = None
    recipients: list[Any] | None = None


def read_new(data: Any) -> ListBody:
    """Check the body of POST; raises 422."""
    body = _read(data)
    if body.id is not None and not (is_new_id(body.id) and is_list_id(body.id)):
        raise bad_format(f"field 'id' {NEW_ID_RULE}, and may not begin with 'rcptlist_'")
    if body.recipients is None:
        raise missing_field("recipients is a required field")
    return body


def read_changes(data: Any, list_id: str) -> ListBody:
    """Check the body of PUT for the list at the path; raises 422."""
    body = _read(data)
    if body.id is not None and body.id != list_id:
        raise bad_format("field 'id' must be the id of the recipient list in the path")
    return body


def _read(data: Any) -> ListBody:
    body = ListBody.parse(data)
    check_length("name", body.name, LONGEST_NAME)
    check_length("description", body.description, LONGEST_DESCRIPTION)
    if body.attributes and (length := size(body.attributes)) > ATTRIBUTES_BYTES:
        raise bad_format(
            f"field 'attributes' has length '{length}', but max length is '{ATTRIBUTES_BYTES}'"
        )
    if body.recipients and (count := len(body.recipients)) > MOST_RECIPIENTS:
        raise bad_format(
            f"field 'recipients' has length '{count}', but max length is '{MOST_RECIPIENTS}'"
        )
    return body
