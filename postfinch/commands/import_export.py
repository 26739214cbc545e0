"""``postfinch import sendgrid`` and alike: what other services export."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, cast

import typer

from postfinch import stored_templates, template_files
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import ask, fail, note, write_json, write_line
from postfinch.http_api import Api, ApiError
from postfinch.importing import suppressions
from postfinch.importing.exports import language
from postfinch.importing.exports.files import BadFile
from postfinch.importing.exports.model import ForeignTemplate, Reason, Suppression
from postfinch.importing.exports.plan import FilePlan, read_file
from postfinch.importing.exports.services import SERVICES
from postfinch.json_types import Json
from postfinch.stored_templates import Change
from postfinch.template_files import Item

# The service looks closer; this much can be said without asking it
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
_REASONS = ("bounce", "complaint", "unsubscribe", "manual")
#: Of each file so many rows are shown before anything is stored
_SHOWN = 3


@dataclass(slots=True)
class Report:
    """What is taken from a file, and what is not; ``reasons`` counts suppressions by reason.

    ``existing`` counts entries that were there already, and are left as they are.
    """

    file: str
    suppressions: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    existing: int = 0
    templates: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class _Templates:
    """How one call takes templates: into the account, or into a ``folder``."""

    def __init__(self, api: Api, service: str, sender: str | None, folder: Path | None) -> None:
        self._api = api
        self._service = service
        self._sender = sender
        self._folder = folder

    def plan(self, template: ForeignTemplate, report: Report) -> Item | None:
        """Return what is to be stored, if that is possible, and say in the report how it goes."""
        item, notes = self._item(template)
        if not item.id:
            report.failures.append("a template has neither id nor name")
            return None
        if self._folder is None and item.id in self._existing_ids:
            report.notes.append(f"template {item.id} exists already, and is left as it is")
            return None
        errors = self._errors(item) if self._folder is None else []
        report.failures += [f"template {item.id}: {each}" for each in errors]
        report.notes += [f"template {item.id}: {each}" for each in notes]
        if errors:
            return None
        report.templates.append(item.id)
        return item

    def store(self, item: Item, report: Report) -> None:
        """Store what :meth:`plan` returned."""
        if self._folder is not None:
            template_files.write(self._folder, item)
            return
        try:
            is_published = item.published is not False
            stored_templates.apply(self._api, Change("create", item, [], is_published))
        except ApiError as error:
            report.failures.append(f"template {item.id}: {error}")
            report.templates.remove(item.id)

    @cached_property
    def _existing_ids(self) -> set[str]:
        return set(stored_templates.own_ids(self._api, "template"))

    def _errors(self, item: Item) -> list[str]:
        """Return why a template cannot be stored."""
        if "from" not in item.content:
            return ["it has no sender: name one with --from"]
        errors = stored_templates.errors_of(self._api, item)
        return [str(template_files.place_of(Path(), item, each)) for each in errors]

    def _item(self, template: ForeignTemplate) -> tuple[Item, list[str]]:
        """Return a template in this service's language, and what is left to do by hand."""
        content: Json = {"from": template.sender or self._sender or ""}
        tags: dict[str, None] = {}
        for name in ("subject", "html", "text", "reply_to"):
            text, remaining = language.translate(getattr(template, name), self._service)
            content[name] = text
            tags |= dict.fromkeys(remaining)
        content = {name: value for name, value in content.items() if value}
        notes = list(template.notes)
        if tags:
            notes.append(f"these tags have no counterpart: {', '.join(tags)}")
        settings = {"name": template.name or template.id}
        published = template.published and not notes
        return Item("template", template.id, settings, content, published), notes


@dataclass(slots=True)
class _FileImport:
    """One file of a call: what it has, what is to be stored, and the report."""

    plan: FilePlan
    report: Report
    entries: list[Suppression] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    #: The failures that were shown before anything was stored
    known_failures: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to store."""
        return not (self.entries or self.items)


def add_commands(app: typer.Typer) -> None:
    """Add a command for each service, and the one that takes an import back."""
    for name, service in SERVICES.items():
        text = f"Take suppressions and templates that {service.title} exports: CSV, JSON or zip."
        app.command(name, help=text)(_command(name))
    app.command()(undo)


def _command(name: str) -> Callable[..., None]:
    def import_files(
        files: Annotated[list[Path], typer.Argument(help="The exported files.")],
        reason: Annotated[
            str | None,
            typer.Option(help=f"Why all addresses are on the list: {', '.join(_REASONS)}."),
        ] = None,
        sender: Annotated[
            str | None, typer.Option("--from", help="Sender of templates that have none.")
        ] = None,
        templates_into: Annotated[
            Path | None,
            typer.Option(help="Write templates into a folder for `templates push`, to edit them."),
        ] = None,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Check everything, and store nothing.")
        ] = False,
        yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
        profile: ProfileOption = None,
        as_json: JsonOption = False,
    ) -> None:
        if reason is not None and reason not in _REASONS:
            fail(f"--reason must be one of {', '.join(_REASONS)}", 2)
        api = connect(profile)
        templates = _Templates(api, name, sender, templates_into)
        kind = cast(Reason | None, reason)
        plans = [plan for path in files if (plan := _read(name, path, kind))]
        if len(plans) < len(files):
            fail("nothing is stored", 1)
        imports = [_plan(each, templates) for each in plans]
        if not as_json:
            for each in imports:
                _show(each)
        import_id = None
        if not dry_run and not all(each.is_empty for each in imports):
            ask(_question(imports), yes=yes)
            import_id = _store(api, name, imports, templates)
        if as_json:
            write_json({"import": import_id, "files": [asdict(each.report) for each in imports]})
        elif not dry_run and not all(each.is_empty for each in imports):
            _write(imports, import_id)
        if any(each.report.failures for each in imports):
            raise typer.Exit(1)

    return import_files


def undo(
    import_id: Annotated[str, typer.Argument(metavar="ID", help="The id that the import named.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back the suppressions that an import added, as far as nobody changed them since.

    Entries that were there before an import are never changed by it. Templates stay.
    """
    if not suppressions.is_id(import_id):
        fail(f"{import_id!r} is no id of an import, such as 20261126-4f2a1c", 2)
    api = suppressions.own_list(connect(profile))
    entries = suppressions.of_import(api, import_id)
    if not entries:
        fail(f"no entry of the suppression list is of import {import_id}", 1)
    recipients = {entry["recipient"] for entry in entries}
    ask(f"Remove {len(entries)} entries of {len(recipients)} recipients?", yes=yes)
    count = suppressions.remove(api, entries)
    if as_json:
        write_json({"import": import_id, "removed": count, "recipients": len(recipients)})
    else:
        write_line(f"{count} entries of {len(recipients)} recipients are removed")


