"""Define a template with its two versions, and how an edit changes them (spec 2.3, 3).

A template always has a draft. Publishing copies the draft to the published version and keeps the
draft; each may then be edited without the other. Content is stored apart from the record, under a
reference that is never reused, so two versions may share it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chalicelib.core import audit, clock
from chalicelib.core.errors import ApiError, bad_format, subresource_not_found
from chalicelib.core.json_types import Json
from chalicelib.core.options import Changes, changed
from chalicelib.core.scope import SYSTEM_ACCOUNT, Scope

LONGEST_TEXT = 1024
_SHORT = frozenset({"from", "reply_to", "subject"})


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """One version. ``number`` grows with every edit of the template; ``updated`` is in seconds.

    ``snippets`` are the ids that the content names literally. Version 0.1.0 did not store them
    (stays: templates are not rewritten). ``outline`` is what the audit log shows of the content,
    empty in templates that were last edited before there was one.
    """

    published: bool
    number: int
    content_ref: str
    name: str
    description: str
    options: Mapping[str, bool]
    updated: float
    snippets: tuple[str, ...] | None = None
    outline: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Template:
    """One template. ``revision`` counts its edits; ``last_use`` is ``None`` until it was used.

    ``preview_ref`` refers to the data of its previews, which both versions share; empty without.
    """

    account_id: int
    subaccount_id: int | None
    id: str
    shared: bool
    draft: TemplateVersion
    published: TemplateVersion | None = None
    revision: int = 1
    last_use: float | None = None
    preview_ref: str = ""

    @property
    def is_sample(self) -> bool:
        """Tell whether this is the service's sample, which every account can use (spec 8)."""
        return self.account_id == SYSTEM_ACCOUNT

    def version(self, draft: bool | None) -> TemplateVersion | None:
        """Return the draft, the published version, or (``None``) the one edited last."""
        if draft is None:
            newer = self.published is not None and self.published.number >= self.draft.number
            return self.published if newer else self.draft
        return self.draft if draft else self.published

    @property
    def versions(self) -> list[TemplateVersion]:
        """Return the draft, and the published version if there is one."""
        return [version for version in (self.draft, self.published) if version is not None]

    @property
    def body_refs(self) -> set[str]:
        """Return the references to all content that is in use, and to the preview data."""
        refs = {version.content_ref for version in self.versions}
        return refs | ({self.preview_ref} if self.preview_ref else set())


@dataclass(frozen=True, slots=True)
class Edit:
    """The changes that a request asks for; ``None`` leaves a field as it is.

    ``snippets`` and ``outline`` belong to the content. ``of_published`` says that the edit is of
    the published version.
    """

    name: str | None = None
    description: str | None = None
    options: Changes = field(default_factory=dict)
    content_ref: str | None = None
    snippets: tuple[str, ...] = ()
    outline: Mapping[str, Any] = field(default_factory=dict)
    shared: bool | None = None
    published: bool | None = None
    of_published: bool = False

    @property
    def changes_version(self) -> bool:
        """Tell whether the edit is about a version, rather than publishing or sharing alone."""
        texts = (self.name, self.description, self.content_ref)
        return bool(self.options) or any(text is not None for text in texts)


def new_template(scope: Scope, template_id: str, edit: Edit) -> Template:
    """Return the template that a request creates: a draft, which may be published as well."""
    draft = TemplateVersion(
        published=False,
        number=1,
        content_ref=edit.content_ref or "",
        name=template_id if edit.name is None else edit.name,
        description=edit.description or "",
        options=changed({}, edit.options),
        updated=clock.now(),
        snippets=edit.snippets,
        outline=edit.outline,
    )
    return Template(
        account_id=scope.account_id,
        subaccount_id=scope.owner,
        id=template_id,
        shared=bool(edit.shared),
        draft=draft,
        published=replace(draft, published=True) if edit.published else None,
    )


def outline_of(content: Json) -> dict[str, Any]:
    """Return what the audit log shows of content: its short fields, and digests of its bodies."""
    return {
        name: audit.shown(name, value) if name in _SHORT else audit.digest(_text(value))
        for name, value in content.items()
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def shown_fields(template: Template) -> dict[str, Any]:
    """Return the fields of a template for the audit log, those of the published version apart."""
    version, preview = template.published, template.preview_ref
    return {
        "shared_with_subaccounts": template.shared,
        **_shown_version(template.draft),
        "published": _shown_version(version) | {"number": version.number} if version else None,
        "preview_data": f"version {preview[-8:]}" if preview else None,
    }


def _shown_version(version: TemplateVersion) -> dict[str, Any]:
    return {
        "name": version.name,
        "description": version.description,
        "options": dict(version.options),
        **version.outline,
    }


def apply_edit(template: Template, edit: Edit) -> Template:
    """Return the template after ``edit``; raises 422 for what its state does not allow.

    ``published: true`` publishes the draft, with the changes that the same edit makes to it; in an
    edit of the published version itself it changes nothing.
    """
    if edit.published is False and template.published:
        _check_not_unpublished(edit)
    new = replace(template, revision=template.revision + 1)
    direct = edit.of_published and (template.published is not None or not edit.published)
    if edit.changes_version:
        new = _with_published_changed(new, edit) if direct else _with_draft_changed(new, edit)
    if edit.published and not (direct and edit.changes_version):
        new = _with_draft_published(new)
    if edit.shared is not None and edit.shared != template.shared:
        new = _with_sharing(new, edit.shared)
    return new


def _check_not_unpublished(edit: Edit) -> None:
    """Refuse ``published: false``, unless it only describes the draft that the edit changes."""
    if edit.of_published or not edit.changes_version:
        raise bad_format("a published template cannot become a draft")


def _with_draft_changed(template: Template, edit: Edit) -> Template:
    return replace(template, draft=_edited_version(template.draft, edit, template.revision))


def _with_published_changed(template: Template, edit: Edit) -> Template:
    if template.published is None:
        raise no_version(template.id, draft=False)
    return replace(template, published=_edited_version(template.published, edit, template.revision))


def _with_draft_published(template: Template) -> Template:
    published = replace(
        template.draft, published=True, number=template.revision, updated=clock.now()
    )
    return replace(template, published=published)


def _with_sharing(template: Template, shared: bool) -> Template:
    """Share or unshare both versions; both get the time, and the one edited last stays so."""
    now, published = clock.now(), template.published
    return replace(
        template,
        shared=shared,
        draft=replace(template.draft, updated=now),
        published=replace(published, updated=now) if published else None,
    )


def _edited_version(version: TemplateVersion, edit: Edit, number: int) -> TemplateVersion:
    return replace(
        version,
        number=number,
        updated=clock.now(),
        name=version.name if edit.name is None else edit.name,
        description=version.description if edit.description is None else edit.description,
        content_ref=edit.content_ref or version.content_ref,
        snippets=edit.snippets if edit.content_ref else version.snippets,
        outline=edit.outline if edit.content_ref else version.outline,
        options=changed(version.options, edit.options),
    )


def draw_id() -> str:
    """Draw an id of 18 digits, for a request without one."""
    return f"{secrets.randbelow(9 * 10**17) + 10**17}"


def no_template(template_id: str) -> ApiError:
    """Return 422 with code 1603: a request names a template that does not exist (spec 7)."""
    return subresource_not_found(f"template '{template_id}' does not exist")


def no_version(template_id: str, *, draft: bool) -> ApiError:
    """Return 422 with code 1603: the template has no such version."""
    kind = "draft" if draft else "published"
    return subresource_not_found(f"{kind} version of template '{template_id}' does not exist")
