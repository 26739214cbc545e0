"""Describe ``/webhooks`` (spec 4.9): URLs that get events as they happen."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    NO_CONTENT,
    Operation,
    Operations,
    comma_list,
    query,
    results,
    shared_parameter,
)
from chalicelib.openapi.schema import (
    ANY,
    Maybe,
    array,
    either,
    flag,
    integer,
    mapping,
    nullable,
    obj,
    one_of,
    record,
    ref,
    text,
)
from chalicelib.webhooks import custom_headers
from chalicelib.webhooks.attempts import MOST_ATTEMPTS
from chalicelib.webhooks.endpoint_request import LARGEST_DETAILS, LONGEST_NAME
from chalicelib.webhooks.model import AUTH_TYPES
from chalicelib.webhooks.posting import LONGEST_ACCEPTANCE, LONGEST_REFUSAL
from chalicelib.webhooks.request import MOST_EXCEPTIONS

_PATH: Final = "/api/v1/webhooks"
_ONE: Final = f"{_PATH}/{{webhook_id}}"

_CREDENTIALS: Final = obj(username=text(), password=text())
DETAILS: Final = mapping() | {
    "description": f"Sent to the token server as it is. At most {LARGEST_DETAILS} bytes as JSON"
}
_FIELDS: Final[dict[str, Json]] = {
    "name": text(least=1, most=LONGEST_NAME),
    "target": text(
        least=1, about="HTTP or HTTPS URL. The service sends a test POST to it before it stores it"
    ),
    "events": array(text(), least=1),
    "active": flag(),
    "auth_type": one_of(AUTH_TYPES),
    "auth_credentials": _CREDENTIALS,
    "auth_request_details": obj("url", url=text(), body=DETAILS),
    "auth_token": nullable(text()),
    "custom_headers": nullable(mapping(text())) | {"maxProperties": custom_headers.MOST},
    "exception_subaccounts": nullable(array(integer(1, 2**31 - 1), most=MOST_EXCEPTIONS)),
}
_DOCUMENTED_TYPE: Final = record(
    display_name=text(),
    description=text(),
    produced=flag()
    | {
        "description": "`false`: the service has no events of this type of its own, so a webhook "
        "that selects it gets none"
    },
    event=mapping(record(description=text(), sampleValue=ANY)),
)
_SOURCE: Final = integer(-1, 2**31 - 1) | {
    "description": "Whose events the webhook gets: -1 stands for everybody, 0 for the primary "
    "account, and an id for a subaccount. It does not change who owns the webhook. The webhook of "
    "a subaccount gets only the subaccount's own events"
}
_WEBHOOK: Final = record(
    id=text(),
    name=text(),
    target=text(),
    events=array(text()),
    active=flag(),
    subaccount_id=integer(-1),
    auth_type=one_of(AUTH_TYPES),
    auth_credentials=Maybe(mapping()),
    auth_request_details=Maybe(obj("url", url=text(), body=mapping())),
    auth_token=Maybe(text()),
    custom_headers=Maybe(
        mapping(text()) | {"description": "Only for keys that may change webhooks"}
    ),
    signed=flag(),
    last_successful=nullable(text()),
    last_failure=nullable(text()),
    exception_subaccounts=Maybe(array(integer(1))),
    links=ref("Links"),
)
_ID_ONLY: Final = results(record(id=text(), links=ref("Links")))
_RESULT: Final[dict[str, Json | Maybe]] = {
    "ts": text(),
    "response_code": nullable(text()),
    "failure_code": nullable(text()),
    "latency": nullable(integer(0)),
}
STATUS: Final[dict[str, Json | Maybe]] = {
    "webhook_id": text(),
    "batch_id": text(),
    "batch_size": integer(0),
    "attempts": integer(0),
    **_RESULT,
}
_ATTEMPT: Final = record(
    **_RESULT,
    response=Maybe(
        text(
            most=LONGEST_REFUSAL,
            about="The beginning of the target's response: at most "
            f"{LONGEST_ACCEPTANCE} characters if it accepted the batch, and {LONGEST_REFUSAL} if "
            "not. Only for keys that may change webhooks, because a target may repeat its secrets",
        )
    ),
    reason=Maybe(text(about="Why there was no response")),
)
BATCH_DETAILS: Final = record(
    **STATUS,
    delivered=flag(),
    history=array(_ATTEMPT)
    | {
        "description": f"The attempts, also those before redeliveries, oldest first: the latest "
        f"{MOST_ATTEMPTS + 1}"
    },
    payload=Maybe(
        text(
            about="The body that is posted, as text. Only for keys that may change webhooks or read"
            " message events"
        )
    ),
)
_SAMPLE: Final = mapping(mapping(mapping()))

TEST_RESPONSE: Final = results(
    record(
        msg=text(),
        response=record(status=integer(), headers=mapping(text()), body=text()),
    )
)

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(_ID_ONLY, body=obj("name", "target", "events", **_FIELDS)),
    f"GET {_PATH}": Operation(results(array(_WEBHOOK)), parameters=(shared_parameter("timezone"),)),
    f"GET {_ONE}": Operation(results(_WEBHOOK), parameters=(shared_parameter("timezone"),)),
    f"PUT {_ONE}": Operation(_ID_ONLY, body=obj(**_FIELDS, subaccount_id=_SOURCE)),
    f"DELETE {_ONE}": Operation(NO_CONTENT),
    f"POST {_ONE}/validate": Operation(
        TEST_RESPONSE,
        body=either(array(ANY), obj(message=either(array(ANY), mapping()))),
        optional_body=True,
    ),
    f"GET {_ONE}/batch-status": Operation(
        results(array(record(**STATUS))),
        parameters=(
            query("limit", integer(1, 10_000) | {"default": 1000}, "Most batches to return"),
        ),
    ),
    f"GET {_ONE}/batches/{{batch_id}}": Operation(results(BATCH_DETAILS)),
    f"POST {_ONE}/signing-secret": Operation(results(record(signing_secret=text()))),
    f"DELETE {_ONE}/signing-secret": Operation(NO_CONTENT),
    f"POST {_ONE}/batches/{{batch_id}}/redeliver": Operation(
        results(record(batch_id=text(), message=text()))
    ),
    f"GET {_PATH}/events/documentation": Operation(
        results(
            mapping(
                record(display_name=text(), description=text(), events=mapping(_DOCUMENTED_TYPE))
            )
        )
    ),
    f"GET {_PATH}/events/samples": Operation(
        results(array(_SAMPLE)),
        parameters=(comma_list("events", "Types of events to show"),),
        refusals=(400,),
    ),
}
