"""Recipients as transmissions and stored lists take them, and what is said of those refused."""

from __future__ import annotations

from typing import Any, Final

from chalicelib.openapi.operation import query
from chalicelib.openapi.schema import (
    Maybe,
    Schema,
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

_ADDRESS: Final = obj("email", email=email(), name=text(), header_to=text())

RECIPIENT: Final = obj(
    "address",
    address=either(email(), _ADDRESS),
    tags=array(text()) | {"description": f"The first {MOST_TAGS} are kept"},
    metadata=mapping(),
    substitution_data=mapping(),
    options=obj(open_tracking=flag(), click_tracking=flag(), initial_open=flag()),
    return_path=text(about="For enterprise accounts"),
)
RECIPIENTS: Final = array(RECIPIENT, least=1)

ERRORS_SHOWN: Final[dict[str, Any]] = query(
    "num_rcpt_errors", integer(0, 1_000_000), "How many errors of recipients are shown at most"
)

#: What is said of how many recipients were taken
SAVED: Final[dict[str, Schema | Maybe]] = {
    "total_accepted_recipients": integer(0),
    "total_rejected_recipients": integer(0),
    "rcpt_to_errors": Maybe(array(ref("Error"))),
}
#: Beside results: some recipients were refused
WITH_ERRORS: Final[dict[str, Schema | Maybe]] = {"errors": Maybe(array(ref("Error")))}
