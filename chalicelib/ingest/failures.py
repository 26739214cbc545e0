"""Store the events of a batch that could not be ingested as a file, and sign the link to it.

The file is newline-delimited JSON: ``{"line": 17, "error": "...", "event": "<the line>"}``. It
holds only the first failures, as many as a reply can carry. The bucket removes it after the link
expires.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from chalicelib.core import blobs, clock, signing
from chalicelib.core.errors import NotFound
from chalicelib.core.settings import settings
from chalicelib.ingest.model import IngestBatch

PATH: Final = "/api/v1/ingest/failures"
MOST_BYTES: Final = 3 * 1024 * 1024

_PURPOSE = "ingest failures"
_LONGEST_EVENT = 2000


class Failure(NamedTuple):
    """A line that could not be ingested, and the reason."""

    line: int
    error: str
    text: str


class Failures:
    """The failures of a batch: how many, and the first of them as lines of the file."""

    def __init__(self) -> None:
        self.count = 0
        self._lines: list[bytes] = []
        self._room = MOST_BYTES

    def add(self, failure: Failure) -> None:
        """Add a failure."""
        self.count += 1
        line, error, text = failure
        view = {"line": line, "error": error, "event": text[:_LONGEST_EVENT]}
        data = json.dumps(view, separators=(",", ":")).encode()
        self._room -= len(data) + 1
        if self._room >= 0:
            self._lines.append(data)

    def store(self, batch: IngestBatch) -> None:
        """Store the file."""
        blobs.put(_key(batch.account_id, batch.id), zlib.compress(_file(self._lines)))


def expiry_ms(batch: IngestBatch) -> int:
    """Return when the link to a batch's failures expires."""
    return batch.taken_ms + settings().events_retention * 1000


def link(batch: IngestBatch) -> str:
    """Return the link to a batch's failures, which works without an API key."""
    content = [batch.account_id, batch.id, expiry_ms(batch)]
    return f"{settings().public_url}{PATH}/{signing.to_token(content, _PURPOSE)}"


def read(token: str) -> bytes:
    """Return the file of a link; raises 404 for a link that is not signed here or has expired."""
    try:
        account_id, batch_id, expires = signing.from_token(token, _PURPOSE)
    except signing.BadSignature:
        raise NotFound from None
    if clock.now_ms() >= expires:
        raise NotFound
    try:
        return zlib.decompress(blobs.get(_key(account_id, batch_id)))
    except blobs.BlobMissing:
        raise NotFound from None


def _file(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _key(account_id: int, batch_id: str) -> str:
    return f"ingest/{account_id}/{batch_id}"
