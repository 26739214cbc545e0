"""Store the recipients of a list in the bucket, in compressed parts of a thousand recipients.

Access patterns of ``bucket``:

- one part of a version → ``lists/<account>/<list id>/<version>/<part>``

All parts of a version are written before a record names it, and they never change, so they are read
without a lock. Writing and reading hold one part in memory at a time. A crash between writing a
version and naming it, or between naming another and removing this one, leaves objects that nothing
reads.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from chalicelib.core import blobs
from chalicelib.recipient_lists.model import PART_RECIPIENTS, RecipientList
from chalicelib.recipient_lists.stored_form import StoredRecipient, decode, iterate, join

_FASTEST = 1


@dataclass(frozen=True, slots=True)
class ListVersion:
    """One version of a list's recipients: its name, and how many recipients and parts it has."""

    account_id: int
    list_id: str
    name: str
    count: int
    parts: int


def write(account_id: int, list_id: str, recipients: Iterable[bytes]) -> ListVersion:
    """Store encoded recipients as a new version; memory holds one part of them at a time."""
    name, count, parts = secrets.token_hex(12), 0, 0
    remaining = iter(recipients)
    while part := list(islice(remaining, PART_RECIPIENTS)):
        data = zlib.compress(join(part), _FASTEST)
        blobs.put(_key(account_id, list_id, name, parts), data)
        count, parts = count + len(part), parts + 1
    return ListVersion(account_id, list_id, name, count, parts)


def version_of(recipient_list: RecipientList) -> ListVersion:
    """Return the version that a list has."""
    return ListVersion(
        recipient_list.account_id,
        recipient_list.id,
        recipient_list.version,
        recipient_list.count,
        recipient_list.parts,
    )


def read(version: ListVersion, start: int = 0) -> Iterator[Iterator[StoredRecipient]]:
    """Yield the recipients part by part, from part ``start`` on, and decode them one by one.

    Raises ``BlobMissing`` when the version was removed meanwhile.
    """
    for part in range(start, version.parts):
        array = zlib.decompress(blobs.get(_key_of(version, part)))
        yield map(decode, iterate(array))


def remove(version: ListVersion) -> None:
    """Delete a version that no record names any more; its first part goes first."""
    for part in range(version.parts):
        blobs.delete(_key_of(version, part))


def _key_of(version: ListVersion, part: int) -> str:
    return _key(version.account_id, version.list_id, version.name, part)


def _key(account_id: int, list_id: str, version: str, part: int) -> str:
    return f"lists/{account_id}/{list_id}/{version}/{part}"
