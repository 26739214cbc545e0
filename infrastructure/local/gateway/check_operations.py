"""Describe the operations that check and release a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalicelib.openapi.operation import Operation, content, query, results
from chalicelib.openapi.schema import (
    array,
    flag,
    integer,
    mapping,
    nullable,
    number,
    obj,
    one_of,
    record,
    text,
)
from infrastructure.local.gateway.checks_endpoint import MOST_RECIPIENTS, ChecksEndpoint

_PERCENT = number(0, 100)
_CLIENT = record(
    family=text(),
    platform=text(),
    version=text(),
    name=text(about="The client for people, such as `Gmail iOS (2020-02)`"),
    support=one_of(["yes", "partial", "no"]),
    note=text(about="The number of one of the notes, empty if there is none"),
)
_WARNING = record(
    slug=text(about="The feature, as caniemail.com names it"),
    title=text(),
    description=text(),
    url=text(),
    category=text(),
    tags=array(text()),
    keywords=text(),
    notes=mapping(text()),
    found=integer(),
    supported=_PERCENT,
    partial=_PERCENT,
    unsupported=_PERCENT,
    results=array(_CLIENT),
    example=text(about="The first use; empty if only an inlined style has it"),
)
_HTML_CHECK = record(
    nodes=integer(),
    tests=integer(),
    supported=_PERCENT,
    partial=_PERCENT,
    unsupported=_PERCENT,
    platforms=mapping(array(text())),
    warnings=array(_WARNING),
    others=array(_WARNING),
)
_LINK = record(
    url=text(),
    status_code=integer(),
    status=text(about="What the status means; for 0, why there was no response"),
    target=nullable(text(about="What a tracked link leads to, which was requested instead")),
)
_SPAM_CHECK = record(
    is_spam=flag(),
    score=number(),
    error=text(about="Why there is no verdict; empty if there is one"),
    rules=array(record(name=text(), score=number(), description=text())),
)
_RELEASING = record(
    host=nullable(text(about="The host and port that mail is released by; null if it is off")),
    recipients=array(text()),
    forward_matching=nullable(text(about="The search whose messages are forwarded as they come")),
    forward_to=array(text()),
    warning=nullable(text(about="A sentence for people; null if nothing leaves")),
)
_FOLLOW = query("follow", one_of(["true"]), "Follow redirects, at most five")

#: Operations by method and path: the function, whose docstring is the summary, and its description
CHECK_OPERATIONS: dict[str, tuple[Callable[..., Any], Operation]] = {
    "GET /local/mailbox/{id}/html-check": (
        ChecksEndpoint.check_html,
        Operation(results(_HTML_CHECK), refusals=(409,)),
    ),
    "GET /local/mailbox/{id}/link-check": (
        ChecksEndpoint.check_links,
        Operation(results(record(errors=integer(), links=array(_LINK))), parameters=(_FOLLOW,)),
    ),
    "GET /local/mailbox/{id}/spam-check": (
        ChecksEndpoint.check_spam,
        Operation(results(_SPAM_CHECK), refusals=(409,)),
    ),
    "GET /local/mailbox/{id}/parts/{part}/thumbnail": (
        ChecksEndpoint.show_thumbnail,
        Operation(content("image/jpeg", text())),
    ),
    "POST /local/mailbox/{id}/release": (
        ChecksEndpoint.release,
        Operation(
            results(
                record(
                    to=array(text()),
                    refused=array(record(address=text(), reply=text())),
                )
            ),
            body=obj("to", to=array(text(), least=1, most=MOST_RECIPIENTS)),
            refusals=(400, 409, 502),
        ),
    ),
    "GET /local/releasing": (ChecksEndpoint.show_releasing, Operation(results(_RELEASING))),
}
