"""Describe ``/inbound-domains``.

Mail to an inbound domain is received. Its routes say what becomes of it.
"""

from __future__ import annotations

from typing import Final

from chalicelib.inbound_domains.model import INVALID, UNVERIFIED, VALID, Action
from chalicelib.inbound_domains.request import LONGEST_PATTERN, MOST_ROUTES
from chalicelib.inbound_domains.view import STATUSES
from chalicelib.openapi.operation import Operation, Operations, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    integer,
    moment,
    nullable,
    obj,
    one_of,
    record,
    ref,
    text,
)

_PATH: Final = "/api/v1/inbound-domains"

_DOMAIN: Final = record(
    domain=text(),
    status=one_of(STATUSES)
    | {
        "description": "`active`: mail to it is received. Otherwise all of it is refused: the "
        "operator has blocked the name, or another account has verified it, or a domain above it, "
        "as a sending domain"
    },
    mx_status=one_of((VALID, INVALID, UNVERIFIED))
    | {"description": "`unverified`: the DNS has not answered yet"},
    mx_records=array(text(about="A record that the last check found, such as `10 a.example.com`")),
    mx_error=text(about="What the last check found wrong; empty if nothing was"),
    mx_checked=nullable(moment()),
    dns_records=array(ref("DnsRecord")),
    relay_webhook_id=nullable(text(about="The relay webhook that gets its mail")),
    created=moment(),
    subaccount_id=Maybe(integer(1)),
)
_PATTERN: Final = text(
    least=1,
    most=LONGEST_PATTERN,
    about="The local part, the part of an address before its @. `*` stands for any number of "
    "characters, and letter case does not count",
)
_ACTION: Final = one_of(each.value for each in Action) | {
    "description": "`webhook`: to the relay webhook of the domain, or stored if it has none. "
    "`forward`: sent on to `forward_to`. `store`: only stored. `drop`: thrown away"
}
_ROUTE: Final = record(pattern=_PATTERN, action=_ACTION, forward_to=Maybe(text()))

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(
        results(_DOMAIN), body=obj("domain", domain=text()), refusals=(409,)
    ),
    f"GET {_PATH}": Operation(results(array(_DOMAIN))),
    f"GET {_PATH}/{{domain}}": Operation(results(_DOMAIN)),
    f"DELETE {_PATH}/{{domain}}": Operation(results(record()), refusals=(409,)),
    f"GET {_PATH}/{{domain}}/dns-records": Operation(results(array(ref("DnsRecord")))),
    f"POST {_PATH}/{{domain}}/verify": Operation(results(_DOMAIN)),
    f"GET {_PATH}/{{domain}}/routes": Operation(results(array(_ROUTE))),
    f"PUT {_PATH}/{{domain}}/routes": Operation(
        results(array(_ROUTE)),
        body=obj(
            "routes",
            routes=array(
                obj("pattern", "action", pattern=_PATTERN, action=_ACTION, forward_to=text()),
                most=MOST_ROUTES,
            ),
        ),
    ),
}
