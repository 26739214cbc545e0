"""Describe ``/relay-webhooks``: URLs that get received mail."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import EMPTY, NO_CONTENT, Operation, Operations, query, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    integer,
    mapping,
    nullable,
    obj,
    one_of,
    record,
    text,
)
from chalicelib.openapi.webhooks import BATCH_DETAILS, DETAILS, STATUS, TEST_RESPONSE
from chalicelib.relay_webhooks.model import AUTH_TYPES, SMTP
from chalicelib.relay_webhooks.request import MOST_HEADER_BYTES
from chalicelib.webhooks import custom_headers
from chalicelib.webhooks.endpoint_request import LONGEST_NAME

_PATH: Final = "/api/v1/relay-webhooks"
_ONE: Final = f"{_PATH}/{{webhook_id}}"

_MATCH: Final = obj(
    protocol=one_of((SMTP,)),
    domain=text(least=1, about="An inbound domain. It has at most one relay webhook"),
)
_FIELDS: Final[dict[str, Json]] = {
    "name": text(least=1, most=LONGEST_NAME),
    "target": text(least=1, about="HTTP or HTTPS URL, with port 80 or 443"),
    "auth_type": one_of(AUTH_TYPES),
    "auth_request_details": obj("url", url=text(), body=DETAILS),
    "auth_token": nullable(text(about="Sent as `X-SVC-Webhook-Token`")),
    "match": _MATCH,
    "custom_headers": nullable(mapping(text()))
    | {
        "maxProperties": custom_headers.MOST,
        "description": f"Headers of each POST: at most {MOST_HEADER_BYTES} bytes in all",
    },
}
_WEBHOOK: Final = record(
    id=text(),
    name=text(),
    target=text(),
    auth_type=one_of(AUTH_TYPES),
    auth_request_details=Maybe(obj("url", url=text(), body=mapping())),
    auth_token=Maybe(text()),
    custom_headers=Maybe(
        mapping(text()) | {"description": "Only for keys that may change relay webhooks"}
    ),
    match=record(protocol=one_of((SMTP,)), domain=text()),
    signed=flag(),
    last_successful=nullable(text()),
    last_failure=nullable(text()),
    subaccount_id=Maybe(integer(1)),
)
_ID_ONLY: Final = results(record(id=text()))

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(_ID_ONLY, body=obj("target", "match", **_FIELDS), refusals=(409,)),
    f"GET {_PATH}": Operation(results(array(_WEBHOOK))),
    f"GET {_ONE}": Operation(results(_WEBHOOK)),
    f"PUT {_ONE}": Operation(_ID_ONLY, body=obj(**_FIELDS), refusals=(409,)),
    f"DELETE {_ONE}": Operation(EMPTY),
    f"POST {_ONE}/validate": Operation(TEST_RESPONSE),
    f"GET {_ONE}/batch-status": Operation(
        results(array(record(**STATUS))),
        parameters=(
            query("limit", integer(1, 10_000) | {"default": 1000}, "Most messages to return"),
        ),
    ),
    f"GET {_ONE}/batches/{{batch_id}}": Operation(results(BATCH_DETAILS)),
    f"POST {_ONE}/batches/{{batch_id}}/redeliver": Operation(
        results(record(batch_id=text(), message=text()))
    ),
    f"POST {_ONE}/signing-secret": Operation(results(record(signing_secret=text()))),
    f"DELETE {_ONE}/signing-secret": Operation(NO_CONTENT),
}
