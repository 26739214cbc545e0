"""Read the files of the console, each when it is first asked for, with its digest and packed form.

The files are in the folder `console` beside `app.py`, here and in the deployed package. A process
keeps what it has read until the file changes.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chalicelib.core import caches

PREFIX: Final = "/console"
DOCS: Final = "/docs"
FOLDER = Path(__file__).resolve().parents[2] / "console"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
# No name begins with a dot, so that no path leads out of the folder.
_NAME = re.compile(r"[a-z0-9_-][a-z0-9._-]*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    """One file: its bytes, the same bytes packed with gzip, its media type and its ETag."""

    content: bytes
    packed: bytes
    media_type: str
    etag: str


_files: dict[Path, tuple[int, ConsoleFile]] = {}
caches.register(_files.clear)


def read(*names: str) -> ConsoleFile | None:
    """Return the file at a path below the folder, such as ``("vendor", "preact.js")``."""
    path = FOLDER.joinpath(*names)
    media_type = _TYPES.get(path.suffix)
    if media_type is None or not all(_NAME.fullmatch(name) for name in names):
        return None
    try:
        changed = path.stat().st_mtime_ns
        entry = _files.get(path)
        if entry is None or entry[0] != changed:
            entry = _files[path] = (changed, _load(path, media_type))
    except OSError:
        return None
    return entry[1]


def _load(path: Path, media_type: str) -> ConsoleFile:
    content = path.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return ConsoleFile(content, gzip.compress(content, 9, mtime=0), media_type, etag)
