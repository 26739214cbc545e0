"""Describe ``/tracking-domains``, and the page that verifies one.

A tracking domain is the host name in the links of messages.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    comma_list,
    content,
    query,
    results,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    integer,
    obj,
    record,
    ref,
    text,
)
from chalicelib.tracking_domains.verification import CHECK_PATH

_PATH: Final = "/api/v1/tracking-domains"

_STATUS: Final[dict[str, Json]] = {
    "verified": flag(),
    "cname_status": text(),
    "compliance_status": text(),
}
_DOMAIN: Final = record(
    domain=text(),
    port=integer(),
    secure=flag(),
    default=flag(),
    status=record(**_STATUS),
    subaccount_id=Maybe(integer(1)),
)
_ID_ONLY: Final = results(record(domain=text()))

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(
        _ID_ONLY, body=obj("domain", domain=text(), secure=flag()), refusals=(409,)
    ),
    f"GET {_PATH}": Operation(
        results(array(_DOMAIN)),
        parameters=(
            query("default", flag(), "`true`: only default domains"),
            comma_list(
                "subaccounts",
                "Only domains of these subaccounts; 0 is the primary account",
                integer(0),
            ),
        ),
    ),
    f"GET {_PATH}/{{domain}}": Operation(results(_DOMAIN)),
    f"GET {_PATH}/{{domain}}/dns-records": Operation(results(array(ref("DnsRecord")))),
    f"PUT {_PATH}/{{domain}}": Operation(_ID_ONLY, body=obj(secure=flag(), default=flag())),
    f"DELETE {_PATH}/{{domain}}": Operation(NO_CONTENT, refusals=(409,)),
    f"POST {_PATH}/{{domain}}/verify": Operation(results(record(**_STATUS))),
    f"GET {CHECK_PATH}/{{challenge}}": Operation(
        content(
            "text/plain",
            text(),
            about="The answer to the challenge, which only this service can give",
        ),
        finds_all=True,
    ),
}
