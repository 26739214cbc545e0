"""Keep the code of deployed functions inside the snapshot whose functions run it.

Repairs (MiniStack 1.5.33):

- MiniStack keeps archives beside its state, each once under the digest of its content, and removes
  those that the state it writes does not name. An older snapshot would lose its code.
- A function whose archive is lost is restored without code.

Here every snapshot has an archive directory of its own, so that it is complete whatever becomes of
the others. An archive that it shares with the snapshot before is the same file under a second name.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ministack.services import lambda_svc

log = logging.getLogger(__name__)

_DIRECTORY = "lambda-blobs"


def read_from(snapshot: Path) -> None:
    """Have MiniStack read the code of functions from ``snapshot``."""
    lambda_svc.CODE_BLOB_DIR = str(snapshot / _DIRECTORY)


def keep_in(snapshot: Path, before: Path) -> None:
    """Have MiniStack write code to ``snapshot``, and only what the snapshot ``before`` lacks."""
    directory = snapshot / _DIRECTORY
    directory.mkdir()
    for archive in (before / _DIRECTORY).glob("*.zip"):
        # Where a file cannot have two names it is written again.
        with suppress(OSError):
            os.link(archive, directory / archive.name)
    read_from(snapshot)


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
