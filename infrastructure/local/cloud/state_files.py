"""Keep the files of the local cloud's state: a base, and the logs of what changed since.

``base-N`` is the state at the time when ``log-N`` began. The state is the newest base with its log
and all later ones applied; without a base, the logs from ``log-1`` on. When the logs have become
large a new log begins, a forked process writes its base, and the files before it are removed. So
the files are complete whenever a process is killed. A file that is missing or damaged stops the
start, and all files stay as they are.

A directory of an earlier version has a snapshot instead (see `earlier_snapshot`); it is rewritten
as ``base-1``. A base in the form of an earlier version is read item by item, and soon replaced.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from infrastructure.local.cloud import base_file, changes, earlier_snapshot
from infrastructure.local.cloud.base_file import BaseFile
from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.redo_log import (
    EARLIER_BASE_KIND,
    LOG_KIND,
    DamagedState,
    Records,
    RedoLog,
    kind_of,
)

ARCHIVES = "archives"
_FIRST = 1


class StateFiles:
    """The files under ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.number = _FIRST
        self.base: BaseFile | None = None
        self._log_end: int | None = None
        root.mkdir(parents=True, exist_ok=True)

    def base_changes(self, now: float) -> Iterator[Change]:
        """Yield what the base says, but for the items that stay in it: they are in `base`.

        Items of a base that an earlier version wrote are yielded unless they had expired at the
        time ``now``. Raises :class:`DamagedState`.
        """
        if not self._numbers("base") and earlier_snapshot.exists(self.root):
            self._convert_earlier_snapshot()
        bases, logs = self._numbers("base"), self._numbers("log")
        if not bases and min(logs, default=_FIRST) > _FIRST:
            raise DamagedState(self._path("base", min(logs)), "is missing")
        if not bases:
            return
        path = self._path("base", max(bases))
        if self.has_earlier_base():
            for content in Records(path, EARLIER_BASE_KIND, complete=True):
                yield from changes.decode(content, expired_before=now)
            return
        self.base = BaseFile(path)
        yield from self.base.changes()

    def log_changes(self) -> Iterator[Change]:
        """Yield what changed since the base, after it was read; raises :class:`DamagedState`."""
        bases, logs = self._numbers("base"), self._numbers("log")
        first = max(bases, default=_FIRST)
        newest = max(logs, default=first)
        for number in range(first, newest + 1):
            if number not in logs and (bases or logs):
                raise DamagedState(self._path("log", number), "is missing")
            if number in logs:
                yield from self._changes_in_log(number, is_newest=number == newest)
        self.number = newest
        self._remove_before(first)

    def open_log(self) -> RedoLog:
        """Open the log for the next changes, after all earlier ones were read."""
        path = self._path("log", self.number)
        return (
            RedoLog.create(path) if self._log_end is None else RedoLog.reopen(path, self._log_end)
        )

    def start_next_log(self) -> RedoLog:
        """Begin the log of which `write_base` writes the base; raises OSError."""
        log = RedoLog.create(self._path("log", self.number + 1))
        self.number += 1
        return log

    def write_base(self, state: Iterable[Change]) -> None:
        """Write the base of the newest log; raises OSError."""
        base_file.write(self._path("base", self.number), state)

    def remove_superseded(self) -> None:
        """Remove what is older than the base of the newest log."""
        self._remove_before(self.number)

    def base_size(self) -> int:
        """Return the size of the newest base in bytes."""
        bases = self._numbers("base")
        return self._path("base", max(bases)).stat().st_size if bases else 0

    def has_earlier_base(self) -> bool:
        """Tell whether an earlier version wrote the newest base."""
        bases = self._numbers("base")
        return bool(bases) and kind_of(self._path("base", max(bases))) == EARLIER_BASE_KIND

    def _changes_in_log(self, number: int, is_newest: bool) -> Iterator[Change]:
        # A log before the newest was synchronized as a whole when the next one began
        records = Records(self._path("log", number), LOG_KIND, complete=not is_newest)
        for content in records:
            yield from changes.decode(content)
        self._log_end = records.end

    def _convert_earlier_snapshot(self) -> None:
        RedoLog.create(self._path("log", _FIRST))
        earlier_snapshot.copy_archives(self.root, self.root / ARCHIVES)
        self.write_base(earlier_snapshot.changes(self.root))

    def _remove_before(self, number: int) -> None:
        for kind in ("base", "log"):
            for each in self._numbers(kind):
                if each < number:
                    self._path(kind, each).unlink()
        for path in self.root.glob("*.new"):
            path.unlink()
        if self._numbers("base"):
            for path in earlier_snapshot.paths(self.root):
                path.unlink() if path.is_symlink() else shutil.rmtree(path)

    def _numbers(self, kind: str) -> set[int]:
        names = (path.name.partition("-") for path in self.root.glob(f"{kind}-*"))
        return {int(number) for _, _, number in names if number.isdigit()}

    def _path(self, kind: str, number: int) -> Path:
        return self.root / f"{kind}-{number}"