def _read(name: str, path: Path, reason: Reason | None) -> FilePlan | None:
    try:
        return read_file(name, path, reason)
    except BadFile as error:
        note(f"{path}: not taken: {error}")
        return None


def _plan(plan: FilePlan, templates: _Templates) -> _FileImport:
    """Check what a file has as far as that can be done without storing it."""
    report = Report(str(plan.path))
    each = _FileImport(plan, report)
    for entry in plan.suppressions:
        if _ADDRESS.fullmatch(entry.recipient):
            each.entries.append(entry)
        else:
            report.failures.append(f"{entry.recipient} is no address")
    report.suppressions = len(each.entries)
    report.reasons = dict(Counter(entry.reason for entry in each.entries))
    planned = [templates.plan(template, report) for template in plan.templates]
    each.items = [item for item in planned if item]
    report.notes += [f"{count} left out: {text}" for text, count in plan.skips.items()]
    return each


def _store(
    api: Api, name: str, imports: Sequence[_FileImport], templates: _Templates
) -> str | None:
    """Store everything; return the id under which suppressions were added, if any were."""
    import_id = suppressions.new_id()
    own, is_used = suppressions.own_list(api), False
    for each in imports:
        for item in each.items:
            templates.store(item, each.report)
        is_used |= _store_suppressions(own, SERVICES[name].title, import_id, each)
    return import_id if is_used else None


def _store_suppressions(api: Api, title: str, import_id: str, each: _FileImport) -> bool:
    report, mark = each.report, suppressions.mark_of(import_id)
    reason_of = {entry.recipient: entry.reason for entry in each.entries}
    entries = [fields for entry in each.entries for fields in entry.entries(title, mark)]
    entries, existing, refusals = suppressions.store(api, entries)
    recipients = dict.fromkeys(entry["recipient"] for entry in entries)
    report.suppressions, report.existing = len(recipients), existing
    report.reasons = dict(Counter(reason_of[recipient] for recipient in recipients))
    report.failures += [f"{address} was refused as an address" for address in refusals]
    return bool(entries)


def _question(imports: Sequence[_FileImport]) -> str:
    entries = sum(len(each.entries) for each in imports)
    items = sum(len(each.items) for each in imports)
    return f"Store {entries} suppressions and {items} templates?"


def _show(each: _FileImport) -> None:
    """Show what a file has, with its first rows."""
    write_line(f"{each.report.file}: {_counts(each.report)}")
    for entry in each.entries[:_SHOWN]:
        detail = f": {entry.description}" if entry.description else ""
        of_list = f" (list {entry.list_id})" if entry.list_id else ""
        write_line(f"  {entry.recipient}, {entry.reason}{of_list}{detail}")
    for item in each.items[:_SHOWN]:
        write_line(f"  template {item.id}: {item.settings['name']}")
    for text in each.report.notes:
        note(f"{each.report.file}: {text}")
    _show_failures(each)


def _show_failures(each: _FileImport) -> None:
    """Show the failures that were not shown yet."""
    for text in each.report.failures[each.known_failures :]:
        note(f"{each.report.file}: not taken: {text}")
    each.known_failures = len(each.report.failures)


def _counts(report: Report) -> str:
    reasons = ", ".join(f"{reason} {count}" for reason, count in report.reasons.items())
    counts = f"{report.suppressions} suppressions" + (f" ({reasons})" if reasons else "")
    return f"{counts}, {len(report.templates)} templates"


def _write(imports: Sequence[_FileImport], import_id: str | None) -> None:
    """Say what was stored, and how it is taken back."""
    for each in imports:
        _show_failures(each)
    entries = sum(each.report.suppressions for each in imports)
    templates = sum(len(each.report.templates) for each in imports)
    write_line(f"{entries} suppressions and {templates} templates are stored")
    if existing := sum(each.report.existing for each in imports):
        write_line(f"{existing} entries were there already, and are left as they are")
    if import_id:
        write_line(f"To take the suppressions back: postfinch import undo {import_id}")
