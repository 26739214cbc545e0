"""What operations share: errors (spec 7), links, paging, the subaccount header, credentials."""

from __future__ import annotations

from typing import Any, Final

from chalicelib.openapi import events, metrics
from chalicelib.openapi.operation import query
from chalicelib.openapi.schema import ANY, Maybe, Schema, array, either, flag, integer, record, text

Json = dict[str, Any]

_ERROR: Final = record(
    message=text(),
    description=Maybe(text()),
    code=Maybe(either(text(), integer())),
    param=Maybe(text(about="The parameter or field that is meant")),
    value=Maybe(ANY),
    part=Maybe(text(about="Part of the content, for errors of the template language")),
    line=Maybe(integer()),
)

_LINK: Final = record(
    href=text(),
    rel=text(),
    method=Maybe(either(text(), array(text()))),
)

SCHEMAS: Final[dict[str, Schema]] = {
    "Error": _ERROR,
    "Errors": record(errors=array({"$ref": "#/components/schemas/Error"}, least=1)),
    "Link": _LINK,
    "Links": array({"$ref": "#/components/schemas/Link"}),
    "NextLink": record(next=Maybe(text(about="Path of the next page; absent on the last one"))),
}

PARAMETERS: Final[dict[str, Json]] = {
    "subaccount": {
        "name": "X-SVC-SUBACCOUNT",
        "in": "header",
        "description": (
            "Act for a subaccount; 0 is the primary account only. "
            "Keys of subaccounts act for theirs whatever it says."
        ),
        "schema": integer(0, 2**31 - 1),
    },
    "cursor": query(
        "cursor",
        text() | {"default": "initial"},
        "`initial` for the first page; then as the link to the next page has it",
    ),
    "per_page": query("per_page", integer(1, 10_000) | {"default": 1000}, "Results on a page"),
    "page": query("page", integer(1, 10_000) | {"default": 1}, "Page, where there is no cursor"),
    "timezone": query("timezone", text() | {"default": "UTC"}, "Time zone, such as `Europe/Oslo`"),
    "delimiter": query("delimiter", text() | {"default": ","}, "What stands between values"),
    "draft": query(
        "draft",
        flag(),
        "The draft or the published version; without it, the published one if there is one",
    ),
}

SECURITY: Final[dict[str, Json]] = {
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "The API key as it is",
    },
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "The API key as user name, with an empty password",
    },
}

#: status → the name of its response, and what it means
REFUSALS: Final[dict[int, tuple[str, str]]] = {
    400: ("BadRequest", "Something in the request cannot be used"),
    401: ("Unauthorized", "There is no API key, or none that is valid"),
    403: ("Forbidden", "The key, the plan or the state of things does not allow it"),
    404: ("NotFound", "There is no such thing"),
    405: ("MethodNotAllowed", "The path does not take this method"),
    409: ("Conflict", "It is in the way of something that exists or is under way"),
    413: ("TooLarge", "The request is too large"),
    415: ("UnsupportedMediaType", "The body is not of a type that is read here"),
    420: ("SendingLimit", "A sending limit would be exceeded; nothing was sent"),
    422: ("Unprocessable", "The request can be read, and breaks a rule"),
    429: ("TooManyRequests", "The account, or everybody together, asks too often"),
    500: ("Fault", "The service failed; the description has an id to quote"),
    503: ("Unavailable", "The service cannot do it now and may later"),
}


def refusal(status: int) -> Json:
    """Refer to the response of a refusal."""
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
