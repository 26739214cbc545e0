"""Read the body of a request that validates a list; raises 422."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from chalicelib.core.errors import bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.core.resource_ids import NEW_ID_RULE, is_new_id
from chalicelib.recipient_lists.limits import check_length
from chalicelib.recipient_lists.model import LONGEST_NAME, is_list_id
from chalicelib.recipient_validation.model import GOOD, RESULTS


class CopyRequest(Body):
    """The list to copy recipients to, and the results of those that are copied."""

    id: str = ""
    name: str = ""
    keep: list[str] = Field(default=list(GOOD), max_length=len(RESULTS))


class ListValidationBody(Body):
    """The body of POST."""

    #: Named so because models of pydantic have a method ``copy``
    new_list: CopyRequest | None = Field(default=None, alias="copy")


def read_copy(data: Any) -> CopyRequest | None:
    """Return the copy that a body asks for, ``None`` if it asks for none."""
    copy = ListValidationBody.parse(data).new_list
    if copy is None:
        return None
    if not copy.id:
        raise missing_field("copy.id is a required field")
    if not (is_new_id(copy.id) and is_list_id(copy.id)):
        raise bad_format(f"field 'copy.id' {NEW_ID_RULE}, and may not begin with 'rcptlist_'")
    check_length("copy.name", copy.name, LONGEST_NAME)
    if not copy.keep or not set(copy.keep) <= set(RESULTS):
        raise bad_format(f"field 'copy.keep' must hold some of: {', '.join(RESULTS)}")
    return copy
