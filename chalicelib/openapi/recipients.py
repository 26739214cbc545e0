"""Describe the recipients of transmissions and stored lists, and the errors of refused ones."""

from __future__ import annotations

from typing import Any, Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import query
from chalicelib.openapi.schema import (
    Maybe,
    array,
    either,
    email,
    flag,
    integer,
    mapping,
    obj,
    ref,
    text,
)
from chalicelib.recipient_lists.recipients import MOST_TAGS

ENTERPRISE_ONLY: Final = "Enterprise accounts only; others ignore it"

_ADDRESS: Final = obj("email", email=email(), name=text(), header_to=text())

RECIPIENT: Final = obj(
    "address",
    address=either(email(), _ADDRESS),
    tags=array(text()) | {"description": f"Tags after the first {MOST_TAGS} are dropped"},
    metadata=mapping(),
    substitution_data=mapping(),
    options=obj(open_tracking=flag(), click_tracking=flag(), initial_open=flag()),
    return_path=text(about=f"Envelope sender of this recipient's message. {ENTERPRISE_ONLY}"),
)
RECIPIENTS: Final = array(RECIPIENT, least=1)

NUM_RCPT_ERRORS: Final[dict[str, Any]] = query(
    "num_rcpt_errors", integer(0, 1_000_000), "Most errors of single recipients to show"
)

#: How many recipients were accepted
ACCEPTED_COUNTS: Final[dict[str, Json | Maybe]] = {
    "total_accepted_recipients": integer(0),
    "total_rejected_recipients": integer(0),
    "rcpt_to_errors": Maybe(array(ref("Error"))),
}
#  Shown next to the results when recipients were refused
WITH_ERRORS: Final[dict[str, Json | Maybe]] = {"errors": Maybe(array(ref("Error")))}
