"""Keep the code of deployed functions beside the log that names it.

Repairs (MiniStack 1.5.33):

- MiniStack keeps archives beside its state, each once under the digest of its content, and removes
  those that the state it writes does not name. The log may not have that state yet.
- A function whose archive is lost is restored without code.

Here an archive stays until the next start at which no function has it.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ministack.services import lambda_svc

log = logging.getLogger(__name__)


def keep_in(directory: Path) -> None:
    """Have MiniStack write code to ``directory`` and read it from there, and remove none."""
    directory.mkdir(parents=True, exist_ok=True)
    lambda_svc.CODE_BLOB_DIR = str(directory)
    lambda_svc._prune_orphan_code_blobs = _keep_archives


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
