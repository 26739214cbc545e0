"""Describe components of operations: errors (spec 7), links, paging, headers and credentials."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi import events, metrics
from chalicelib.openapi.operation import query
from chalicelib.openapi.schema import ANY, Maybe, array, either, flag, integer, record, text

_ERROR: Final = record(
    message=text(),
    description=Maybe(text()),
    code=Maybe(either(text(), integer())),
    param=Maybe(text(about="The parameter or field that is wrong")),
    value=Maybe(ANY),
    part=Maybe(
        text(
            about=(
                "Part of the content with the error, such as `html`, for errors of the "
                "template language"
            )
        )
    ),
    line=Maybe(integer()),
)

_LINK: Final = record(
    href=text(),
    rel=text(),
    method=Maybe(either(text(), array(text()))),
)

_DNS_RECORD: Final = record(
    purpose=text(
        about="`dkim` lets mail be signed. `cname` leads links of a tracking domain to the "
        "service, and bounces of a sending domain; `mx` is another way for bounces, and that of "
        "mail to an inbound domain. `dmarc` is a policy that mailbox providers ask for"
    ),
    type=text(),
    name=text(),
    value=text(),
    required=flag() | {"description": "The domain cannot be used without it"},
    status=Maybe(text(about="The result of the last check; absent if it is not checked")),
)

SCHEMAS: Final[dict[str, Json]] = {
    "Error": _ERROR,
    "Errors": record(errors=array({"$ref": "#/components/schemas/Error"}, least=1)),
    "Link": _LINK,
    "Links": array({"$ref": "#/components/schemas/Link"}),
    "DnsRecord": _DNS_RECORD,
    "NextLink": record(next=Maybe(text(about="Path of the next page; absent on the last one"))),
}

PARAMETERS: Final[dict[str, Json]] = {
    "subaccount": {
        "name": "X-SVC-SUBACCOUNT",
        "in": "header",
        "description": (
            "Id of the subaccount to act for. 0: the primary account only. "
            "A subaccount's key can act for its own subaccount only: another one is refused "
            "with 403."
        ),
        "schema": integer(0, 2**31 - 1),
    },
    "cursor": query(
        "cursor",
        text() | {"default": "initial"},
        "`initial` for the first page. The link to the next page holds the next value",
    ),
    "per_page": query("per_page", integer(1, 10_000) | {"default": 1000}, "Results per page"),
    "page": query(
        "page",
        integer(1, 10_000) | {"default": 1},
        "Number of the page, for requests without `cursor`",
    ),
    "timezone": query(
        "timezone",
        text() | {"default": "UTC"},
        "Time zone, such as `Europe/Oslo`, or `UTC` in any case",
    ),
    "delimiter": query("delimiter", text() | {"default": ","}, "Separator of values in lists"),
    "draft": query(
        "draft",
        flag(),
        (
            "`true`: the draft. `false`: the published version. Without it: the published"
            " version if there is one, else the draft"
        ),
    ),
}

SECURITY: Final[dict[str, Json]] = {
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "The API key, without a prefix",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "session",
        "description": (
            "The cookie of a signed-in user. Over https its name begins with `__Host-` or"
            " `__Secure-`. Whatever is not GET or HEAD also needs the session's `csrf_token` in"
            " the header `X-CSRF-Token`"
        ),
    },
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "The API key as user name, and an empty password",
    },
}

#: status → name of the shared response, and its description
REFUSALS: Final[dict[int, tuple[str, str]]] = {
    400: ("BadRequest", "A parameter or a field has a wrong value"),
    401: ("Unauthorized", "There is no valid API key and no session"),
    403: ("Forbidden", "The key, the plan or the state of the account does not allow it"),
    404: ("NotFound", "The resource does not exist"),
    405: ("MethodNotAllowed", "The path does not have this method"),
    409: ("Conflict", "It conflicts with something that exists or is in progress"),
    413: ("TooLarge", "The request is too large"),
    415: ("UnsupportedMediaType", "The body has the wrong content type"),
    420: ("SendingLimit", "A sending limit would be exceeded. Nothing was sent"),
    422: ("Unprocessable", "The body breaks a rule"),
    429: ("TooManyRequests", "Too many requests, from the account or in total"),
    500: ("Fault", "The service failed. Quote the id in the description when you report it"),
    503: ("Unavailable", "The service cannot do it now. Try again later"),
}


def refusal(status: int) -> Json:
    """Refer to the shared response of an error."""
    return {"$ref": f"#/components/responses/{REFUSALS[status][0]}"}


def components() -> Json:
    """Return the ``components`` of the document."""
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/Errors"}}}
    responses: dict[str, Json] = {
        name: {"description": about, "content": body} for name, about in REFUSALS.values()
    }
    responses["MethodNotAllowed"]["headers"] = {"Allow": {"schema": text(), "required": True}}
    return {
        "schemas": SCHEMAS | events.SCHEMAS,
        "parameters": PARAMETERS | metrics.PARAMETERS,
        "responses": responses,
        "securitySchemes": SECURITY,
    }
