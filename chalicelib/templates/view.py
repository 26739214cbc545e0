"""Show templates as the API does (spec 2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.templates.model import Template, TemplateVersion
from chalicelib.templates.store.records import StoredContent


def template_view(template: Template, version: TemplateVersion) -> dict[str, Any]:
    """Return a template as a list shows it, in this version."""
    view: dict[str, Any] = {
        "id": template.id,
        "name": version.name,
        "description": version.description,
        "published": version.published,
        "has_draft": True,
        "has_published": template.published is not None,
        "last_update_time": clock.iso_offset(version.updated),
        "shared_with_subaccounts": template.shared,
        "options": dict(version.options),
    }
    if template.last_use is not None:
        view["last_use"] = clock.iso_offset(template.last_use)
    if template.subaccount_id is not None:
        view["subaccount_id"] = template.subaccount_id
    return view


def content_view(stored_content: StoredContent, preview_data: Json) -> Json:
    """Return a version with its content, and the data of previews where the template has any."""
    view = template_view(stored_content.template, stored_content.version)
    view["content"] = stored_content.content
    return view | ({"preview_data": preview_data} if preview_data else {})


def usage_view(template: Template, versions: Iterable[TemplateVersion]) -> dict[str, Any]:
    """Return which ``versions`` of a template use something."""
    used = {version.published for version in versions}
    view: dict[str, Any] = {
        "id": template.id,
        "name": template.draft.name,
        "draft": False in used,
        "published": True in used,
    }
    return view | ({"subaccount_id": template.subaccount_id} if template.subaccount_id else {})
