"""Read and write many items at a time, and repeat what DynamoDB leaves unprocessed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from chalicelib.core import aws
from chalicelib.core.dynamo.codec import decode_item, encode_item, encode_key
from chalicelib.core.dynamo.items import AnyItem, Key
from chalicelib.core.retry import Backoff

READ_BATCH: Final = 100
WRITE_BATCH: Final = 25


def write_batches(
    items: Sequence[tuple[str, Mapping[str, Any]]], deletions: Sequence[tuple[str, Key]]
) -> None:
    """Write and delete items, each with its table's full name, 25 a request, in their order."""
    requests = [(table, {"PutRequest": {"Item": encode_item(item)}}) for table, item in items]
    requests += [(table, {"DeleteRequest": {"Key": encode_key(*key)}}) for table, key in deletions]
    for start in range(0, len(requests), WRITE_BATCH):
        batch: dict[str, list[Any]] = {}
        for table, request in requests[start : start + WRITE_BATCH]:
            batch.setdefault(table, []).append(request)
        _write_batch(batch)


def read_batches(
    keys: Sequence[tuple[str, Key]], consistent: Mapping[str, bool]
) -> Iterator[tuple[str, AnyItem]]:
    """Yield the items that exist among ``keys``, each with its table's full name, 100 a request.

    The keys are named with their table; ``consistent`` says which tables are read consistently.
    """
    for start in range(0, len(keys), READ_BATCH):
        request: Any = {}
        for table, key in keys[start : start + READ_BATCH]:
            part = request.setdefault(table, {"Keys": []})
            part["Keys"].append(encode_key(*key))
            if consistent[table]:
                part["ConsistentRead"] = True
        yield from _read_batch(request)


def backoff() -> Iterator[float]:
    """Yield growing pauses (seconds) before what DynamoDB left over is sent again: 6 s in all.

    They are random, so that requests that got into each other's way do not meet again.
    """
    return Backoff(0.025, jitter=0.5).pauses(8)


def _write_batch(pending: Any) -> None:
    tables = ", ".join(pending)
    for pause in backoff():
        pending = aws.dynamodb().batch_write_item(RequestItems=pending)["UnprocessedItems"]
        if not pending:
            return
        time.sleep(pause)
    raise aws.Overloaded(f"{tables}: writes were refused for too long")


def _read_batch(pending: Any) -> Iterator[tuple[str, AnyItem]]:
    for pause in backoff():
        response: Any = aws.dynamodb().batch_get_item(RequestItems=pending)
        for table, items in response["Responses"].items():
            yield from ((table, decode_item(item)) for item in items)
        pending = response["UnprocessedKeys"]
        if not pending:
            return
        time.sleep(pause)
    raise aws.Overloaded(f"{', '.join(pending)}: reads were refused for too long")
