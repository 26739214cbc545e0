"""Accept a batch of events, and read its lines.

A batch is newline-delimited JSON, gzipped or plain, of at most 5 MB as it is sent. It is accepted
if it is complete and not too large when it is unpacked. Its events are checked later, when it is
processed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final
from uuid import uuid4

from chalicelib.core import audit, clock, dynamo, queues
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import TooLarge, invalid_params
from chalicelib.core.queues import Work
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.ingest.model import IngestBatch

QUEUE: Final = "ingest"
MOST_BYTES: Final = 5 * 1024 * 1024
#: Most bytes of an unpacked batch: a few gzipped bytes can stand for gigabytes
MOST_UNPACKED: Final = 64 * 1024 * 1024
#: Most bytes of an event
LONGEST_LINE: Final = 512 * 1024

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
_STEP = 256 * 1024
#: Packed bytes that are unpacked at a time: those after the end of a member are copied
_PACKED_STEP = 16 * 1024


class _Damaged(Exception):
    """The bytes are not a complete gzip file."""


def accept(scope: Scope, body: bytes) -> str:
    """Queue a batch; return its id.

    Raises 400 for a batch that holds no lines or is damaged, and 413 for one that is too large.
    """
    if len(body) > MOST_BYTES:
        raise TooLarge(f"a batch has at most {MOST_BYTES} bytes")
    _check(body)
    batch = IngestBatch(str(uuid4()), scope.account_id, scope.owner, clock.now_ms())
    for line in _line(batch, body):
        dynamo.write(line)
    queues.send(QUEUE, [Work(batch.head(), body, tenant=scope.account_id)])
    return batch.id


def lines(body: bytes) -> Iterator[bytes]:
    """Yield the lines of a batch, empty ones included, because failures name lines by number."""
    rest = b""
    for part in _unpacked(body):
        *complete, rest = (rest + part).split(b"\n")
        yield from complete
    if rest:
        yield rest


def _line(batch: IngestBatch, body: bytes) -> list[Write]:
    """Return the action that writes the line of a batch in the audit log, if it gets one.

    It would be a request more than the one to the queue. Batches that come by API key, one after
    the other, get it only where each single send does (``AUDIT_SENDS``).
    """
    if audit.actor().type == "key" and settings().audit_sends != "all":
        return []
    return audit.line(batch.id, None, {"bytes": len(body)})


def _check(body: bytes) -> None:
    size, is_blank, line = 0, True, 0
    try:
        for part in _unpacked(body):
            size += len(part)
            is_blank = is_blank and not part.strip()
            if size > MOST_UNPACKED:
                raise TooLarge(f"a batch has at most {MOST_UNPACKED} bytes when it is unpacked")
            line = line + len(part) if b"\n" not in part else len(part) - part.rindex(b"\n")
            if line > LONGEST_LINE:
                raise TooLarge(f"an event has at most {LONGEST_LINE} bytes")
    except _Damaged as fault:
        raise invalid_params(f"the batch cannot be unpacked: {fault}") from None
    if is_blank:
        raise invalid_params("the batch holds no events")


def _unpacked(body: bytes) -> Iterator[bytes]:
    """Yield the bytes of a batch part by part; a gzip file may have several members (RFC 1952)."""
    if not body.startswith(_GZIP):
        yield from (body[start : start + _STEP] for start in range(0, len(body), _STEP))
        return
    rest = memoryview(body)
    while rest:
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        try:
            while not unpacker.eof:
                chunk = rest[:_PACKED_STEP]
                part = unpacker.decompress(chunk, _STEP)
                unused = len(unpacker.unconsumed_tail) + len(unpacker.unused_data)
                rest = rest[len(chunk) - unused :]
                if not (part or rest or unpacker.eof):
                    raise _Damaged("it ends too early")
                yield part
        except zlib.error as error:
            raise _Damaged(str(error)) from None
