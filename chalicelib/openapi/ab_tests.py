"""Describe ``/ab-test``: tests that compare templates on a sample of recipients."""

from __future__ import annotations

from typing import Final

from chalicelib.ab_tests.model import LONGEST_NAME, STATUSES
from chalicelib.ab_tests.request import AbTestBody
from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import NO_CONTENT, Operation, Operations, query, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    identifier,
    integer,
    moment,
    number,
    of_model,
    one_of,
    record,
    text,
)

_PATH: Final = "/api/v1/ab-test"


def _body(*required: str) -> Json:
    return of_model(AbTestBody, *required, id=identifier(), name=text(least=1, most=LONGEST_NAME))


_SHARE: Final = record(
    template_id=text(),
    sample_size=Maybe(integer(0)),
    percent=Maybe(number(0, 100)),
    count_accepted=Maybe(integer(0)),
    count_unique_clicked=Maybe(integer()),
    count_unique_confirmed_opened=Maybe(integer()),
    engagement_rate=Maybe(number(0, 1)),
)
_TEST: Final = record(
    id=text(),
    name=text(),
    version=integer(1),
    status=one_of(STATUSES),
    winning_template_id=Maybe(text()),
    metric=Maybe(text()),
    audience_selection=Maybe(text()),
    test_mode=Maybe(text()),
    start_time=Maybe(moment()),
    end_time=Maybe(moment()),
    total_sample_size=Maybe(integer(0)),
    confidence_level=Maybe(number(0, 1)),
    engagement_timeout=Maybe(integer(0)),
    default_template=_SHARE,
    variants=Maybe(array(_SHARE)),
    created_at=moment(),
    updated_at=moment(),
    subaccount_id=Maybe(integer(1)),
)
_ID: Final = results(record(id=text()))
_VERSION: Final = query("version", integer(1), "Version of the test; by default the latest")

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(_ID, body=_body("name", "default_template"), refusals=(409,)),
    f"GET {_PATH}": Operation(
        results(array(_TEST)),
        parameters=(query("status", one_of(STATUSES), "Tests with this status"),),
    ),
    f"GET {_PATH}/{{test_id}}": Operation(results(_TEST), parameters=(_VERSION,)),
    f"PUT {_PATH}/{{test_id}}": Operation(
        results(record(version=integer(1))),
        parameters=(_VERSION,),
        body=_body(),
        optional_body=True,
        refusals=(409,),
    ),
    f"DELETE {_PATH}/{{test_id}}": Operation(NO_CONTENT, parameters=(_VERSION,), refusals=(409,)),
    f"POST {_PATH}/{{test_id}}/cancel": Operation(
        results(record(status=one_of(STATUSES))), refusals=(409,)
    ),
    f"POST {_PATH}/draft": Operation(_ID, body=_body("name", "default_template"), refusals=(409,)),
    f"GET {_PATH}/draft/{{test_id}}": Operation(results(_TEST)),
    f"PUT {_PATH}/draft/{{test_id}}": Operation(
        _ID, body=_body(), optional_body=True, refusals=(409,)
    ),
    f"DELETE {_PATH}/draft/{{test_id}}": Operation(NO_CONTENT),
    f"POST {_PATH}/draft/{{test_id}}/schedule": Operation(
        _ID, body=_body(), optional_body=True, refusals=(409,)
    ),
}
