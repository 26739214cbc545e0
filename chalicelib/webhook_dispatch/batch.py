"""Build the queue messages of batches, and describe their heads.

The payload of a message is the body that is posted, byte for byte, at every attempt. A batch id
begins with the time, so that ids grow, and ends with a digest of webhook and body, so that the same
events at the same time make the same batch again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.core.queues import Work
from chalicelib.webhooks import payload

QUEUE: Final = "webhook-batches"

MOST_EVENTS: Final = 350
#  The largest body that common servers accept by default (1 MiB), less a margin
MOST_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class BatchHead:
    """The head of a batch's message. Times are in milliseconds.

    ``attempts`` counts failed posts, ``waits`` how often the batch was postponed since the last of
    them, ``round`` the redeliveries that were requested, and ``earlier_attempts`` the failed posts
    of the rounds before. Only messages of version 0.1.0 have a ``not_before`` (goes with 0.3.0):
    delays are no part of the head any more.
    """

    account_id: int
    webhook_id: str
    batch_id: str
    size: int
    begun_ms: int
    attempts: int = 0
    waits: int = 0
    round: int = 0
    not_before: float = 0.0
    earlier_attempts: int = 0

    @property
    def all_attempts(self) -> int:
        """Return the failed posts of all rounds, as the batch status shows them (spec 2.10)."""
        return self.earlier_attempts + self.attempts

    def as_json(self) -> Json:
        """Return the head of the queue message."""
        return asdict(self)


def read_head(head: Json) -> BatchHead:
    """Return the head that :meth:`BatchHead.as_json` wrote."""
    return BatchHead(**head)


def batches_of(
    account_id: int, webhook_id: str, elements: Sequence[bytes], at_ms: int
) -> Iterator[Work[Json]]:
    """Yield the messages of the batches that these events fill; ``at_ms`` is when the last came."""
    for part in _cut(elements):
        body = payload.batch(part)
        digest = hashlib.sha256(f"{webhook_id}\0".encode() + body).hexdigest()
        batch_id = f"{at_ms:012x}{digest[:20]}"
        head = BatchHead(account_id, webhook_id, batch_id, len(part), at_ms)
        yield Work(head.as_json(), body, tenant=account_id)


def _cut(elements: Sequence[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for element in elements:
        if part and (len(part) == MOST_EVENTS or size + len(element) > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(element)
        size += len(element) + 1
    if part:
        yield part
