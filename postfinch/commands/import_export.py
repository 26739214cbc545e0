"""``postfinch import sendgrid`` and alike: what other services export."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
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
    NotUnderstood,
    Reason,
    Skipped,
    Suppression,
)
from postfinch.importing.exports.services import SERVICES
from postfinch.importing.kinds import put_suppressions
from postfinch.stored_templates import Change
from postfinch.template_files import Item

_BULK = 1000
# The service looks closer; this much can be said without asking it
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
_REASONS = ("bounce", "complaint", "unsubscribe", "manual")


@dataclass(slots=True)
class Report:
    """What was taken from a file, and what was not; ``reasons`` counts suppressions by reason."""

    file: str
    suppressions: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    templates: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class _Import:
    """How one call takes what the files have; in a ``dry_run`` nothing is written."""

    def __init__(
        self, api: Api, service: str, sender: str | None, folder: Path | None, *, dry_run: bool
    ) -> None:
        self._api = api
        self._service = service
        self._title = SERVICES[service][0]
        self._sender = sender
        self._folder = folder
        self._dry_run = dry_run

    def take(self, entries: Iterator[Entry], report: Report) -> None:
        """Store what a file has, and say in the report how that went."""
        bulk: list[dict[str, Any]] = []
        skips: Counter[str] = Counter()
        riddles: Counter[str] = Counter()
        is_understood = False
        try:
            for entry in entries:
                is_understood |= not isinstance(entry, NotUnderstood)
                if isinstance(entry, Suppression):
                    bulk += self._suppression(entry, report)
                elif isinstance(entry, ForeignTemplate):
                    self._template(entry, report)
                elif isinstance(entry, NotUnderstood):
                    riddles[entry.text] += 1
                else:
                    skips[entry.reason] += 1
                if len(bulk) >= _BULK:
                    self._store(bulk, report)
                    bulk = []
            if not is_understood:
                detail = "".join(f": {text}" for text in list(riddles)[:1])
                raise BadFile(f"nothing in it is an export of {self._title}{detail}")
        except BadFile as error:
            report.failures.append(str(error))
        self._store(bulk, report)
        report.notes += [f"{count} left out: {text}" for text, count in (skips + riddles).items()]

    def _suppression(self, entry: Suppression, report: Report) -> Iterator[dict[str, Any]]:
        if not _ADDRESS.fullmatch(entry.recipient):
            report.failures.append(f"{entry.recipient} is no address")
            return
        report.suppressions += 1
        report.reasons[entry.reason] = report.reasons.get(entry.reason, 0) + 1
        yield from entry.entries(self._title)

    def _store(self, bulk: list[dict[str, Any]], report: Report) -> None:
        if self._dry_run:
            return
        refusals: list[str] = []
        put_suppressions(self._api, bulk, refusals)
        addresses = list(dict.fromkeys(refusals))
        report.suppressions -= len(addresses)
        report.failures += [f"{each} was refused as an address" for each in addresses]

    def _template(self, template: ForeignTemplate, report: Report) -> None:
        item, notes = self._item(template)
        if not item.id:
            report.failures.append("a template has neither id nor name")
            return
        if self._folder is not None:
            if not self._dry_run:
                template_files.write(self._folder, item)
        elif item.id in self._existing_ids:
            report.notes.append(f"template {item.id} exists already, and is left as it is")
            return
        elif errors := self._errors(item):
            report.failures += [f"template {item.id}: {each}" for each in errors]
            report.notes += [f"template {item.id}: {each}" for each in notes]
            return
        elif not self._dry_run:
            try:
                is_published = item.published is not False
                stored_templates.apply(self._api, Change("create", item, [], is_published))
            except ApiError as error:
                report.failures.append(f"template {item.id}: {error}")
                return
        report.templates.append(item.id)
        report.notes += [f"template {item.id}: {each}" for each in notes]

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
        content: dict[str, Any] = {"from": template.sender or self._sender or ""}
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
            bool, typer.Option("--dry-run", help="Check everything, and store nothing.")
        ] = False,
        profile: ProfileOption = None,
        as_json: JsonOption = False,
    ) -> None:
        if reason is not None and reason not in _REASONS:
            fail(f"--reason must be one of {', '.join(_REASONS)}", 2)
        task = _Import(connect(profile), name, sender, templates_into, dry_run=dry_run)
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
    task.take(_entries(name, path, reason), report)
    return report


def _entries(name: str, path: Path, reason: str | None) -> Iterator[Entry]:
    _, meaning = SERVICES[name]
    is_of_blocks = name == "sendgrid" and "block" in path.name.lower()
    for row in read(path):
        for entry in meaning(row):
            if not isinstance(entry, Suppression):
                yield entry
            elif reason is not None:
                yield replace(entry, reason=cast(Reason, reason))
            elif is_of_blocks:
                yield Skipped("blocks are temporary, and are no suppressions")
            elif entry.temporary:
                yield Skipped("soft bounces are temporary, and are no suppressions")
            else:
                yield entry


def _write(report: Report, *, dry_run: bool) -> None:
    verb = "would take " if dry_run else ""
    reasons = ", ".join(f"{reason} {count}" for reason, count in report.reasons.items())
    suppressions = f"{report.suppressions} suppressions" + (f" ({reasons})" if reasons else "")
    if report.suppressions or report.templates or not report.failures:
        write_line(f"{report.file}: {verb}{suppressions}, {len(report.templates)} templates")
    for text in report.notes:
        note(f"{report.file}: {text}")
    for text in report.failures:
        note(f"{report.file}: not taken: {text}")
