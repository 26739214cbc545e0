"""Describe ``/templates`` and ``/utils/content-previewer`` (spec 4.2)."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi.operation import (
    EMPTY,
    Operation,
    Operations,
    query,
    results,
    shared_parameter,
)
from chalicelib.openapi.schema import (
    Maybe,
    Schema,
    array,
    flag,
    identifier,
    integer,
    mapping,
    moment,
    obj,
    of_model,
    record,
    text,
)
from chalicelib.templates.content import StorableContent
from chalicelib.templates.model import LONGEST_TEXT
from chalicelib.templates.request import ContentPreviewBody, PreviewBody, TemplateBody

_PATH: Final = "/api/v1/templates"

_CONTENT: Final = of_model(StorableContent)
# The model has attachments only to refuse them
_TEMPLATE_CONTENT: Final = _CONTENT | {
    "properties": {
        name: schema
        for name, schema in _CONTENT["properties"].items()
        if name not in ("attachments", "inline_images")
    }
}
_SHARED: Final = query(
    "shared_with_subaccounts", flag(), "`true`: only shared templates. `false`: only the others"
)


def _body(*required: str) -> Schema:
    return of_model(
        TemplateBody,
        *required,
        id=identifier(),
        name=text(most=LONGEST_TEXT),
        description=text(most=LONGEST_TEXT),
        content=_TEMPLATE_CONTENT,
    )


_SUMMARY: Final[dict[str, Schema | Maybe]] = {
    "id": text(),
    "name": text(),
    "description": text(),
    "published": flag(),
    "has_draft": flag(),
    "has_published": flag(),
    "last_update_time": moment(),
    "last_use": Maybe(moment()),
    "shared_with_subaccounts": flag(),
    "subaccount_id": Maybe(integer(1)),
    "options": mapping(),
}
_PREVIEW: Final = obj(
    from_=obj("email", email=text(), name=text()),
    subject=text(),
    reply_to=text(),
    text=text(),
    html=text(),
    amp_html=text(),
    headers=mapping(text()),
    email_rfc822=text(),
)

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(results(record(id=text())), body=_body("content"), refusals=(409,)),
    f"GET {_PATH}": Operation(
        results(array(record(**_SUMMARY, shared_with_subaccount=flag()))),
        parameters=(shared_parameter("draft"), _SHARED),
    ),
    f"GET {_PATH}/{{template_id}}": Operation(
        results(record(**_SUMMARY, content=_TEMPLATE_CONTENT)),
        parameters=(shared_parameter("draft"),),
        refusals=(422,),
    ),
    f"PUT {_PATH}/{{template_id}}": Operation(
        EMPTY,
        parameters=(
            query(
                "update_published", flag(), "`true`: change the published version, not the draft"
            ),
        ),
        body=_body(),
    ),
    f"DELETE {_PATH}/{{template_id}}": Operation(EMPTY, refusals=(409,)),
    f"POST {_PATH}/{{template_id}}/preview": Operation(
        results(_PREVIEW),
        parameters=(shared_parameter("draft"),),
        body=of_model(PreviewBody),
        optional_body=True,
    ),
    "POST /api/v1/utils/content-previewer": Operation(
        results(_PREVIEW),
        body=of_model(
            ContentPreviewBody, "content", "substitution_data", content=_TEMPLATE_CONTENT
        ),
    ),
}
