"""Describe a backup: its format, the versions that wrote it, its time, and how it is encrypted."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import chalicelib
from infrastructure.local.cloud import store
from infrastructure.machine.backup.errors import BackupError, DamagedArchive
from infrastructure.machine.backup.passphrase import SALT_BYTES, SecretBox

FORMAT = 1
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Description:
    """The first member of an archive, as JSON.

    ``format`` is that of the archive, ``postfinch`` the version that wrote it, ``database`` the
    version of the database, ``time`` (epoch seconds) the instant whose state the database has.
    ``salt`` and ``proof`` (hexadecimal) are there where secrets are encrypted.
    """

    format: int
    postfinch: str
    database: int
    time: float
    salt: str = ""
    proof: str = ""

    @property
    def is_encrypted(self) -> bool:
        """Tell whether the secrets are encrypted."""
        return bool(self.salt)

    @property
    def date(self) -> str:
        """Return the time of the copy for people, in UTC."""
        return datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    def to_json(self) -> bytes:
        """Return the content of the member."""
        return json.dumps(asdict(self), indent=1).encode() + b"\n"

    def open_box(self, passphrase: str) -> SecretBox | None:
        """Return what opens the secrets, if they are encrypted.

        Raises :class:`BackupError` if the passphrase is missing or wrong.
        """
        if not self.is_encrypted:
            return None
        if not passphrase:
            raise BackupError("the secrets in this backup are encrypted: set BACKUP_PASSPHRASE")
        box = SecretBox(passphrase, bytes.fromhex(self.salt))
        box.check(bytes.fromhex(self.proof))
        return box


def describe(time: float, box: SecretBox | None) -> Description:
    """Describe a backup that this version makes."""
    salt, proof = (box.salt.hex(), box.proof().hex()) if box else ("", "")
    return Description(FORMAT, chalicelib.__version__, store.VERSION, time, salt, proof)


def read_description(content: bytes) -> Description:
    """Read the first member; raises :class:`BackupError` for an archive of a newer version."""
    try:
        members = json.loads(content)
        if members["format"] == FORMAT:
            description = Description(**members)
            _check(description)
        else:
            description = Description(int(members["format"]), str(members["postfinch"]), 0, 0.0)
    except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
        raise DamagedArchive("its description cannot be read") from None
    if description.format != FORMAT or description.database > store.VERSION:
        version = description.postfinch
        name = f"Postfinch {version}" if _VERSION.fullmatch(version) else "another version"
        raise BackupError(f"the backup was made by {name}, which is newer than this version")
    return description


def _check(description: Description) -> None:
    """Raise ValueError for what no version writes."""
    if not (type(description.database) is int and type(description.time) in (int, float)):
        raise ValueError
    if bytes.fromhex(description.salt) and len(description.salt) != 2 * SALT_BYTES:
        raise ValueError
    bytes.fromhex(description.proof)
    if description.date and not isinstance(description.postfinch, str):
        raise ValueError
