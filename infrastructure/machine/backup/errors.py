"""Name what a backup or a restoration cannot do, in one line for the operator."""

from __future__ import annotations


class BackupError(Exception):
    """A backup cannot be made or restored; the message is one line for the operator."""


class DamagedArchive(BackupError):
    """An archive is not as it was written."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the backup is damaged: {detail}")
