"""Describe ``/audit-log``."""

from __future__ import annotations

from typing import Final

from chalicelib.audit_log.request import DEFAULT_DAYS, DEFAULT_PER_PAGE, MOST_PER_PAGE
from chalicelib.audit_log.view import COLUMNS
from chalicelib.core.audit import OUTCOMES
from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import Operation, Operations, query, results, shared_parameter
from chalicelib.openapi.schema import (
    Maybe,
    array,
    integer,
    mapping,
    moment,
    nullable,
    one_of,
    record,
    text,
)

_LINE: Final = record(
    id=text(),
    ts=moment(),
    actor=record(
        type=one_of(["user", "key", "operator"]),
        id=text(about="The id of the user or the key"),
        label=text(about="The user's address, the key's label, or the operator's command"),
    ),
    action=text(about="The method of the request, or the operator's command"),
    path=text(about="The path of the route"),
    outcome=one_of(OUTCOMES),
    resource=text(about="The first part of the path, such as `templates`"),
    resource_id=nullable(text()),
    subaccount_id=nullable(integer(1)),
    changes=mapping(mapping())
    | {"description": "Field → `from` and `to`. Secrets are hidden, long values are cut"},
    ip=text(),
    request_id=text(),
)
_PAGE: Final = results(array(_LINE), links=record(next=Maybe(text())))
_CSV: Final[Json] = {
    "schema": text(
        about=f"The columns {', '.join(COLUMNS)}. The header `X-Next-Cursor` has the cursor of "
        "the next page, if there is one"
    )
}
_RESPONSES: Final = {
    200: _PAGE[200] | {"content": _PAGE[200]["content"] | {"text/csv": _CSV}},
}

OPERATIONS: Final[Operations] = {
    "GET /api/v1/audit-log": Operation(
        _RESPONSES,
        parameters=(
            query(
                "from",
                moment(),
                f"Only lines of this time or later; by default {DEFAULT_DAYS} days before `to`",
            ),
            query("to", moment(), "Only lines of this time or before; by default now"),
            query(
                "actor",
                text(),
                "Only changes by this user or key (id, address or label), or by all of a type: "
                "`user`, `key`, `operator`",
            ),
            query("resource", text(), "Only changes of these resources, such as `templates`"),
            query("resource_id", text(), "Only changes of this one; needs `resource`"),
            query("outcome", one_of(OUTCOMES), "Only changes that were made, or refused ones"),
            shared_parameter("cursor"),
            query(
                "per_page",
                integer(1, MOST_PER_PAGE) | {"default": DEFAULT_PER_PAGE},
                "Results per page. A page may have fewer although there are more: "
                "follow `links.next` to its end",
            ),
        ),
    ),
}
