"""``/tracking-domains``, and how a tracking domain is told from others."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    content,
    listed,
    query,
    results,
)
from chalicelib.openapi.schema import (
    Maybe,
    Schema,
    array,
    flag,
    integer,
    obj,
    record,
    text,
)
from chalicelib.tracking_domains.verification import CHECK_PATH

_PATH: Final = "/api/v1/tracking-domains"

_STATUS: Final[dict[str, Schema]] = {
    "verified": flag(),
    "cname_status": text(),
    "compliance_status": text(),
}
_SHOWN: Final = record(
    domain=text(),
    port=integer(),
    secure=flag(),
    default=flag(),
    status=record(**_STATUS),
    subaccount_id=Maybe(integer(1)),
)
_NAMED: Final = results(record(domain=text()))

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(
        _NAMED, body=obj("domain", domain=text(), secure=flag()), refusals=(409,)
    ),
    f"GET {_PATH}": Operation(
        results(array(_SHOWN)),
        takes=(
            query("default", flag(), "Only those that are the default"),
            listed("subaccounts", "Those of these subaccounts; 0 is the primary account"),
        ),
    ),
    f"GET {_PATH}/{{domain}}": Operation(results(_SHOWN)),
    f"PUT {_PATH}/{{domain}}": Operation(_NAMED, body=obj(secure=flag(), default=flag())),
    f"DELETE {_PATH}/{{domain}}": Operation(NO_CONTENT),
    f"POST {_PATH}/{{domain}}/verify": Operation(results(record(**_STATUS))),
    f"GET {CHECK_PATH}/{{challenge}}": Operation(
        content("text/plain", text(), about="What only this service can answer to a challenge"),
        finds_all=True,
    ),
}
