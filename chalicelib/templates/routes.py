"""Serve ``/templates``, and preview and validate content that is not stored (spec 4.2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from chalicelib.core import references
from chalicelib.core.errors import (
    ApiError,
    Forbidden,
    NotFound,
    resource_not_found,
    template_exists,
)
from chalicelib.core.fields import boolean
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.core.json_types import Json
from chalicelib.core.scope import Scope
from chalicelib.snippets import store as snippets
from chalicelib.templates.model import Template, apply_edit, new_template
from chalicelib.templates.request import (
    PreviewBody,
    read_content_preview,
    read_new,
    read_update,
    read_validation,
)
from chalicelib.templates.store import leases, records
from chalicelib.templates.view import content_view, template_view, usage_view

routes = Routes(__name__)


MOST_LISTED = 50_000


@routes.post("/api/v1/templates", grant="templates/modify")
def create_template(request: Request) -> Reply:
    """Create a template as a draft, and publish it if the body says so."""
    scope = request.caller.scope
    template_id, new = read_new(request.json(), scope)
    template = new_template(scope, template_id, new.edit)
    if not records.create(template, new.content or {}, new.preview_data):
        raise template_exists(f"template '{template_id}' already exists")
    return ok({"id": template_id})


@routes.get("/api/v1/templates", grant="templates/view")
def list_templates(request: Request) -> Reply:
    """List templates, each in the version that ``draft`` selects."""
    draft = boolean(request.query, "draft")
    shared = boolean(request.query, "shared_with_subaccounts")
    views = (
        template_view(template, version) | {"shared_with_subaccount": template.shared}
        for template in records.in_scope(request.caller.scope, shared)
        if (version := template.version(draft))
    )
    return ok(list(islice(views, MOST_LISTED)))


@routes.get("/api/v1/templates/{template_id}", grant="templates/view")
def show_template(request: Request, template_id: str) -> Reply:
    """Show one version of a template with its content, and the data of the template's previews."""
    draft = boolean(request.query, "draft")
    version = records.read_with_preview_data(request.caller.scope, template_id, draft)
    if version is None:
        raise _unknown(template_id)
    return ok(content_view(*version))


@routes.put("/api/v1/templates/{template_id}", grant="templates/modify")
def update_template(request: Request, template_id: str) -> Reply:
    """Change the draft or the published version, publish the draft, share or unshare both."""
    scope = request.caller.scope
    of_published = boolean(request.query, "update_published", False)
    update = read_update(request.json(), scope, of_published=of_published)

    def change(template: Template, content_ref: str | None) -> Template:
        if template.shared and update.edit.shared is False:
            references.check_unused(references.SHARED_TEMPLATE, template.account_id, template.id)
        return apply_edit(template, replace(update.edit, content_ref=content_ref))

    if records.update(scope, template_id, change, update.content, update.preview_data) is None:
        raise _not_owned(scope, template_id)
    return empty()


@routes.delete("/api/v1/templates/{template_id}", grant="templates/modify")
def delete_template(request: Request, template_id: str) -> Reply:
    """Delete a template with both its versions."""
    scope = request.caller.scope
    if not leases.delete(scope, template_id):
        raise _not_owned(scope, template_id)
    return empty()


@routes.post("/api/v1/templates/{template_id}/preview", grant="templates/preview")
def preview_template(request: Request, template_id: str) -> Reply:
    """Render a version of a template with substitution data."""
    scope = request.caller.scope
    draft = boolean(request.query, "draft")
    data = PreviewBody.parse(request.json() if request.raw_body else {}).substitution_data or {}
    stored_content = records.read(scope, template_id, draft)
    if stored_content is None:
        raise _unknown(template_id)
    owner = stored_content.template.subaccount_id
    return ok(_preview(scope, stored_content.content, data, owner))


@routes.post("/api/v1/utils/content-previewer", grant="templates/preview")
def preview_content(request: Request) -> Reply:
    """Render content that is not stored with substitution data."""
    scope = request.caller.scope
    content, data = read_content_preview(request.json())
    return ok(_preview(scope, content, data, scope.owner))


@routes.post("/api/v1/utils/content-validator", grant="templates/preview")
def validate_content(request: Request) -> Reply:
    """Find all errors of a template's or snippet's content, its variables and snippets."""
    scope = request.caller.scope
    content, body = read_validation(request.json())
    # The template language is slow to import, and few requests need it.
    from chalicelib.templates.validation import validate

    source = snippets.source(scope.account_id, scope.owner)
    data = body.substitution_data
    return ok(validate(content, data, source, as_snippet=bool(body.snippet)))


@routes.get("/api/labs/snippets/{snippet_id}/templates", grant="templates/view")
def list_templates_with_snippet(request: Request, snippet_id: str) -> Reply:
    """List the templates whose draft or published version names a snippet literally."""
    scope = request.caller.scope
    if snippets.find(scope, snippet_id) is None:
        raise NotFound("Snippet does not exist")
    return ok(
        [
            usage_view(template, versions)
            for template, versions in records.naming_snippet(scope, snippet_id)
        ]
    )


def _preview(scope: Scope, content: Json, data: Json, owner: int | None) -> Json:
    """Return content rendered for a caller; ``owner`` is the subaccount that owns it, if any."""
    # The template language is slow to import, and few requests need it.
    from chalicelib.templates.preview import preview

    own = snippets.source(scope.account_id, scope.owner)
    return preview(content, data, own, snippets.source(scope.account_id, owner))


def _not_owned(scope: Scope, template_id: str) -> ApiError:
    """Return 403 for a template that the primary account or the service shares, else 404."""
    template = records.find(scope, template_id)
    if template is None:
        return _unknown(template_id)
    owner = "the service" if template.is_sample else "the primary account"
    return Forbidden(f"template '{template_id}' belongs to {owner}")


def _unknown(template_id: str) -> ApiError:
    return resource_not_found(f"template '{template_id[:80]}' does not exist")
