"""Describe ``/templates`` and the previewer and the validator of content (spec 4.2)."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
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
    array,
    flag,
    identifier,
    integer,
    mapping,
    moment,
    nullable,
    obj,
    of_model,
    preview_data,
    record,
    text,
)
from chalicelib.templates.content import StorableContent
from chalicelib.templates.model import LONGEST_TEXT
from chalicelib.templates.request import (
    MOST_NAMES,
    ContentPreviewBody,
    ContentValidationBody,
    PreviewBody,
    TemplateBody,
)

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


def _body(*required: str) -> Json:
    return of_model(
        TemplateBody,
        *required,
        id=identifier(),
        name=text(most=LONGEST_TEXT),
        description=text(most=LONGEST_TEXT),
        content=_TEMPLATE_CONTENT,
        preview_data=nullable(preview_data()),
    )


_SUMMARY: Final[dict[str, Json | Maybe]] = {
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

_PLACE: Final[dict[str, Json]] = {
    "line": integer(1),
    "column": integer(1) | {"description": "The first character of a line is 1"},
    "length": integer(0)
    | {"description": "Unicode characters; the place may go on in later lines"},
}
_NAME: Final[dict[str, Json | Maybe]] = {
    "part": text(about="`html`, `mjml`, `text`, `amp_html`, or a header such as `Header:Subject`"),
    **_PLACE,
}
_VALIDATION: Final = record(
    valid=flag() | {"description": "Whether a template, or snippet, could be stored with it"},
    errors=array(
        record(
            message=text(),
            code=text(),
            description=text(),
            part=Maybe(text()),
            **{name: Maybe(schema) for name, schema in _PLACE.items()},
        )
    ),
    variables=array(
        record(
            name=text(about="As templates write it, such as `user.names[1]`"),
            **_NAME,
            optional=flag()
            | {
                "description": "Whether the part copes with its absence: another value follows an "
                "`or`, or an `if` asks for it first"
            },
            missing=Maybe(
                flag() | {"description": "Whether `substitution_data` lacks it, if there is any"}
            ),
        ),
        most=MOST_NAMES,
    )
    | {
        "description": "The first place of each variable in each part, without those that the "
        "service or a loop sets"
    },
    snippets=array(record(id=text(), **_NAME, exists=flag()), most=MOST_NAMES)
    | {"description": "Snippets that the content names literally"},
)

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(results(record(id=text())), body=_body("content")),
    f"GET {_PATH}": Operation(
        results(array(record(**_SUMMARY, shared_with_subaccount=flag()))),
        parameters=(shared_parameter("draft"), _SHARED),
    ),
    f"GET {_PATH}/{{template_id}}": Operation(
        results(record(**_SUMMARY, content=_TEMPLATE_CONTENT, preview_data=Maybe(preview_data()))),
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
        refusals=(409,),
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
    "POST /api/v1/utils/content-validator": Operation(
        results(_VALIDATION),
        body=of_model(
            ContentValidationBody,
            "content",
            content=_TEMPLATE_CONTENT,
            snippet=flag() | {"description": "`true`: it is the content of a snippet"},
        ),
    ),
}
