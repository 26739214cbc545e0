"""``/suppression-list`` (spec 4.8) and ``/data-privacy``."""

from __future__ import annotations

from typing import Final

from chalicelib.data_privacy.service import MOST_RECIPIENTS
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    listed,
    query,
    results,
    shared,
)
from chalicelib.openapi.schema import (
    Maybe,
    Schema,
    array,
    email,
    flag,
    integer,
    mapping,
    moment,
    obj,
    one_of,
    record,
    ref,
    text,
)
from chalicelib.suppression.model import SOURCES, TYPES
from chalicelib.suppression.request import MOST_IN_BULK

_PATH: Final = "/api/v1/suppression-list"

_ENTRY: Final[dict[str, Schema]] = {
    "type": one_of(TYPES),
    "description": text(),
    "list_id": text(),
}
_SHOWN: Final = record(
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
_PAGE: Final = results(array(_SHOWN), links=ref("Links"), total_count=integer(0))
_PAGING: Final = (shared("cursor"), shared("per_page"), shared("page"))
_TYPES: Final = listed(
    "types", "Those of these types; by default those that hold messages back", one_of(TYPES)
)
_LIST_ID: Final = query(
    "list_id", text(), "Those of this mailing list; empty: those of none; without it, all"
)
_REMOVED: Final = one_of(TYPES) | {
    "description": "Without it both that hold messages back; `open_tracking` goes only by its name"
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
        takes=(
            *_PAGING,
            _TYPES,
            query("from", moment(), "Updated at this time or later"),
            query("to", moment(), "Updated at this time or before"),
            listed("domain", "Those of these recipient domains"),
            listed("sources", "Those that these have added", one_of(SOURCES)),
            _LIST_ID,
            query("description", text(), "Those whose description has these words"),
            query("description_strict", flag(), "The description is exactly this"),
            query("sort", one_of(["asc", "desc"]) | {"default": "desc"}, "By time of update"),
        ),
    ),
    f"PUT {_PATH}": Operation(
        _DONE,
        body=obj(
            "recipients",
            recipients=array(
                obj("recipient", "type", recipient=email(), **_ENTRY), least=1, most=MOST_IN_BULK
            ),
        ),
    ),
    f"GET {_PATH}/summary": Operation(results(mapping(integer(0)))),
    f"GET {_PATH}/{{recipient}}": Operation(_PAGE, takes=(*_PAGING, _TYPES)),
    f"PUT {_PATH}/{{recipient}}": Operation(_DONE, body=obj("type", **_ENTRY), finds_all=True),
    f"DELETE {_PATH}/{{recipient}}": Operation(
        NO_CONTENT, takes=(_LIST_ID,), body=obj(type=_REMOVED), optional_body=True
    ),
    "POST /api/v1/data-privacy/rtbf-request": _REQUEST,
    "POST /api/v1/data-privacy/opt-out-request": _REQUEST,
}
