"""Describe ``/recipient-lists``: recipients that are stored to be sent to later."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import Operation, Operations, json, query, results
from chalicelib.openapi.recipients import (
    ACCEPTED_COUNTS,
    NUM_RCPT_ERRORS,
    RECIPIENT,
    RECIPIENTS,
    WITH_ERRORS,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    identifier,
    integer,
    mapping,
    of_model,
    record,
    text,
)
from chalicelib.recipient_lists.model import LONGEST_DESCRIPTION, LONGEST_NAME
from chalicelib.recipient_lists.request import ListBody

_PATH: Final = "/api/v1/recipient-lists"


def _body(*required: str) -> Json:
    return of_model(
        ListBody,
        *required,
        id=identifier(),
        name=text(most=LONGEST_NAME),
        description=text(most=LONGEST_DESCRIPTION),
        recipients=RECIPIENTS,
    )


_SUMMARY: Final[dict[str, Json]] = {
    "id": text(),
    "name": text(),
    "description": text(),
    "attributes": mapping(),
    "total_accepted_recipients": integer(1),
}
_SAVED_LIST: Final = results(record(id=text(), name=text(), **ACCEPTED_COUNTS), **WITH_ERRORS)

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(
        _SAVED_LIST, parameters=(NUM_RCPT_ERRORS,), body=_body("recipients")
    ),
    f"GET {_PATH}": Operation(results(array(record(**_SUMMARY)))),
    f"GET {_PATH}/{{list_id}}": Operation(
        results(record(**_SUMMARY, recipients=Maybe(array(RECIPIENT)))),
        parameters=(query("show_recipients", flag(), "`true`: show the recipients too"),),
    ),
    f"PUT {_PATH}/{{list_id}}": Operation(
        _SAVED_LIST, parameters=(NUM_RCPT_ERRORS,), body=_body(), refusals=(409,)
    ),
    f"DELETE {_PATH}/{{list_id}}": Operation(json(record()), refusals=(409,)),
}
