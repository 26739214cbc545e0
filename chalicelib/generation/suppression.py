"""Recipients who must not get a message of this kind (spec 2.9): looked up for a whole chunk.

Such a recipient was accepted and is counted so: there is an injection, and at once a bounce that
names the customer's policy.

The mailing list that a message belongs to is what its List-Id header says when it is finished,
whether the sender wrote the header, a template filled it in or ``override`` replaced it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.core.dynamo import Key
from chalicelib.core.reading import Read
from chalicelib.events.model import Event, make
from chalicelib.generation.chunk import Chunk
from chalicelib.mail_format import rfc822
from chalicelib.suppression.model import COMPLIANCE, Hold
from chalicelib.suppression.store import lookup_items
from chalicelib.transmissions.model import Transmission

_REASON = "554 5.7.1 [internal] recipient address suppressed due to customer policy"


def keys_of_chunk(found: Chunk) -> list[Key]:
    """Return what :func:`of_chunk` reads."""
    sent = found.transmission
    if not _is_asked(sent):
        return []
    return lookup_items.blocking_keys(
        sent.account_id,
        sent.subaccount_id,
        _recipients(found),
        transactional=sent.options["transactional"],
    )


def of_chunk(found: Chunk, read: Read) -> Mapping[str, Hold]:
    """Return what may hold back messages to a chunk's recipients, by recipient.

    ``skip_suppression`` passes over everything but entries of compliance.
    """
    sent = found.transmission
    if not _is_asked(sent):
        return {}
    holds = lookup_items.blocking(
        sent.account_id,
        sent.subaccount_id,
        _recipients(found),
        transactional=sent.options["transactional"],
        read=read,
    )
    if not sent.options.get("skip_suppression"):
        return holds
    return {each: hold for each, hold in holds.items() if hold.source == COMPLIANCE}


def holds_back(hold: Hold | None, message: bytes) -> bool:
    """Tell whether a finished message may not leave."""
    if hold is None:
        return False
    return bool(hold.source) or any(map(hold.holds_back, _list_ids(message)))


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
    return not sent.refusal


def _recipients(found: Chunk) -> list[str]:
    return [recipient["email"] for recipient in found.recipients]


def _list_ids(message: bytes) -> Iterator[str]:
    """Yield what the List-Id headers of a message name; there is one at most in a good one."""
    for name, raw in rfc822.split(message)[0]:
        if name == "list-id":
            yield _named(raw.partition(b":")[2].decode("utf-8", "replace"))


def _named(value: str) -> str:
    """Return the id in a List-Id value: what stands in angle brackets (RFC 2919)."""
    return value.rpartition("<")[2].partition(">")[0].strip() or value.strip()
