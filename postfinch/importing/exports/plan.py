"""Read a file as a service's export, completely, before anything of it is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from postfinch.importing.exports.files import BadFile, read
from postfinch.importing.exports.forms import Service
from postfinch.importing.exports.model import (
    Entry,
    ForeignTemplate,
    NotUnderstood,
    Reason,
    Row,
    Skipped,
    Suppression,
)
from postfinch.importing.exports.services import SERVICES, suppression

_REASON_HINT = "for a plain list of addresses, --reason says why they are on it"


@dataclass(slots=True)
class FilePlan:
    """What a file has; ``skips`` counts what is left out on purpose, by reason."""

    path: Path
    suppressions: list[Suppression] = field(default_factory=list)
    templates: list[ForeignTemplate] = field(default_factory=list)
    skips: Counter[str] = field(default_factory=Counter)

    @property
    def reasons(self) -> dict[str, int]:
        """The number of suppressions by reason."""
        return dict(Counter(each.reason for each in self.suppressions))


def read_file(name: str, path: Path, reason: Reason | None = None) -> FilePlan:
    """Return what a file of the service with this name has.

    ``reason`` is why all of its addresses are on the list. Raises BadFile for a file that cannot be
    read, and for one with anything that the service does not export.
    """
    service = SERVICES[name]
    plan = FilePlan(path)
    is_recognised = False
    for row in read(path):
        if row.is_heading:
            _check_heading(service, row, reason)
            is_recognised = True
            continue
        for entry in _meaning(service, row, reason):
            _add(plan, _of_file(name, path, entry, reason), service)
            is_recognised = True
    if not is_recognised:
        raise BadFile(f"it has no rows; {service.expectation}")
    return plan


def _check_heading(service: Service, row: Row, reason: Reason | None) -> None:
    if any(form.fits(row) for form in service.forms) or (reason and suppression(row, reason)):
        return
    columns = ", ".join(filter(None, row.values)) or "no column with a name"
    raise _refusal(service, f"it has {columns[:300]}")


def _meaning(service: Service, row: Row, reason: Reason | None) -> Iterator[Entry]:
    for entry in service.entries(row):
        yield suppression(row, reason) if reason and isinstance(entry, NotUnderstood) else entry


def _of_file(name: str, path: Path, entry: Entry, reason: Reason | None) -> Entry:
    """Return an entry as all of the file are to be taken."""
    if not isinstance(entry, Suppression):
        return entry
    if reason is not None:
        return replace(entry, reason=reason)
    if name == "sendgrid" and "block" in path.name.lower():
        return Skipped("blocks are temporary, and are no suppressions")
    if entry.temporary:
        return Skipped("soft bounces are temporary, and are no suppressions")
    return entry


def _add(plan: FilePlan, entry: Entry, service: Service) -> None:
    if isinstance(entry, Suppression):
        plan.suppressions.append(entry)
    elif isinstance(entry, ForeignTemplate):
        plan.templates.append(entry)
    elif isinstance(entry, Skipped):
        plan.skips[entry.reason] += 1
    else:
        raise _refusal(service, entry.text)


def _refusal(service: Service, text: str) -> BadFile:
    return BadFile(
        f"this is no export of {service.title}: {text}. {service.expectation}; {_REASON_HINT}"
    )
