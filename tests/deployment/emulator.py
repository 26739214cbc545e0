"""Run MiniStack, which unpacks an archive once for all workers of its functions.

MiniStack unpacks it for each worker, which takes longer than starting the worker. Here a worker's
folder holds links to the files, as its functions only read them. The script takes the place of
``python -m ministack``, whose environment the functions inherit: so they cannot import the tests.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

from ministack.app import main
from ministack.core import lambda_runtime

# The folder of each archive, by its digest
_folders: dict[str, Path] = {}
_lock = threading.Lock()


class Archive:
    """The archive of a function, in place of :class:`zipfile.ZipFile`."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def extractall(self, folder: str) -> None:
        """Let a folder hold what the archive holds."""
        for entry in self._files().iterdir():
            (Path(folder) / entry.name).symlink_to(entry)

    def _files(self) -> Path:
        digest = hashlib.sha256(self._path.read_bytes()).hexdigest()
        with _lock:
            if digest not in _folders:
                folder = Path(tempfile.mkdtemp(prefix="unpacked-"))
                with zipfile.ZipFile(self._path) as archive:
                    archive.extractall(folder)
                _folders[digest] = folder
            return _folders[digest]


if __name__ == "__main__":
    names = {name: getattr(zipfile, name) for name in ("BadZipFile", "LargeZipFile")}
    lambda_runtime.zipfile = SimpleNamespace(ZipFile=Archive, **names)  # type: ignore[attr-defined]
    main()
