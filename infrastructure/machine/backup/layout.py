"""State which files of a data directory a backup has, and which of them are secrets.

An archive has the paths of the data directory, and three members of its own: what the backup is
(first), the configuration file of the machine, and the listing (last).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chalicelib.delivery.store.journal_files import OPEN
from infrastructure.local.cloud import store
from infrastructure.local.cloud.state import OBJECTS
from infrastructure.local.cloud.store import ARCHIVES

CLOUD: Final = "cloud"
DATABASE: Final = f"{CLOUD}/{store.NAME}"
JOURNAL: Final = "journal"
#: The configuration file has its place outside of the data directory
CONFIGURATION: Final = "postfinch.toml"
DESCRIPTION: Final = "backup.json"
LISTING: Final = "listing.jsonl"

#: Files and folders that whoever has the backup must not be able to read
SECRETS: Final = ("secret.key", "api_key", "tls", CONFIGURATION)

_PATHS = re.compile(
    rf"{CLOUD}/{re.escape(store.NAME)}"
    rf"|{CLOUD}/{OBJECTS}/[0-9a-f]{{2}}/[0-9a-f]{{30}}"
    rf"|{CLOUD}/{ARCHIVES}/[\w-][\w.-]*"
    rf"|{JOURNAL}/[\w-][\w.-]*{re.escape(OPEN)}"
    rf"|secret\.key|api_key|tls(/[\w@*-][\w.@*-]*)+|{re.escape(CONFIGURATION)}",
    re.ASCII,
)


def is_restorable(path: str) -> bool:
    """Tell whether an archive may have this path; none of these leads out of a folder."""
    return _PATHS.fullmatch(path) is not None


def is_secret(path: str) -> bool:
    """Tell whether the content of this path is encrypted where there is a passphrase."""
    return path.partition("/")[0] in SECRETS


def object_path(file: str) -> str:
    """Return the path of an object's file, by the name that the database has for it."""
    return f"{CLOUD}/{OBJECTS}/{file[:2]}/{file[2:]}"


def small_files(data_dir: Path) -> Iterator[str]:
    """Yield the paths of keys, certificates and archives that exist."""
    for name in ("secret.key", "api_key", "tls", f"{CLOUD}/{ARCHIVES}"):
        path = data_dir / name
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for each in files:
            text = each.relative_to(data_dir).as_posix()
            if each.is_file() and is_restorable(text):
                yield text
