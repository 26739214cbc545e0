"""Read the bodies of snippet requests, and apply them (spec 2.4, 4.3)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.core import clock
from chalicelib.core.errors import ApiErrors, bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.core.json_types import Json
from chalicelib.core.preview_data import check_preview_data
from chalicelib.core.resource_ids import NEW_ID_RULE, is_new_id
from chalicelib.core.scope import Scope
from chalicelib.snippets.model import LONGEST_NAME, PART_BYTES, Snippet


class SnippetContent(Body):
    """``content``: the source for each kind of part."""

    html: str | None = None
    text: str | None = None
    amp_html: str | None = None


class SnippetBody(Body):
    """The body of POST and PUT; all fields but ``id`` may be updated.

    Null removes the preview data; for other fields it counts as absent.
    """

    id: str | None = None
    name: str | None = None
    content: SnippetContent | None = None
    shared_with_subaccounts: bool | None = None
    preview_data: Json | None = None


def new_snippet(scope: Scope, data: Any) -> Snippet:
    """Return the snippet that the body of POST describes; raises 422."""
    body = _read(scope, data)
    if body.id is not None and not is_new_id(body.id):
        raise bad_format(f"id {NEW_ID_RULE}")
    if body.content is None:
        raise missing_field("content is a required field")
    now_ms, snippet_id = clock.now_ms(), body.id or secrets.token_hex(8)
    return Snippet(
        account_id=scope.account_id,
        subaccount_id=scope.owner,
        id=snippet_id,
        name=snippet_id if body.name is None else body.name,
        shared=bool(body.shared_with_subaccounts),
        content=_merged({}, body.content),
        created_ms=now_ms,
        updated_ms=now_ms,
        revision=_draw_revision(),
        preview_data=body.preview_data or {},
    )


def read_update(scope: Scope, data: Any) -> SnippetBody:
    """Check the body of PUT; raises 422."""
    return _read(scope, data)


def apply_update(snippet: Snippet, body: SnippetBody) -> Snippet:
    """Return the snippet after an update, which changes only the keys of content that it has.

    An empty string or null removes a key; raises 422 if no key would remain. Returns the same
    snippet where nothing changes. The time of the last change does not tell of preview data.
    """
    shared = body.shared_with_subaccounts
    new = replace(
        snippet,
        name=snippet.name if body.name is None else body.name,
        shared=snippet.shared if shared is None else shared,
        content=_merged(snippet.content, body.content) if body.content else snippet.content,
    )
    if new != snippet:
        new = replace(new, updated_ms=max(clock.now_ms(), snippet.updated_ms))
    if "preview_data" in body.model_fields_set:
        new = replace(new, preview_data=body.preview_data or {})
    return snippet if new == snippet else replace(new, revision=_draw_revision())


def _read(scope: Scope, data: Any) -> SnippetBody:
    body = SnippetBody.parse(data)
    if body.name is not None and len(body.name.encode()) > LONGEST_NAME:
        raise bad_format(f"name is over {LONGEST_NAME} bytes")
    if body.shared_with_subaccounts and scope.owner is not None:
        raise bad_format("shared_with_subaccounts may only be set by the primary account")
    check_preview_data(body.preview_data)
    if body.content:
        _check_content(body.content.model_dump(exclude_none=True))
    return body


def _check_content(content: Mapping[str, str]) -> None:
    # The template language is slow to import, and few requests need it.
    from chalicelib.template_language import (
        AMP_HTML,
        HTML,
        TEXT,
        TemplateSyntaxError,
        analyse,
        compile_snippet,
    )

    parts = {"html": HTML, "text": TEXT, "amp_html": AMP_HTML}
    faults: list[Json] = []
    for name, source in content.items():
        if len(source.encode()) > PART_BYTES:
            raise bad_format(f"content.{name} is over {PART_BYTES} bytes")
        try:
            compile_snippet(source, parts[name])
        except TemplateSyntaxError:
            errors = analyse(source, parts[name], snippet=True).errors
            faults.extend(located.error.as_dict() for located in errors)
    if faults:
        raise ApiErrors(422, faults)


def _merged(old: Mapping[str, str], new: SnippetContent) -> dict[str, str]:
    content = {**old, **new.model_dump(exclude_unset=True)}
    parts = {name: source for name, source in content.items() if source}
    if not parts:
        raise missing_field("At least one of 'html', 'text' or 'amp_html' needs to have content")
    return parts


def _draw_revision() -> str:
    return secrets.token_hex(8)
