"""Keep the history of a batch's attempts in a few bytes beside its status.

The status of a batch is its latest attempt, so only the beginning of the target's answer is stored
with it. The attempts before that one are compressed together: a target that fails gives the same
answer every time. A batch that is accepted at once has none, and costs no more than its status.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import astuple, dataclass
from typing import Final

from chalicelib.webhooks.model import WebhookBatch

#: Attempts of a batch that are kept: those of its retry time, and of some redeliveries
MOST_ATTEMPTS: Final = 50


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST of a batch. ``at_ms`` is when it ended, ``latency`` its duration in milliseconds.

    ``answer`` is the beginning of the response's body as text; without a response
    ``response_code`` is ``None``, ``failure_code`` is a word and ``answer`` says why.
    """

    at_ms: int
    response_code: int | None
    failure_code: str
    latency: int
    answer: str = ""


def history(batch: WebhookBatch) -> tuple[Attempt, ...]:
    """Return the attempts of a batch that are kept, oldest first."""
    earlier = unpack(batch.earlier)
    if batch.response_code is None and not batch.failure_code:
        return earlier  # a redelivery that is not yet posted
    latest = Attempt(
        batch.at_ms, batch.response_code, batch.failure_code, batch.latency, batch.answer
    )
    return (*earlier, latest)


def pack(attempts: tuple[Attempt, ...]) -> bytes:
    """Return the latest attempts as the bytes to store, oldest first; none are no bytes."""
    if not attempts:
        return b""
    rows = [astuple(each) for each in attempts[-MOST_ATTEMPTS:]]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 6)


def unpack(content: bytes) -> tuple[Attempt, ...]:
    """Return the attempts that :func:`pack` packed."""
    return tuple(Attempt(*row) for row in json.loads(zlib.decompress(content))) if content else ()
