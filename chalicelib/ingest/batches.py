"""Batches: what is taken of a request, and the lines in it.

A batch is newline-delimited JSON, gzipped or plain, of at most 5 MB as it is sent. It is checked to
be whole and of a bearable size before it is taken; what its lines say is checked when they are
worked off.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from chalicelib.core import clock, queues
from chalicelib.core.errors import TooLarge, invalid_params
from chalicelib.core.queues import Received, Work
from chalicelib.core.scope import Scope

QUEUE: Final = "ingest"
MOST_BYTES: Final = 5 * 1024 * 1024
#: Bytes of a batch when it is unpacked, at most: a few gzipped bytes can stand for gigabytes
MOST_UNPACKED: Final = 64 * 1024 * 1024
#: Bytes of an event, at most
LONGEST_LINE: Final = 512 * 1024

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
_STEP = 256 * 1024
#: Packed bytes that are handed over at a time: what a member leaves of them is copied
_PACKED_STEP = 16 * 1024


class _Damaged(Exception):
    """The bytes are no gzip file, or not all of one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of an account, or of its subaccount, and when it was taken."""

    id: str
    account_id: int
    subaccount_id: int | None
    taken_ms: int

    @classmethod
    def of(cls, message: Received) -> Batch:
        """Read the head of a queue message."""
        return cls(**message.head)

    def head(self) -> dict[str, Any]:
        """Return the head of the batch's queue message."""
        return {name: getattr(self, name) for name in self.__slots__}


def take(scope: Scope, body: bytes) -> str:
    """Queue a batch to be worked off; return its id.

    Raises 400 for one that holds no lines or is damaged, and 413 for one that is too large.
    """
    if len(body) > MOST_BYTES:
        raise TooLarge(f"a batch has at most {MOST_BYTES} bytes")
    _check(body)
    batch = Batch(str(uuid4()), scope.account_id, scope.owner, clock.now_ms())
    queues.send(QUEUE, [Work(batch.head(), body)])
    return batch.id


def lines(body: bytes) -> Iterator[bytes]:
    """Yield the lines of a batch, empty ones as well: their numbers are told to people."""
    rest = b""
    for part in _unpacked(body):
        *whole, rest = (rest + part).split(b"\n")
        yield from whole
    if rest:
        yield rest


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
                packed = rest[:_PACKED_STEP]
                part = unpacker.decompress(packed, _STEP)
                left = len(unpacker.unconsumed_tail) + len(unpacker.unused_data)
                rest = rest[len(packed) - left :]
                if not (part or rest or unpacker.eof):
                    raise _Damaged("it ends too early")
                yield part
        except zlib.error as error:
            raise _Damaged(str(error)) from None
