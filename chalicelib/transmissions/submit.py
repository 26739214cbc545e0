"""Submission: a transmission and its recipients are stored and queued, wholly or not at all.

The common case, one chunk, needs two requests: the record is stored, then the chunk is queued with
the transmission inside it. Several chunks cannot be queued in one step, so the record is stored as
``accepting`` first; generation holds back the chunks until it is ``submitted``, and drops them if
the request never came to its end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from chalicelib.core import packing, queues
from chalicelib.core.queues import Work
from chalicelib.core.settings import settings
from chalicelib.transmissions import store
from chalicelib.transmissions.model import ACCEPTING, SUBMITTED, Transmission

Json = dict[str, Any]

QUEUE = "generation"

# What a message grows by: headers, encoding, signature, tracking
_OVERHEAD_BYTES = 4096


def submit(transmission: Transmission, recipients: Sequence[Json]) -> None:
    """Store ``transmission`` and queue its chunks; when it returns, nothing can be lost."""
    packed = transmission.packed()
    size = _chunk_size(len(packed))
    chunks = [recipients[i : i + size] for i in range(0, len(recipients), size)]
    if len(chunks) == 1:
        store.put(transmission, packed, state=SUBMITTED, recipients=len(recipients))
        queues.send(QUEUE, [_work(transmission, 0, 0, chunks[0], [packed])])
        return
    store.put(transmission, packed, state=ACCEPTING, recipients=len(recipients))
    queues.send(
        QUEUE,
        (_work(transmission, i, i * size, chunk, []) for i, chunk in enumerate(chunks)),
    )
    store.commit(transmission.id)


def _chunk_size(packed_bytes: int) -> int:
    fitting = settings().chunk_bytes // (packed_bytes + _OVERHEAD_BYTES)
    return max(1, min(settings().chunk_recipients, fitting))


def _work(
    transmission: Transmission,
    number: int,
    first_index: int,
    recipients: Sequence[Json],
    inside: list[bytes],
) -> Work:
    head = {
        "transmission": transmission.id,
        "chunk": number,
        "first_index": first_index,
        "created_ms": transmission.created_ms,
    }
    text = json.dumps(recipients, separators=(",", ":"), ensure_ascii=False)
    return Work(head, packing.pack(None, [text.encode("utf-8", "surrogatepass"), *inside]))
