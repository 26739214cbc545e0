"""Keep the records of templates, each with its two versions and the data of its previews.

Access patterns of ``config``:

- one template of one owner → ``template#<account>#<template id>`` / ``head#<owner>``
- templates of that id of all owners → ``template#<account>#<template id>`` / ``head#*``
- templates of an account → ``account#<account>/templates`` [by_owner]
- templates of one owner → ``account#<account>/templates`` / ``<owner>/*`` [by_owner]
- templates that an owner shares → ``account#<account>/templates`` / ``<owner>/s/*`` [by_owner]

The sample template belongs to the service's own account. Every account and subaccount finds it
under its id, unless it finds a template of its own account there.

``bodies.py`` keeps the content and ``leases.py`` the leases, in the same partition. Preview data is
a body of its own, which no transmission reads. An edit is one transaction, conditional on the
revision of the record that it started from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, NotRequired, cast

from chalicelib.core import audit, dynamo
from chalicelib.core.dynamo import Attributes, Table, TransactionFailed
from chalicelib.core.json_types import Json
from chalicelib.core.owned_records import OwnedRecords
from chalicelib.core.owner_keys import OwnedKeys
from chalicelib.core.scope import SYSTEM_ACCOUNT, Scope
from chalicelib.core.settings import settings
from chalicelib.templates.model import (
    Template,
    TemplateVersion,
    no_template,
    no_version,
    shown_fields,
)
from chalicelib.templates.snippet_names import snippets_in
from chalicelib.templates.store import bodies
from chalicelib.templates.store.bodies import ContentGone
from chalicelib.templates.store.new_bodies import NewBodies


class VersionFields(Attributes):
    """The fields of a ``TemplateVersion``."""

    published: bool
    number: int
    content_ref: str
    name: str
    description: str
    options: dict[str, bool]
    #: In seconds
    updated: float
    snippets: NotRequired[list[str] | None]
    outline: NotRequired[dict[str, Any]]


class TemplateItem(OwnedKeys):
    """A template with its versions: the fields of ``Template``."""

    account_id: int
    subaccount_id: int | None
    id: str
    shared: bool
    draft: VersionFields
    published: VersionFields | None
    revision: int
    #: In seconds, once the template was used
    last_use: NotRequired[float]
    preview_ref: NotRequired[str]
    #: A deletion that is announced, and until when, in seconds (``leases``)
    deletion: NotRequired[str]
    deletion_until: NotRequired[float]


_config: Table[TemplateItem] = Table("config")


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A version of a template with its content, which must not be changed."""

    template: Template
    version: TemplateVersion
    content: Json


def find(scope: Scope, template_id: str) -> Template | None:
    """Return the template that the id means to a reader in ``scope``, or ``None``."""
    template = _records.find(scope, template_id)
    if template is None and template_id == settings().sandbox_template:
        return get(SYSTEM_ACCOUNT, None, template_id)
    return template


def in_scope(scope: Scope, shared: bool | None) -> Iterator[Template]:
    """Yield the templates that a reader in ``scope`` sees; ``shared`` narrows to (un)shared."""
    yield from _records.in_scope(scope, shared)
    if shared is not False and scope.account_id != SYSTEM_ACCOUNT:
        template = find(scope, settings().sandbox_template)
        if template and template.is_sample:
            yield template


def create(template: Template, content: Json, preview_data: Json | None = None) -> bool:
    """Store a new template; return ``False`` if its owner has one with this id."""
    new = NewBodies.prepare(template.account_id, content, preview_data)
    template = new.with_preview(_referring(template, new.content_ref or ""))
    pk = partition(template.account_id, template.id)
    record = dynamo.put(_config, _to_item(template), condition="attribute_not_exists(#pk)")
    line = audit.line(template.id, None, shown_fields(template))
    try:
        dynamo.transact([record, *new.writes(pk), *line])
    except TransactionFailed:
        new.discard()
        return False
    return True


def read(scope: Scope, template_id: str, draft: bool | None) -> StoredContent | None:
    """Return a version and its content, or ``None`` if the template does not exist.

    ``draft`` as in :meth:`Template.version`. Raises 422 (1603) if only the version is missing.
    """

    def attempt() -> StoredContent | None:
        template = find(scope, template_id)
        if template is None:
            return None
        version = template.version(draft)
        if version is None:
            raise no_version(template_id, draft=bool(draft))
        return StoredContent(template, version, content_of(template, version))

    return dynamo.retry_conflicts(attempt, on=ContentGone)


def read_with_preview_data(
    scope: Scope, template_id: str, draft: bool | None
) -> tuple[StoredContent, Json] | None:
    """Return what :func:`read` does, and the data of the template's previews."""

    def attempt() -> tuple[StoredContent, Json] | None:
        stored_content = read(scope, template_id, draft)
        if stored_content is None:
            return None
        return stored_content, _preview_data(stored_content.template)

    return dynamo.retry_conflicts(attempt, on=ContentGone)


def _preview_data(template: Template) -> Json:
    pk, ref = partition(template.account_id, template.id), template.preview_ref
    return bodies.load(pk, ref) if ref else {}


