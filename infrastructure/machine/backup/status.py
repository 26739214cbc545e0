"""Keep in the data directory when a scheduled backup last succeeded, and when and why one failed.

It is no part of a backup, and not beside the backups: their disk may be what failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from infrastructure.local.supervisor.private_files import replace_private

_NAME = "backup-status.json"


@dataclass(frozen=True, slots=True)
class BackupStatus:
    """When the last backup that succeeded began, its path, and the last failure with its text.

    Times are in epoch seconds; ``None`` is never. ``is_failing`` until a backup succeeds again.
    """

    success: float | None = None
    path: str = ""
    failure: float | None = None
    text: str = ""
    is_failing: bool = False


def backup_status(data_dir: Path) -> BackupStatus:
    """Return the status of the scheduled backups of a data directory."""
    with suppress(OSError, ValueError, TypeError):
        return BackupStatus(**json.loads((data_dir / _NAME).read_bytes()))
    return BackupStatus()


def backup_alarms(data_dir: Path) -> Mapping[str, str]:
    """Tell what the administrator has to know about the scheduled backups."""
    status = backup_status(data_dir)
    if not status.is_failing:
        return {}
    return {"backup": f"The scheduled backup failed: {status.text}. Older backups stay."}


def write_status(data_dir: Path, status: BackupStatus) -> None:
    """Replace the status; raises OSError."""
    replace_private(data_dir / _NAME, json.dumps(asdict(status)))
