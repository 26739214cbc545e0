"""Describe ``/account`` and ``/usage`` (spec 4.6), and ``/counts``."""

from __future__ import annotations

from typing import Final

from chalicelib.accounts.request import AccountChange
from chalicelib.openapi.operation import Operation, Operations, comma_list, results
from chalicelib.openapi.schema import (
    ANY,
    Maybe,
    flag,
    integer,
    mapping,
    moment,
    obj,
    of_model,
    one_of,
    record,
    text,
)
from chalicelib.resource_counts.service import KINDS, MOST

_PERIOD: Final = record(
    limit=integer(-1) | {"description": "-1: no limit"},
    used=integer(0),
    start=moment(),
    end=moment(),
)
_FEATURE: Final = record(
    day=_PERIOD, month=_PERIOD, timestamp=moment(), last_usage_date=Maybe(moment())
)
_ACCOUNT: Final = record(
    customer_id=integer(),
    company_name=text(),
    country_code=text(),
    anniversary_date=moment(),
    created=moment(),
    updated=moment(),
    status=text(),
    status_reason_category=text(),
    status_updated=moment(),
    tfa_required=flag(),
    service_level=text(),
    subscription=obj(
        code=text(),
        name=text(),
        plan_volume=integer(-1),
        effective_date=moment(),
        self_serve=flag(),
        type=text(),
    ),
    pending_subscription=Maybe(record(code=text(), name=text(), effective_date=moment())),
    pending_cancellation=Maybe(
        record(creation_date=moment(), effective_date=moment(), requesting_user=text())
    ),
    options=mapping(ANY),
    support=record(phone=flag(), online=flag()),
    usage=Maybe(
        record(
            timestamp=moment(),
            day=_PERIOD,
            month=_PERIOD,
            sandbox=record(used=integer(0), limit=integer(0)),
        )
    ),
)

_COUNT: Final = record(
    count=integer(0),
    more=flag() | {"description": f"There are more than {MOST}, at which counting stops"},
)

OPERATIONS: Final[Operations] = {
    "GET /api/v1/counts": Operation(results(record(**dict.fromkeys(KINDS, Maybe(_COUNT))))),
    "GET /api/v1/account": Operation(
        results(_ACCOUNT),
        parameters=(comma_list("include", "What to show besides the account", one_of(["usage"])),),
    ),
    "PUT /api/v1/account": Operation(results(record(message=text())), body=of_model(AccountChange)),
    "GET /api/v1/usage": Operation(
        results(record(messaging=_FEATURE, recipient_validation=_FEATURE))
    ),
}
