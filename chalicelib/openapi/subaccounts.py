"""Describe ``/subaccounts`` (spec 4.5)."""

from __future__ import annotations

from typing import Final

from chalicelib.api_keys.request import MOST_ADDRESSES, MOST_LABEL
from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    Operation,
    Operations,
    comma_list,
    query,
    results,
    shared_parameter,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    integer,
    moment,
    nullable,
    obj,
    one_of,
    record,
    ref,
    text,
)
from chalicelib.subaccounts.entries import LISTED_OPTION, ORDERS
from chalicelib.subaccounts.model import DEFAULT_OPTIONS, STATUSES
from chalicelib.subaccounts.request import MOST_NAME, MOST_POOL
from chalicelib.subaccounts.search import DEFAULT_PER_PAGE, MOST_IDS, MOST_PER_PAGE

_PATH: Final = "/api/v1/subaccounts"

_OPTIONS: Final[dict[str, Json]] = {name: flag() for name in DEFAULT_OPTIONS}
_FIELDS: Final[dict[str, Json]] = {
    "name": text(least=1, most=MOST_NAME),
    "ip_pool": nullable(text(most=MOST_POOL, about="An empty string or null removes it")),
    "options": nullable(obj(**{name: nullable(each) for name, each in _OPTIONS.items()})),
}
_SUBACCOUNT: Final = record(
    id=integer(1),
    name=text(),
    status=one_of(STATUSES),
    compliance_status=one_of(STATUSES),
    ip_pool=text(),
    options=record(**_OPTIONS),
)
_FILTERS: Final = (
    shared_parameter("cursor"),
    query(
        "per_page", integer(1, MOST_PER_PAGE) | {"default": DEFAULT_PER_PAGE}, "Results per page"
    ),
    query("sort_by", one_of(ORDERS) | {"default": "created_at"}, "Field to order by"),
    query("order", one_of(["desc", "asc"]) | {"default": "desc"}, "Direction of the order"),
    query("name", text(), "Only subaccounts whose name contains this text"),
    query("status", one_of(STATUSES), "Only subaccounts with this status"),
    query("ip_pool", text(), "Only subaccounts with this IP pool"),
    query("option", one_of([LISTED_OPTION]), "Only subaccounts with this option"),
    comma_list(
        "ids", f"Only subaccounts with these ids, at most {MOST_IDS}", integer(1, 2**31 - 1)
    ),
)

OPERATIONS: Final[Operations] = {
    f"GET {_PATH}": Operation(
        results(array(_SUBACCOUNT), total_count=Maybe(integer(0)), links=Maybe(ref("NextLink"))),
        parameters=_FILTERS,
    ),
    f"GET {_PATH}/summary": Operation(results(record(total=integer(0)))),
    f"POST {_PATH}": Operation(
        results(
            record(
                subaccount_id=integer(1),
                key=Maybe(text()),
                label=Maybe(text()),
                short_key=Maybe(text()),
            )
        ),
        body=obj(
            "name",
            **_FIELDS,
            setup_api_key=flag()
            | {
                "default": True,
                "description": "`true`: create an API key too. Needs `key_label` and `key_grants`",
            },
            key_label=text(least=1, most=MOST_LABEL),
            key_grants=array(text(), least=1),
            key_valid_ips=array(text(), most=MOST_ADDRESSES),
            key_expires_at=nullable(moment())
            | {"description": "The end of the key, in the future. Null: none"},
        ),
    ),
    f"GET {_PATH}/{{subaccount_id}}": Operation(results(_SUBACCOUNT)),
    f"PUT {_PATH}/{{subaccount_id}}": Operation(
        results(record(message=text())), body=obj(**_FIELDS, status=one_of(STATUSES))
    ),
}
