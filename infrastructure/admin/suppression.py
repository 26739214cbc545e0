"""Import, export and erase suppression entries as the operator.

``python -m infrastructure.admin.suppression import FILE`` and ``export FILE`` read and write CSV
with the columns ``recipient`` (or ``email``), ``type``, ``description``, ``list_id`` and
``source``. A file ``-`` is standard input or output. Rows are handled as they come, so the size of
a file does not matter. A row that is not a valid entry is reported with its line number and left
out. The tool can also do what the API cannot: add compliance entries, and erase all that is kept
about a recipient.

The tool works on the table that the settings name (``STAGE``, ``AWS_ENDPOINT_URL``), or with
``--local DATA_DIR`` on that of the local runtime which runs on this directory.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from chalicelib.core import audit
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.data_privacy.erasure import erase
from chalicelib.suppression import search, service
from chalicelib.suppression.model import (
    BLOCKING,
    COMPLIANCE,
    MANUALLY_ADDED,
    TYPES,
    SuppressionEntry,
    new_entry,
)
from infrastructure.admin import authorship
from infrastructure.local.supervisor.cloud_access import aws_environment, read_secret
from infrastructure.local.supervisor.ports import InternalPorts

COLUMNS = ("recipient", "type", "description", "list_id", "source")
_ALIASES = {"email": "recipient"}
_AT_A_TIME = 1000
TOOL = "python -m infrastructure.admin.suppression"

Row = dict[str, str]


def import_csv(lines: Iterable[str], account_id: int, subaccount_id: int | None) -> tuple[int, int]:
    """Write the rows of a CSV to a list; return how many were written and how many left out."""
    left_out = 0

    def entries() -> Iterator[SuppressionEntry]:
        nonlocal left_out
        for number, row in rows(lines):
            try:
                yield entry_in(row)
            except ValueError as reason:
                left_out += 1
                print(f"line {number}: {row.get('recipient', '')}: {reason}", file=sys.stderr)

    count, pending = 0, entries()
    try:
        while batch := list(islice(pending, _AT_A_TIME)):
            with audit.bound(None):  # one line for the file
                service.impose_all(account_id, subaccount_id, batch)
            count += len(batch)
    finally:
        _note({"entries": count})
    return count, left_out


def export_csv(file: IO[str], account_id: int, subaccount_id: int | None) -> int:
    """Write a list as CSV, oldest update first; return the number of entries."""
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    count = 0
    for entry in search.everything(account_id, subaccount_id):
        writer.writerow(
            (entry.recipient, entry.type, entry.description, entry.list_id, entry.source)
        )
        count += 1
    return count


def rows(lines: Iterable[str]) -> Iterator[tuple[int, Row]]:
    """Yield the number of each row's last line, and the row.

    Raises ``ValueError`` for a header without the needed columns.
    """
    reader = csv.reader(lines)
    header = [_ALIASES.get(name, name) for name in map(_plain, next(reader, []))]
    if not {"recipient", "type"} <= set(header):
        raise ValueError("the first line must name the columns, with recipient (or email) and type")
    for fields in reader:
        if fields:
            yield reader.line_num, dict(zip(header, fields, strict=False))


def _plain(name: str) -> str:
    return name.strip().lower()


def entry_in(row: Row) -> SuppressionEntry:
    """Return the entry that a row describes; raises ``ValueError``."""
    return new_entry(
        row.get("recipient", "").strip(),
        row.get("type", "").strip(),
        row.get("source", "").strip() or MANUALLY_ADDED,
        description=row.get("description") or None,
        list_id=row.get("list_id", "").strip() or None,
    )


def add_compliance(
    account_id: int,
    subaccount_id: int | None,
    recipients: Iterable[str],
    types: Iterable[str],
    description: str | None,
) -> None:
    """Add entries that customers can neither update nor remove."""
    kinds = list(types)
    entries = [
        new_entry(each, kind, COMPLIANCE, description=description)
        for each in recipients
        for kind in kinds
    ]
    service.impose_all(account_id, subaccount_id, entries)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options = _parser().parse_args(arguments)
    if options.local:
        _use_local(options.local)
    try:
        author = authorship.author_of(
            options.account, options.command, tool=TOOL, resource="suppression-list"
        )
        with audit.bound(author):
            return int(options.run(options))
    except (ServiceError, ValueError, csv.Error) as refusal:
        print(refusal, file=sys.stderr)
        return 1


def _import(options: argparse.Namespace) -> int:
    with _opened(options.file, "r", sys.stdin) as file:
        count, left_out = import_csv(file, options.account, options.subaccount)
    print(f"{count} entries written, {left_out} rows left out")
    return 1 if left_out else 0


def _export(options: argparse.Namespace) -> int:
    with _opened(options.file, "w", sys.stdout) as file:
        count = export_csv(file, options.account, options.subaccount)
    print(f"{count} entries", file=sys.stderr)
    return 0


def _add_compliance(options: argparse.Namespace) -> int:
    types = options.type or BLOCKING
    add_compliance(
        options.account, options.subaccount, options.recipients, types, options.description
    )
    return 0


def _erase(options: argparse.Namespace) -> int:
    scope = Scope(options.account, options.subaccount or PRIMARY)
    if options.whole_account:
        scope = Scope(options.account, None)
    for each in options.recipients:
        with audit.bound(None):  # the log must not tell the address
            count = erase(scope, each, compliance=True)
        print(f"{each}: {count} entries and events erased")
    _note({"erased_recipients": len(options.recipients)})
    return 0


def _note(fields: Mapping[str, int]) -> None:
    """Write the line of the audit log about what takes many transactions."""
    if (author := audit.author()) and any(fields.values()):
        audit.note("", of=author, after=fields)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Import, export and erase suppression entries as the operator."
    )
    parser.add_argument(
        "--local",
        type=Path,
        metavar="DATA_DIR",
        help="work on the service that runs on this directory",
    )
    parser.add_argument("--account", type=int, default=1, help="number of the account (default: 1)")
    parser.add_argument(
        "--subaccount",
        type=int,
        help="work on the list of this subaccount (default: the primary account)",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    read = commands.add_parser("import", help="write the rows of a CSV file to the list")
    read.add_argument("file", help="CSV file; - for standard input")
    read.set_defaults(run=_import)
    write = commands.add_parser("export", help="write the list to a CSV file")
    write.add_argument("file", help="CSV file; - for standard output")
    write.set_defaults(run=_export)
    add = commands.add_parser("add-compliance", help="add entries that customers cannot remove")
    add.add_argument("recipients", nargs="+")
    add.add_argument("--type", action="append", choices=TYPES)
    add.add_argument("--description")
    add.set_defaults(run=_add_compliance)
    erase = commands.add_parser("erase", help="delete all entries and events of these recipients")
    erase.add_argument("recipients", nargs="+")
    erase.add_argument(
        "--whole-account", action="store_true", help="erase in all subaccounts as well"
    )
    erase.set_defaults(run=_erase)
    return parser


@contextmanager
def _opened(name: str, mode: str, standard: IO[str]) -> Iterator[IO[str]]:
    if name == "-":
        yield standard
        return
    with Path(name).open(
        mode, newline="", encoding="utf-8-sig" if mode == "r" else "utf-8"
    ) as file:
        yield file


def _use_local(data_dir: Path) -> None:
    url = InternalPorts.read(data_dir).cloud_url
    os.environ |= {**aws_environment(url, read_secret(data_dir)), "STAGE": "local"}


if __name__ == "__main__":
    sys.exit(main())
