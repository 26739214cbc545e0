"""Claim idempotency keys: a request repeated under the same key is answered again, not sent again.

Spec 4.1. A key is claimed before anything is stored. The claim fixes the transmission's id, and all
parts of a transmission derive from that id: when a process dies between claim and answer, the next
request under the key takes the claim over after ``CLAIM_SECONDS`` and repeats the same
transmission, which changes nothing that was already done. A request that is refused gives its key
back, unless another request has taken the key over, or the transmission was accepted before.

Access patterns of ``transmissions``:

- the claim of a key → ``idempotency#<account>#<subaccount>#<key>`` / ``idempotency``

Access patterns of ``bucket``:

- the answer to a request, if it is large → ``transmissions/<transmission id>/answer``
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any, NotRequired

from chalicelib.core import blobs, clock, ids
from chalicelib.core.dynamo import Attributes, ConditionFailed, Keyed, Table
from chalicelib.core.errors import (
    ApiError,
    idempotency_key_used,
    idempotent_request_in_progress,
    invalid_idempotency_key,
)
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.transmissions.model import LONGEST_AHEAD_MS
from chalicelib.transmissions.store import transmissions


class AnswerBody(Attributes):
    """The body of an answer."""

    #: Compressed JSON, empty if it is large
    body: bytes
    #: The object of the bucket that holds a large body, else empty
    blob: str


class IdempotencyItem(Keyed):
    """The claim of an idempotency key, and the answer once there is one."""

    #: The SHA-256 of the request's body
    digest: str
    transmission_id: str
    #: When another request may take the claim over, in seconds
    lease: float
    #: The HTTP status of the answer
    status: NotRequired[int]
    #: As in ``AnswerBody``
    body: NotRequired[bytes]
    blob: NotRequired[str]
    expires: int


_transmissions: Table[IdempotencyItem] = Table("transmissions")

CLAIM_SECONDS = 60.0
RETENTION = 86_400
# A transmission may be accepted and its process die before the answer is stored; such a claim must
# outlast the latest possible start
_CLAIM_RETENTION = RETENTION + LONGEST_AHEAD_MS // 1000
_KEY = re.compile(r"[A-Za-z0-9._-]{1,255}")


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to send under a key, as the transmission ``transmission_id``.

    ``lease`` (seconds) tells it from a later claim, ``digest`` is that of the body.
    """

    pk: str
    transmission_id: str
    digest: str
    lease: float


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer to the first request under the key."""

    status: int
    body: Any


def check_key(key: str) -> None:
    """Raise 400 with code 1602 unless ``key`` is well-formed (spec 4.1, rule 1)."""
    if not _KEY.fullmatch(key):
        text = "Idempotency-Key must be 1 to 255 letters, digits, dots, underscores or hyphens"
        raise invalid_idempotency_key(text)


def claim(scope: Scope, key: str, body: Any) -> Claim | Replay:
    """Claim ``key`` for this body, or return the answer to the first request.

    Raises 409: 1600 if the key was used for another body, 1601 while the first is in progress.
    """
    pk = f"idempotency#{scope.account_id}#{scope.part or 0}#{key}"
    digest = _digest(body)
    now = clock.now()
    item: IdempotencyItem = {
        "pk": pk,
        "sk": "idempotency",
        "digest": digest,
        "transmission_id": ids.transmission_id(),
        "lease": now + CLAIM_SECONDS,
        "expires": int(now) + _CLAIM_RETENTION,
    }
    try:
        _transmissions.put(
            item,
            condition="attribute_not_exists(#pk) OR #expires <= :now",
            values={"now": int(now)},
        )
    except ConditionFailed as conflict:
        earlier: IdempotencyItem = conflict.item or item
        # The ids are the same where boto3 repeated this very write
        if earlier["transmission_id"] != item["transmission_id"]:
            return _claimed_before(earlier, digest, now)
    return _claim(item)


def complete(claim: Claim, answer: Replay, keep_from: float) -> None:
    """Store the answer for a day, counted from ``keep_from`` (seconds) if that is in the future.

    The whole record is written: whatever became of the claim meanwhile, the request was accepted.
    """
    _transmissions.put(
        {
            "pk": claim.pk,
            "sk": "idempotency",
            "digest": claim.digest,
            "transmission_id": claim.transmission_id,
            "lease": claim.lease,
            "status": answer.status,
            "expires": int(max(keep_from, clock.now())) + RETENTION,
            **_body_attributes(answer.body, claim.transmission_id),
        }
    )


def release(claim: Claim) -> None:
    """Give the key back, because the request was refused.

    The key stays claimed if this repeated a request that was accepted, so that nothing is sent
    twice.
    """
    if transmissions.get(claim.transmission_id) is not None:
        return
    try:
        _transmissions.delete(
            claim.pk,
            "idempotency",
            condition="#lease = :own AND attribute_not_exists(#status)",
            values={"own": claim.lease},
        )
    except ConditionFailed:
        return


def _body_attributes(body: Any, transmission_id: str) -> AnswerBody:
    """Return the attributes that hold an answer's body, after storing what does not fit."""
    data = zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 1)
    if len(data) <= settings().item_inline_bytes:
        return {"body": data, "blob": ""}
    key = f"transmissions/{transmission_id}/answer"
    blobs.put(key, data)
    return {"body": b"", "blob": key}


def _replay(record: IdempotencyItem) -> Replay:
    data = blobs.get(record["blob"]) if record["blob"] else record["body"]
    return Replay(record["status"], json.loads(zlib.decompress(data)))


def _claim(record: IdempotencyItem) -> Claim:
    return Claim(record["pk"], record["transmission_id"], record["digest"], record["lease"])


def _claimed_before(record: IdempotencyItem, digest: str, now: float) -> Claim | Replay:
    """Return the answer to an earlier request, or its claim if its process died."""
    if record["digest"] != digest:
        raise idempotency_key_used("the key was used with a different request")
    if "status" in record:
        return _replay(record)
    if record["lease"] > now:
        raise _in_progress()
    return _take_over(record, now)


def _take_over(record: IdempotencyItem, now: float) -> Claim:
    """Take the claim of a request that never came to its answer."""
    try:
        item = _transmissions.update(
            record["pk"],
            "idempotency",
            "SET #lease = :until",
            values={"until": now + CLAIM_SECONDS, "old": record["lease"]},
            condition="#lease = :old AND attribute_not_exists(#status)",
        )
    except ConditionFailed:
        raise _in_progress() from None
    return _claim(item)


def _in_progress() -> ApiError:
    return idempotent_request_in_progress("a request with the same key is in progress")


def _digest(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