def get_content(scope: Scope, template_id: str, draft: bool) -> StoredContent:
    """Return the content that a transmission sends; raises 422 (1603) if there is none.

    The record is read each time, consistently; content only if this process has not read it before.
    """
    stored_content = read(scope, template_id, draft)
    if stored_content is None:
        raise no_template(template_id)
    return stored_content


def naming_snippet(
    scope: Scope, snippet_id: str
) -> Iterator[tuple[Template, list[TemplateVersion]]]:
    """Yield the templates in ``scope`` that name a snippet literally, with the versions that do.

    Costs a list of the templates, and a read for each version that was last edited before versions
    stored the names.
    """
    for template in _records.in_scope(scope, None):
        versions = [each for each in template.versions if snippet_id in _snippets(template, each)]
        if versions:
            yield template, versions


def _snippets(template: Template, version: TemplateVersion) -> tuple[str, ...]:
    if version.snippets is not None:
        return version.snippets
    try:
        return snippets_in(content_of(template, version))
    except ContentGone:  # edited meanwhile
        return ()


def content_of(template: Template, version: TemplateVersion) -> Json:
    """Return the content of a version; raises ``ContentGone`` if it was replaced meanwhile."""
    return bodies.load(partition(template.account_id, template.id), version.content_ref)


def update(
    owner: Scope,
    template_id: str,
    edit: Callable[[Template, str | None], Template],
    content: Json | None,
    preview_data: Json | None = None,
) -> Template | None:
    """Replace a record by what ``edit`` makes of it; no edit made at the same time is lost.

    ``edit`` gets the reference of the new ``content``, if there is any; it may raise and may be
    called again. ``preview_data`` replaces the former, unless it is ``None``. Returns ``None`` if
    the owner has no such template.
    """
    new_bodies = NewBodies.prepare(owner.account_id, content, preview_data)
    may_be_written = False

    def attempt() -> Template | None:
        nonlocal may_be_written
        old = get(owner.account_id, owner.owner, template_id)
        if old is None:
            return None
        new = new_bodies.with_preview(edit(old, new_bodies.content_ref))
        if replace(new, revision=old.revision) == old:
            return old
        may_be_written = True
        try:
            _write(old, new, new_bodies)
        except TransactionFailed:
            may_be_written = False
            raise
        bodies.discard(old.body_refs - new.body_refs)
        return new

    try:
        return dynamo.retry_conflicts(attempt)
    finally:
        # A fault may come after the write: superfluous content does no harm, lost content does.
        if not may_be_written:
            new_bodies.discard()


def partition(account_id: int, template_id: str) -> str:
    """Return the partition key of all items about an account's templates of an id."""
    return _records.partition(account_id, template_id)


def head(template: Template) -> tuple[str, str]:
    """Return the key of the template's record."""
    return _records.key(template.account_id, template.subaccount_id, template.id)


def from_item(item: TemplateItem) -> Template:
    """Return the template of a record read from the table."""
    return Template(
        account_id=item["account_id"],
        subaccount_id=item["subaccount_id"],
        id=item["id"],
        shared=item["shared"],
        draft=_version(item["draft"]),
        published=_version(item["published"]) if item["published"] else None,
        revision=item["revision"],
        last_use=item.get("last_use"),
        preview_ref=item.get("preview_ref", ""),
    )


def _version(fields: VersionFields) -> TemplateVersion:
    snippets = fields.get("snippets")
    return TemplateVersion(
        published=fields["published"],
        number=fields["number"],
        content_ref=fields["content_ref"],
        name=fields["name"],
        description=fields["description"],
        options=fields["options"],
        updated=fields["updated"],
        snippets=None if snippets is None else tuple(snippets),
        outline=fields.get("outline", {}),
    )


def _write(old: Template, new: Template, new_bodies: NewBodies) -> None:
    pk = partition(old.account_id, old.id)
    record = dynamo.update(
        _config,
        *head(old),
        "SET #owner_key = :owner_key, #shared = :shared, #draft = :draft, "
        "#published = :published, #revision = :revision, #preview_ref = :preview_ref",
        values={
            "owner_key": _records.keys_of(new)["owner_key"],
            "shared": new.shared,
            "draft": asdict(new.draft),
            "published": asdict(new.published) if new.published else None,
            "revision": new.revision,
            "preview_ref": new.preview_ref,
            "old": old.revision,
        },
        condition="#revision = :old",
    )
    removals = bodies.removals(pk, old.body_refs - new.body_refs)
    line = audit.line(new.id, shown_fields(old), shown_fields(new))
    dynamo.transact([record, *new_bodies.writes(pk), *removals, *line])


def _referring(template: Template, ref: str) -> Template:
    published = template.published
    return replace(
        template,
        draft=replace(template.draft, content_ref=ref),
        published=replace(published, content_ref=ref) if published else None,
    )


def _to_item(template: Template) -> TemplateItem:
    item = {**asdict(template), **_records.keys_of(template)}
    del item["last_use"]
    return cast(TemplateItem, item)


_records = OwnedRecords("template", "head", from_item)

get = _records.get
