"""Keep the code of deployed functions beside the log that names it.

Repairs (MiniStack 1.5.33):

- MiniStack keeps archives beside its state, each once under the digest of its content, and removes
  those that the state it writes does not name. The store may not have that state yet.
- A function whose archive is lost is restored without code.
- MiniStack keeps the archive in memory once for each function, and unpacks it for each process that
  runs one. All functions of a stage have the same archive, of 64 MB.

Here an archive stays until the next start at which no function has it. Functions share it in
memory, and their processes share its files.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ministack.core import lambda_runtime
from ministack.services import lambda_svc

log = logging.getLogger(__name__)


def keep_in(directory: Path) -> None:
    """Have MiniStack write code to ``directory`` and read it from there, and remove none."""
    directory.mkdir(parents=True, exist_ok=True)
    lambda_svc.CODE_BLOB_DIR = str(directory)
    lambda_svc._prune_orphan_code_blobs = _keep_archives
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": SharedArchive})


class SharedArchive:
    """Stands in for ``zipfile.ZipFile``: an archive is unpacked once, and its files are linked.

    The copy of the archive at ``path`` is removed then.
    """

    _lock = threading.Lock()

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def __enter__(self) -> SharedArchive:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def namelist(self) -> list[str]:
        """Return the names of the files."""
        with zipfile.ZipFile(self._path) as archive:
            return archive.namelist()

    def extractall(self, target: str) -> None:
        """Let the files be below ``target``."""
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files = Path(tempfile.gettempdir()) / f"code-{digest}"
        with self._lock:
            if not files.exists():
                new = Path(tempfile.mkdtemp(prefix="code-"))
                with zipfile.ZipFile(self._path) as archive:
                    archive.extractall(new)
                # Their links stay with the processes that have them
                for former in files.parent.glob("code-*"):
                    if former != new:
                        shutil.rmtree(former, ignore_errors=True)
                new.rename(files)
        shutil.copytree(files, target, copy_function=os.link, dirs_exist_ok=True)
        self._path.unlink()


def share() -> None:
    """Let functions with the same code have it in memory once."""
    archives: dict[str, bytes] = {}
    for function in lambda_svc._functions._data.values():
        for version in (function, *function.get("versions", {}).values()):
            if isinstance(code := version.get("code_zip"), bytes):
                version["code_zip"] = archives.setdefault(version["config"]["CodeSha256"], code)


def _keep_archives(digests: set[str]) -> None:
    pass


def remove_unused(directory: Path) -> None:
    """Remove the archives that no function has."""
    digests = {hashlib.sha256(code).hexdigest() for code in _archives()}
    for archive in directory.iterdir():
        if archive.stem not in digests:
            archive.unlink()


def _archives() -> Iterator[bytes]:
    for function in lambda_svc._functions._data.values():
        for version in (function, *function.get("versions", {}).values()):
            if isinstance(code := version.get("code_zip"), bytes):
                yield code


def restore_lost_code() -> None:
    """Fetch lost code again from the object that a function was deployed from, if it is the same.

    Without code a function would answer every call, and take every message, without doing anything.
    """
    fetched: dict[tuple[str, str], tuple[bytes | None, str]] = {}
    for function in lambda_svc._functions._data.values():
        if function.get("code_zip") or not (source := _source(function)):
            continue
        if source not in fetched:
            code = lambda_svc._fetch_code_from_s3(*source)
            fetched[source] = code, _digest(code or b"")
        code, digest = fetched[source]
        if code and digest == function["config"]["CodeSha256"]:
            function["code_zip"] = code
            name = function["config"]["FunctionName"]
            log.warning("restored the lost code of %s from %s of %s", name, *source[::-1])


def _source(function: dict[str, Any]) -> tuple[str, str] | None:
    """Return bucket and key of a function's code: those of its last update, else of creation."""
    updated = function.get("s3_object_ref") or {}
    bucket = updated.get("S3Bucket") or function.get("code_s3_bucket")
    key = updated.get("S3Key") or function.get("code_s3_key")
    return (bucket, key) if bucket and key else None


def _digest(code: bytes) -> str:
    return base64.b64encode(hashlib.sha256(code).digest()).decode()
