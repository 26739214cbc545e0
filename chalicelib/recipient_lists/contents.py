"""The recipients of a list: compressed parts in the bucket, one thousand recipients in each.

Access patterns (bucket):

- one part of a version → ``lists/<account>/<list id>/<version>/<part>``

A version is written whole before a record names it and is never changed, so its parts can be read
without a lock. Writing and reading hold one part at a time. A crash between writing a version and
naming it, or between naming another and removing it, leaves objects that nothing reads.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from chalicelib.core import blobs
from chalicelib.recipient_lists.model import PART_RECIPIENTS, RecipientList

Json = dict[str, Any]

_FASTEST = 1


@dataclass(frozen=True, slots=True)
class Written:
    """A version that was written: its name, and how many recipients and parts it has."""

    account_id: int
    list_id: str
    version: str
    count: int
    parts: int


def write(account_id: int, list_id: str, recipients: Iterable[Json]) -> Written:
    """Store recipients as a new version; what it holds of them at a time is one part."""
    version, count, parts = secrets.token_hex(12), 0, 0
    remaining = iter(recipients)
    while part := list(islice(remaining, PART_RECIPIENTS)):
        text = json.dumps(part, separators=(",", ":"), ensure_ascii=False)
        blobs.put(_key(account_id, list_id, version, parts), zlib.compress(text.encode(), _FASTEST))
        count, parts = count + len(part), parts + 1
    return Written(account_id, list_id, version, count, parts)


def of(found: RecipientList) -> Written:
    """Return the version that a list has."""
    return Written(found.account_id, found.id, found.version, found.count, found.parts)


def read(written: Written, start: int = 0) -> Iterator[list[Json]]:
    """Yield the recipients part by part, from part ``start`` on.

    Raises ``BlobMissing`` when the version was removed meanwhile.
    """
    for part in range(start, written.parts):
        yield json.loads(zlib.decompress(blobs.get(_key_of(written, part))))


def remove(written: Written) -> None:
    """Delete a version that no record names any more; its first part goes first."""
    for part in range(written.parts):
        blobs.delete(_key_of(written, part))


def _key_of(written: Written, part: int) -> str:
    return _key(written.account_id, written.list_id, written.version, part)


def _key(account_id: int, list_id: str, version: str, part: int) -> str:
    return f"lists/{account_id}/{list_id}/{version}/{part}"
