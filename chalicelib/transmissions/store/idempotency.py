"""Idempotent sends: a request repeated under the same key is answered again, not sent again.

Spec 4.1. A key is claimed before anything is stored. The claim fixes the transmission's id, and all
that a transmission consists of derives from that id: when a process dies between claim and answer,
the next request under the key takes the claim over after ``CLAIM_SECONDS`` and repeats the same
transmission, which changes nothing that was already done. A request that is refused gives its key
back, unless another has taken it over, or the refused one itself had taken over what was sent.

Access patterns (table ``transmissions``):

- the claim of a key → ``pk = idempotency#<account>#<subaccount>#<key>``, ``sk = idempotency``
- an answer that is large → object ``transmissions/<transmission id>/answer``
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any

from chalicelib.core import blobs, clock, ids
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.errors import (
    ApiError,
    idempotency_key_used,
    idempotent_request_in_progress,
    invalid_idempotency_key,
)
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.transmissions.start_time import LONGEST_AHEAD_MS
from chalicelib.transmissions.store import transmissions

_transmissions = Table("transmissions")

CLAIM_SECONDS = 60.0
RETENTION = 86_400
# What it claims may be accepted without an answer being kept, and start as late as that
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
    """The answer that the first request under the key was given."""

    status: int
    body: Any


def check_key(key: str) -> None:
    """Raise 400 with code 1602 unless ``key`` is well-formed (spec 4.1, rule 1)."""
    if not _KEY.fullmatch(key):
        text = "Idempotency-Key must be 1 to 255 letters, digits, dots, underscores or hyphens"
        raise invalid_idempotency_key(text)


def claim(scope: Scope, key: str, body: Any) -> Claim | Replay:
    """Claim ``key`` for this body, or return the answer it was given before.

    Raises 409: 1600 if the key was used for another body, 1601 while the first is in progress.
    """
    pk = f"idempotency#{scope.account_id}#{scope.part or 0}#{key}"
    digest = _digest(body)
    now = clock.now()
    fresh: Item = {
        "pk": pk,
        "sk": "idempotency",
        "digest": digest,
        "transmission_id": ids.transmission_id(),
        "lease": now + CLAIM_SECONDS,
        "expires": int(now) + _CLAIM_RETENTION,
    }
    try:
        _transmissions.put(
            fresh,
            condition="attribute_not_exists(#pk) OR #expires <= :now",
            values={"now": int(now)},
        )
    except ConditionFailed as found:
        record = found.item or fresh
        if record["transmission_id"] != fresh["transmission_id"]:  # else the client wrote it twice
            return _found(record, digest, now)
    return _claim(fresh)


def complete(claimed: Claim, answer: Replay, keep_from: float) -> None:
    """Keep the answer for a day, from ``keep_from`` (seconds) on if that is still to come.

    The whole record is written: whatever became of the claim meanwhile, the request was accepted.
    """
    _transmissions.put(
        {
            "pk": claimed.pk,
            "sk": "idempotency",
            "digest": claimed.digest,
            "transmission_id": claimed.transmission_id,
            "lease": claimed.lease,
            "status": answer.status,
            "expires": int(max(keep_from, clock.now())) + RETENTION,
            **_stored(answer.body, claimed.transmission_id),
        }
    )


def release(claimed: Claim) -> None:
    """Give the key back: the request was refused.

    It is kept where this repeated a request that was accepted: what was sent is not sent again.
    """
    if transmissions.get(claimed.transmission_id) is not None:
        return
    try:
        _transmissions.delete(
            claimed.pk,
            "idempotency",
            condition="#lease = :own AND attribute_not_exists(#status)",
            values={"own": claimed.lease},
        )
    except ConditionFailed:
        return


def _stored(body: Any, transmission_id: str) -> Item:
    """Return the attributes that hold an answer's body, after storing what does not fit."""
    packed = zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 1)
    if len(packed) <= settings().item_inline_bytes:
        return {"body": packed, "blob": ""}
    key = f"transmissions/{transmission_id}/answer"
    blobs.put(key, packed)
    return {"body": b"", "blob": key}


def _replay(record: Item) -> Replay:
    packed = blobs.get(record["blob"]) if record["blob"] else record["body"]
    return Replay(record["status"], json.loads(zlib.decompress(packed)))


def _claim(record: Item) -> Claim:
    return Claim(record["pk"], record["transmission_id"], record["digest"], record["lease"])


def _found(record: Item, digest: str, now: float) -> Claim | Replay:
    if record["digest"] != digest:
        text = "the key was used with a different request"
        raise idempotency_key_used(text)
    if "status" in record:
        return _replay(record)
    if record["lease"] > now:
        raise _in_progress()
    return _take_over(record, now)


def _take_over(record: Item, now: float) -> Claim:
    """Take the claim of a request that never came to its answer."""
    try:
        taken = _transmissions.update(
            record["pk"],
            "idempotency",
            "SET #lease = :until",
            values={"until": now + CLAIM_SECONDS, "found": record["lease"]},
            condition="#lease = :found AND attribute_not_exists(#status)",
        )
    except ConditionFailed:
        raise _in_progress() from None
    return _claim(taken)


def _in_progress() -> ApiError:
    text = "a request with the same key is in progress"
    return idempotent_request_in_progress(text)


def _digest(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
