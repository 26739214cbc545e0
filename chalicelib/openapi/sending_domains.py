"""Describe ``/sending-domains`` (spec 4.4), and the page that a verification mail links to.

A sending domain is a domain that mail may be sent from.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    html_page,
    query,
    results,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    identifier,
    integer,
    mapping,
    moment,
    nullable,
    of_model,
    one_of,
    record,
    ref,
    text,
)
from chalicelib.sending_domains.dkim_request import DEFAULT_KEY_LENGTH, KEY_LENGTHS, DkimBody
from chalicelib.sending_domains.further_keys.request import NewKey
from chalicelib.sending_domains.mailboxes import PAGE_PATH
from chalicelib.sending_domains.model import CHECK_STATUSES, COMPLIANCE_STATUSES, SES_STATUSES
from chalicelib.sending_domains.request import DomainUpdate, NewDomain, VerifyRequest

_PATH: Final = "/api/v1/sending-domains"
_KEYS: Final = f"{_PATH}/{{domain}}/dkim-keys"

_LENGTH: Final = {"type": "integer", "enum": list(KEY_LENGTHS), "default": DEFAULT_KEY_LENGTH}
_CHECKED: Final = (
    "dkim_status",
    "cname_status",
    "mx_status",
    "abuse_at_status",
    "postmaster_at_status",
)
_STATUS: Final[dict[str, Json | Maybe]] = {
    "ownership_verified": flag(),
    "spf_status": one_of(CHECK_STATUSES),
    **{name: one_of(CHECK_STATUSES) for name in _CHECKED},
    "verification_mailbox_status": one_of(CHECK_STATUSES),
    "verification_mailbox": Maybe(text()),
    "compliance_status": one_of(COMPLIANCE_STATUSES),
}
_DKIM: Final[dict[str, Json]] = {
    "public": text(),
    "selector": text(),
    "signing_domain": text(),
    "headers": text(),
}
_DOMAIN_FIELDS: Final[dict[str, Json | Maybe]] = {
    "status": record(**_STATUS),
    "tracking_domain": Maybe(text()),
    "dkim": Maybe(record(**_DKIM)),
    "shared_with_subaccounts": Maybe(flag()),
    "subaccount_id": Maybe(integer(1)),
    "is_default_bounce_domain": flag(),
    "creation_time": moment(),
    "delegated": Maybe(flag()),
    "ses": Maybe(
        record(status=one_of(SES_STATUSES), error=Maybe(text()))
        | {"description": "Its identity in Amazon SES, where mail leaves by it"}
    ),
}
_DNS: Final = mapping(text()) | {
    "description": "The DNS records that were found, and the errors in them"
}
_KEY: Final[dict[str, Json]] = {
    "id": text(),
    **_DKIM,
    "dkim_status": one_of(CHECK_STATUSES),
    "creation_time": moment(),
}
_FILTERS: Final = (
    *(query(name, one_of(CHECK_STATUSES), "Only domains with this status") for name in _CHECKED),
    query("compliance_status", one_of(COMPLIANCE_STATUSES), "Only domains with this status"),
    query("ownership_verified", flag(), "`true`: only verified domains. `false`: only the others"),
    query(
        "is_default_bounce_domain",
        flag(),
        "`true`: only default bounce domains. `false`: the others",
    ),
)
_EXPIRED_LINK: Final = html_page(410, "The link is too old, or was already used")

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(
        results(record(message=text(), domain=text(), dkim=Maybe(record(**_DKIM)))),
        body=of_model(
            NewDomain,
            "domain",
            dkim_key_length=_LENGTH,
            generate_dkim=nullable(flag()) | {"default": True},
        ),
        refusals=(409,),
    ),
    f"GET {_PATH}": Operation(
        results(array(record(domain=text(), **_DOMAIN_FIELDS))), parameters=_FILTERS
    ),
    f"GET {_PATH}/{{domain}}": Operation(results(record(**_DOMAIN_FIELDS))),
    f"GET {_PATH}/{{domain}}/dns-records": Operation(results(array(ref("DnsRecord")))),
    f"PUT {_PATH}/{{domain}}": Operation(
        results(record(message=text(), domain=text())),
        body=of_model(DomainUpdate),
        refusals=(409,),
    ),
    f"DELETE {_PATH}/{{domain}}": Operation(NO_CONTENT, refusals=(409,)),
    f"POST {_PATH}/{{domain}}/verify": Operation(
        results(record(**_STATUS, dns=Maybe(_DNS))),
        body=of_model(VerifyRequest),
        refusals=(409,),
    ),
    f"GET {_KEYS}": Operation(results(array(record(**_KEY)), total_count=integer(0))),
    f"POST {_KEYS}": Operation(
        results(record(**_KEY)),
        body=of_model(NewKey, "id", id=identifier(), dkim_key_length=_LENGTH),
        refusals=(409,),
    ),
    f"GET {_KEYS}/{{key_id}}": Operation(results(record(**_KEY))),
    f"PUT {_KEYS}/{{key_id}}": Operation(
        results(record(**_KEY)), body=of_model(DkimBody), refusals=(409,)
    ),
    f"DELETE {_KEYS}/{{key_id}}": Operation(NO_CONTENT, refusals=(409,)),
    f"POST {_KEYS}/{{key_id}}/verify": Operation(results(record(**_KEY, dns=_DNS))),
    f"GET {PAGE_PATH}/{{token}}": Operation(
        html_page(200, "A page with a button that verifies the domain") | _EXPIRED_LINK,
        finds_all=True,
    ),
    f"POST {PAGE_PATH}/{{token}}": Operation(
        html_page(200, "The domain is verified") | _EXPIRED_LINK, finds_all=True
    ),
}
