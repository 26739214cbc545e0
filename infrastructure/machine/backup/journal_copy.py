"""Read the delivery journals of a service that may be running, for a copy of its database.

The journals must be read when the copy's instant has passed, and within a minute of it:

- What was sent before the instant is then in a journal or in the database. A worker writes a line
  of the journal as soon as a host has taken a message, and completes the unit in the database
  later. The journal of a completed unit stays for another minute (``journal_files.KEEP_SECONDS``).
- What a journal knows of later messages does no harm: their units are still in work in the copy,
  and whoever takes one of them over sends nothing that its journal has as sent.

In the copy each journal is that of a unit in work. A restored service may meet the queue message of
a unit long after it started, and by then it would have removed the journals of completed units.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chalicelib.delivery.store.journal_files import COMPLETED, OPEN
from infrastructure.machine.backup import layout


def journals(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path within an archive, and the lines, of each journal in ``directory``."""
    # A file that is renamed during a look may be missed. The journal of a completed unit keeps its
    # name, so the second look finds it
    for unit in sorted(_units(directory) | _units(directory)):
        if lines := _entries(directory, unit):
            yield f"{layout.JOURNAL}/{unit}{OPEN}", lines


def _units(directory: Path) -> set[str]:
    return {path.stem for path in directory.glob("*.*") if path.suffix in (OPEN, COMPLETED)}


def _entries(directory: Path, unit: str) -> bytes:
    """Return the lines of a unit, whose file may be renamed meanwhile in either direction.

    A folder into which journals were copied again and again has both files, of several moments.
    """
    files = [_lines(directory / f"{unit}{ending}") for ending in (OPEN, COMPLETED, OPEN)]
    lines = dict.fromkeys(line for file in files for line in file.splitlines(keepends=True))
    return b"".join(lines)


def _lines(path: Path) -> bytes:
    """Return the lines of a file; one that is being written was never recorded."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return b""
    return text[: text.rfind(b"\n") + 1]
