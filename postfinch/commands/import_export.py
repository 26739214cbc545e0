"""``postfinch import sendgrid`` and alike: what other services export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from postfinch import stored_templates, template_files
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_line
from postfinch.http_api import Api, ApiError
from postfinch.importing.exports import language
from postfinch.importing.exports.files import BadFile, read
from postfinch.importing.exports.model import (
    Entry,
    ForeignTemplate,
    Reason,
    Skipped,
    Suppression,
)
from postfinch.importing.exports.services import SERVICES
from postfinch.importing.kinds import put_suppressions
from postfinch.stored_templates import Change
from postfinch.template_files import Item

_BULK = 1000
_REASONS = ("bounce", "complaint", "unsubscribe", "manual")


@dataclass(slots=True)
class Report:
    """What was taken from a file, and what was not."""

    file: str
    suppressions: int = 0
    templates: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Import:
    """How one call takes what the files have; ``api`` is ``None`` if nothing may be written."""

    api: Api | None
    service: str
    sender: str | None
    folder: Path | None

    def take(self, entries: Iterator[Entry], report: Report) -> None:
        """Store what a file has, and say in the report how that went."""
        bulk: list[dict[str, Any]] = []
        skips: dict[str, int] = {}
        for entry in entries:
            if isinstance(entry, Suppression):
                bulk += entry.entries(self.service)
                report.suppressions += 1
            elif isinstance(entry, ForeignTemplate):
                self._template(entry, report)
            else:
                skips[entry.reason] = skips.get(entry.reason, 0) + 1
            if len(bulk) >= _BULK:
                self._store(bulk, report)
                bulk = []
        self._store(bulk, report)
        report.notes += [f"{count} left out: {reason}" for reason, count in skips.items()]

    def _store(self, bulk: list[dict[str, Any]], report: Report) -> None:
        if self.api is None:
            return
        refusals: list[str] = []
        put_suppressions(self.api, bulk, refusals)
        addresses = list(dict.fromkeys(refusals))
        report.suppressions -= len(addresses)
        report.failures += [f"{each} was refused as an address" for each in addresses]

    def _template(self, template: ForeignTemplate, report: Report) -> None:
        item, notes = self._item(template)
        if not item.id:
            report.failures.append("a template has neither id nor name")
        elif self.folder is not None:
            if self.api is not None:
                template_files.write(self.folder, item)
        elif "from" not in item.content:
            report.failures.append(f"template {item.id} has no sender: name one with --from")
            return
        elif self.api is not None:
            try:
                is_published = template.published and not notes
                stored_templates.apply(self.api, Change("create", item, [], is_published))
            except ApiError as error:
                report.failures.append(f"template {item.id}: {error}")
                return
        report.templates.append(item.id)
        report.notes += [f"template {item.id}: {each}" for each in notes]

    def _item(self, template: ForeignTemplate) -> tuple[Item, list[str]]:
        """Return a template in this service's language, and what is left to do by hand."""
        content: dict[str, Any] = {"from": template.sender or self.sender or ""}
        for name in ("subject", "html", "text", "reply_to"):
            content[name] = language.merge_tags(language.handlebars(getattr(template, name)))
        content = {name: value for name, value in content.items() if value}
        notes = list(template.notes)
        texts = "".join(value for value in content.values() if isinstance(value, str))
        if tags := language.remaining_merge_tags(texts):
            notes.append(f"these tags have no counterpart: {', '.join(tags)}")
        settings = {"name": template.name or template.id}
        return Item("template", template.id, settings, content, template.published), notes


def add_commands(app: typer.Typer) -> None:
    """Add a command for each service."""
    for name, (title, _) in SERVICES.items():
        text = f"Take suppressions and templates that {title} exports: CSV, JSON or a zip archive."
        app.command(name, help=text)(_command(name))


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
            bool, typer.Option("--dry-run", help="Read the files, and store nothing.")
        ] = False,
        profile: ProfileOption = None,
        as_json: JsonOption = False,
    ) -> None:
        if reason is not None and reason not in _REASONS:
            fail(f"--reason must be one of {', '.join(_REASONS)}", 2)
        api = None if dry_run else connect(profile)
        task = _Import(api, SERVICES[name][0], sender, templates_into)
        reports = [_take_file(task, name, path, reason) for path in files]
        if as_json:
            write_json([asdict(report) for report in reports])
        else:
            for report in reports:
                _write(report, dry_run=dry_run)
        if any(report.failures for report in reports):
            raise typer.Exit(1)

    return import_files


def _take_file(task: _Import, name: str, path: Path, reason: str | None) -> Report:
    report = Report(str(path))
    try:
        task.take(_entries(name, path, reason), report)
    except BadFile as error:
        report.failures.append(str(error))
    return report


def _entries(name: str, path: Path, reason: str | None) -> Iterator[Entry]:
    _, meaning = SERVICES[name]
    is_of_blocks = name == "sendgrid" and "block" in path.name.lower() and reason is None
    for row in read(path):
        for entry in meaning(row):
            if not isinstance(entry, Suppression):
                yield entry
            elif is_of_blocks:
                yield Skipped("blocks are temporary, and are no suppressions")
            elif reason is None:
                yield entry
            else:
                yield replace(entry, reason=cast(Reason, reason))


def _write(report: Report, *, dry_run: bool) -> None:
    verb = "would take " if dry_run else ""
    counts = f"{report.suppressions} suppressions, {len(report.templates)} templates"
    write_line(f"{report.file}: {verb}{counts}")
    for text in report.notes:
        note(f"{report.file}: {text}")
    for text in report.failures:
        note(f"{report.file}: not taken: {text}")
