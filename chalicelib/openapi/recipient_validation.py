"""Describe ``/recipient-validation``: whether mail to addresses is likely to arrive."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi.operation import Operation, Operations, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    identifier,
    integer,
    moment,
    obj,
    one_of,
    record,
    text,
)
from chalicelib.recipient_lists.model import LONGEST_NAME
from chalicelib.recipient_validation.job import STATUSES
from chalicelib.recipient_validation.model import GOOD, REASONS, RESULTS

_LIST_PATH: Final = "/api/v1/recipient-validation/list/{list_id}"

_VERDICT: Final = record(
    valid=flag() | {"description": "The syntax is right, and the domain has MX or A records"},
    result=one_of(RESULTS),
    reason=Maybe(one_of(REASONS) | {"description": "Only for `undeliverable` and `typo`"}),
    delivery_confidence=integer(0, 100),
    is_role=flag() | {"description": "It belongs to a task, such as `support@`"},
    is_disposable=flag() | {"description": "Its provider gives out mailboxes for a short time"},
    is_free=flag() | {"description": "Its provider gives mailboxes to anybody for nothing"},
    did_you_mean=Maybe(text(about="The corrected address. Only for `typo`")),
)
_RESULTS: Final = array(one_of(RESULTS), least=1, most=len(RESULTS))
_JOB: Final = results(
    record(
        list_id=text(),
        status=one_of(STATUSES) | {"description": "`none`: not within the last 30 days"},
        total=integer(1),
        checked=integer(0),
        counts=record(**{result: integer(0) for result in RESULTS}),
        started_at=Maybe(moment()),
        ended_at=Maybe(moment()),
        copy=Maybe(
            record(
                id=text(),
                name=text(),
                keep=_RESULTS,
                total_accepted_recipients=Maybe(
                    integer(1) | {"description": "Recipients of the copy, once there is one"}
                ),
            )
        ),
        problem=Maybe(text(about="Why the validation failed, or why there is no copy")),
    )
)

OPERATIONS: Final[Operations] = {
    "GET /api/v1/recipient-validation/single/{address}": Operation(
        results(_VERDICT), finds_all=True
    ),
    f"POST {_LIST_PATH}": Operation(
        _JOB,
        body=obj(
            copy=obj(
                "id",
                id=identifier(),
                name=text(most=LONGEST_NAME),
                keep=_RESULTS
                | {
                    "description": "Results of the recipients to copy",
                    "default": list(GOOD),
                },
            )
            | {"description": "A new list for the recipients that mail may be sent to"}
        ),
        optional_body=True,
        refusals=(400, 409),
    ),
    f"GET {_LIST_PATH}": Operation(_JOB),
}
