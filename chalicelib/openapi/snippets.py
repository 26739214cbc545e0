"""Describe ``/snippets`` (spec 4.3): pieces of content that templates include."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import (
    EMPTY,
    NO_CONTENT,
    Operation,
    Operations,
    query,
    results,
)
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    identifier,
    integer,
    moment,
    nullable,
    obj,
    of_model,
    preview_data,
    record,
    text,
)
from chalicelib.snippets.model import LONGEST_NAME
from chalicelib.snippets.request import SnippetBody

_PATH: Final = "/api/labs/snippets"


def _body(*required: str) -> Json:
    return of_model(
        SnippetBody,
        *required,
        id=identifier(),
        name=text(most=LONGEST_NAME),
        preview_data=nullable(preview_data()),
    )


_SUMMARY: Final[dict[str, Json | Maybe]] = {
    "id": text(),
    "name": text(),
    "created_at": moment(),
    "updated_at": moment(),
    "subaccount_id": Maybe(integer(1)),
}

OPERATIONS: Final[Operations] = {
    f"POST {_PATH}": Operation(results(record(id=text())), body=_body("content"), refusals=(409,)),
    f"GET {_PATH}": Operation(
        results(array(record(**_SUMMARY, shared_with_subaccount=flag()))),
        parameters=(
            query(
                "shared_with_subaccounts",
                flag(),
                "`true`: only shared snippets. `false`: only the others",
            ),
        ),
    ),
    f"GET {_PATH}/{{snippet_id}}": Operation(
        results(
            record(
                **_SUMMARY,
                shared_with_subaccounts=flag(),
                content=obj(html=text(), text=text(), amp_html=text()),
                preview_data=Maybe(preview_data()),
            )
        )
    ),
    f"GET {_PATH}/{{snippet_id}}/templates": Operation(
        results(
            array(
                record(
                    id=text(),
                    name=text(),
                    draft=flag() | {"description": "The draft names the snippet"},
                    published=flag() | {"description": "The published version names the snippet"},
                    subaccount_id=Maybe(integer(1)),
                )
            )
        )
    ),
    f"PUT {_PATH}/{{snippet_id}}": Operation(EMPTY, body=_body()),
    f"DELETE {_PATH}/{{snippet_id}}": Operation(NO_CONTENT),
}
