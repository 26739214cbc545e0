"""Read the bodies of template requests (spec 2.3, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from chalicelib.core.errors import ApiError, bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.core.json_types import Json
from chalicelib.core.options import Changes
from chalicelib.core.preview_data import check_preview_data
from chalicelib.core.resource_ids import NEW_ID_RULE, is_new_id
from chalicelib.core.scope import Scope
from chalicelib.templates.content import StorableContent, read_content, read_preview_content
from chalicelib.templates.model import LONGEST_TEXT, Edit, draw_id, outline_of
from chalicelib.templates.snippet_names import snippets_in

#: Variables and snippets that one validation names, of each
MOST_NAMES: Final = 1000


class Options(Body):
    """Template options; a transmission's own options override them."""

    open_tracking: bool | None = None
    click_tracking: bool | None = None
    transactional: bool | None = None
    initial_open: bool | None = None
    inline_css: bool | None = None


class TemplateBody(Body):
    """The body of POST and PUT; all fields but ``id`` may be updated.

    Null removes the description, the options and the preview data; for other fields it counts as
    absent.
    """

    id: str | None = None
    name: str | None = None
    description: str | None = None
    published: bool | None = None
    shared_with_subaccounts: bool | None = None
    options: Options | None = None
    content: StorableContent | None = None
    preview_data: Json | None = None

    @property
    def new_preview_data(self) -> Json | None:
        """The data to be stored; empty to remove it, ``None`` to leave it."""
        return {} if self.is_null("preview_data") else self.preview_data


class PreviewBody(Body):
    """The body of a preview of a template."""

    substitution_data: Json | None = None


class ContentPreviewBody(PreviewBody):
    """The body of the content previewer."""

    content: StorableContent | None = None


class ContentValidationBody(ContentPreviewBody):
    """The body of the content validator; ``snippet`` says that it is the content of a snippet."""

    snippet: bool | None = None


@dataclass(frozen=True, slots=True)
class TemplateChange:
    """What a request changes: fields of the record, and bodies (``None`` leaves what there is)."""

    edit: Edit
    content: Json | None
    preview_data: Json | None


def read_new(data: Any, scope: Scope) -> tuple[str, TemplateChange]:
    """Check the body of POST; return the id and the fields. Raises 422."""
    body = TemplateBody.parse(data)
    if body.id is None and not body.name:
        raise missing_field("id or name is required")
    if body.id is not None and not is_new_id(body.id):
        raise bad_format(f"field 'id' {NEW_ID_RULE}")
    if body.content is None:
        raise missing_field("content is a required field")
    return body.id or draw_id(), _change(body, scope)


def read_update(data: Any, scope: Scope, *, of_published: bool) -> TemplateChange:
    """Check the body of PUT; raises 422. ``of_published`` is the query ``update_published``."""
    return _change(TemplateBody.parse(data), scope, of_published)


def read_content_preview(data: Any) -> tuple[Json, Json]:
    """Check the body of the content previewer; return content and substitution data."""
    body = ContentPreviewBody.parse(data)
    for name in ("content", "substitution_data"):
        if getattr(body, name) is None:
            raise missing_field(f"{name} is a required field")
    assert body.content is not None
    return read_preview_content(body.content), body.substitution_data or {}


def read_validation(data: Any) -> tuple[StorableContent, ContentValidationBody]:
    """Check the body of the content validator; return its content, unchecked, and the body."""
    body = ContentValidationBody.parse(data)
    if body.content is None:
        raise missing_field("content is a required field")
    return body.content, body


def _change(body: TemplateBody, scope: Scope, of_published: bool = False) -> TemplateChange:
    edit = _edit(body, scope, of_published)
    check_preview_data(body.preview_data)
    content = read_content(body.content) if body.content else None
    if content is not None:
        edit = replace(edit, snippets=snippets_in(content), outline=outline_of(content))
    return TemplateChange(edit, content, body.new_preview_data)


def _edit(body: TemplateBody, scope: Scope, of_published: bool) -> Edit:
    for name in ("name", "description"):
        _check_length(name, getattr(body, name))
    if body.shared_with_subaccounts and scope.owner is not None:
        raise not_shareable()
    return Edit(
        name=body.name,
        description="" if body.is_null("description") else body.description,
        options=_option_changes(body),
        shared=body.shared_with_subaccounts,
        published=body.published,
        of_published=of_published,
    )


def _option_changes(body: TemplateBody) -> Changes:
    if body.is_null("options"):
        return dict.fromkeys(Options.model_fields)
    return body.options.model_dump(exclude_unset=True) if body.options else {}


def _check_length(name: str, text: str | None) -> None:
    if text is not None and (length := len(text.encode())) > LONGEST_TEXT:
        raise bad_format(
            f"field '{name}' has length '{length}', but max length is '{LONGEST_TEXT}'"
        )


def not_shareable() -> ApiError:
    """Return 422: only what the primary account owns may be shared."""
    return bad_format("shared_with_subaccounts may only be set by the primary account")
