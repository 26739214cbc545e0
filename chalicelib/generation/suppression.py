"""Recipients who must not get a message of this kind (spec 2.9): looked up for a whole chunk.

Such a recipient was accepted and is counted so: there is an injection, and at once a bounce that
names the customer's policy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chalicelib.core.dynamo import Key
from chalicelib.core.reading import Read
from chalicelib.events.model import Event, make
from chalicelib.generation.chunk import Chunk
from chalicelib.mail_format import rfc822
from chalicelib.suppression import store
from chalicelib.transmissions.model import Transmission

_REASON = "554 5.7.1 [internal] recipient address suppressed due to customer policy"


def keys_of_chunk(found: Chunk) -> list[Key]:
    """Return what :func:`of_chunk` reads first."""
    sent = found.transmission
    if not _is_asked(sent):
        return []
    return store.blocking_keys(
        sent.account_id,
        sent.subaccount_id,
        _recipients(found),
        transactional=sent.options["transactional"],
    )


def of_chunk(found: Chunk, read: Read) -> Collection[str]:
    """Return those of a chunk's recipients who are suppressed."""
    sent = found.transmission
    if not _is_asked(sent):
        return ()
    return store.blocking(
        sent.account_id,
        sent.subaccount_id,
        _recipients(found),
        transactional=sent.options["transactional"],
        list_id=_list_id(sent),
        read=read,
    )


def bounce(base: Mapping[str, Any], at_ms: int) -> Event:
    """Return the bounce of a suppressed recipient's message."""
    return make(
        "bounce",
        base,
        at_ms,
        attempt=1,
        bounce_class="25",
        error_code="554",
        reason=_REASON,
        raw_reason=_REASON,
        num_retries="0",
    )


def _is_asked(sent: Transmission) -> bool:
    return not (sent.options.get("skip_suppression") or sent.refusal)


def _recipients(found: Chunk) -> list[str]:
    return [recipient["email"] for recipient in found.recipients]


def _list_id(sent: Transmission) -> str | None:
    """Return the mailing list that the message belongs to: as given, or as its header says."""
    if sent.override.get("list_id"):
        return str(sent.override["list_id"])
    if sent.raw:
        for name, raw in rfc822.split(rfc822.normalise(sent.raw))[0]:
            if name == "list-id":
                return _named(raw.partition(b":")[2].decode("utf-8", "replace"))
    for name, value in (sent.content.get("headers") or {}).items():
        if name.lower() == "list-id":
            return _named(value)
    return None


def _named(value: str) -> str:
    """Return the id in a List-Id value: what stands in angle brackets (RFC 2919)."""
    return value.rpartition("<")[2].partition(">")[0].strip() or value.strip()
