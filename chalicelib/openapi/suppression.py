"""Describe ``/suppression-list`` (spec 4.8) and ``/data-privacy``.

The suppression list holds recipients that must not get certain mail.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.data_privacy.request import MOST_RECIPIENTS
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    comma_list,
    query,
    results,
    shared_parameter,
)
from chalicelib.openapi.recipients import WITH_ERRORS
from chalicelib.openapi.schema import (
    Maybe,
    array,
    email,
    flag,
    integer,
    mapping,
    moment,
    nullable,
    obj,
    one_of,
    record,
    ref,
    text,
)
from chalicelib.suppression.model import SOURCES, TYPES
from chalicelib.suppression.request import MOST_IN_BULK

_PATH: Final = "/api/v1/suppression-list"

_ENTRY: Final[dict[str, Json]] = {
    "type": one_of(TYPES),
    "description": nullable(text()),
    "list_id": nullable(text()),
}
_ENTRY_VIEW: Final = record(
    recipient=text(),
    type=one_of(TYPES),
    source=text(),
    created=moment(),
    updated=moment(),
    transactional=flag(),
    non_transactional=flag(),
    description=Maybe(text()),
    list_id=Maybe(text()),
    subaccount_id=Maybe(integer(1)),
)
_PAGE: Final = results(array(_ENTRY_VIEW), links=ref("Links"), total_count=integer(0))
_PAGING: Final = (
    shared_parameter("cursor"),
    shared_parameter("per_page"),
    shared_parameter("page"),
)
_TYPES: Final = comma_list(
    "types",
    "Only entries of these types; by default the types that hold messages back",
    one_of(TYPES),
)
_LIST_ID: Final = query(
    "list_id",
    text(),
    "Only entries of this mailing list. Empty: only entries of no list. Without it: all entries",
)
_REMOVED: Final = one_of(TYPES) | {
    "description": (
        "Type of the entries to remove. Without it: both types that hold messages "
        "back, but not `open_tracking`"
    )
}
_DONE: Final = results(record(message=text()))
_REQUEST: Final = Operation(
    _DONE,
    body=obj(
        "recipients",
        recipients=array(email(), least=1, most=MOST_RECIPIENTS),
        include_subaccounts=flag(),
    ),
)

OPERATIONS: Final[Operations] = {
    f"GET {_PATH}": Operation(
        _PAGE,
        parameters=(
            *_PAGING,
            _TYPES,
            query("from", moment(), "Only entries updated at this time or later"),
            query("to", moment(), "Only entries updated at this time or before"),
            query("recipient", text(), "Only entries of this address; none is no error"),
            comma_list("domain", "Only recipients of these domains"),
            comma_list("sources", "Only entries from these sources", one_of(SOURCES)),
            _LIST_ID,
            query("description", text(), "Only entries whose description contains these words"),
            query("description_strict", flag(), "`true`: the description must match exactly"),
            query("sort", one_of(["asc", "desc"]) | {"default": "desc"}, "Order by time of update"),
        ),
    ),
    f"PUT {_PATH}": Operation(
        results(record(message=text()), **WITH_ERRORS),
        body=obj(
            "recipients",
            recipients=array(
                obj("recipient", "type", recipient=email(), **_ENTRY), least=1, most=MOST_IN_BULK
            ),
        ),
    ),
    f"GET {_PATH}/summary": Operation(results(mapping(integer(0)))),
    f"GET {_PATH}/{{recipient}}": Operation(_PAGE, parameters=(*_PAGING, _TYPES)),
    f"PUT {_PATH}/{{recipient}}": Operation(_DONE, body=obj("type", **_ENTRY), finds_all=True),
    f"DELETE {_PATH}/{{recipient}}": Operation(
        NO_CONTENT, parameters=(_LIST_ID,), body=obj(type=_REMOVED), optional_body=True
    ),
    "POST /api/v1/data-privacy/rtbf-request": _REQUEST,
    "POST /api/v1/data-privacy/opt-out-request": _REQUEST,
}
