"""The start of a transmission that was not cut into chunks when it was accepted.

That is one whose time has come, one that goes to a stored list, and one that was cancelled and
tells so to each recipient. Starting twice does no harm: the first start fixes content and
recipients, and chunks have the same numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from chalicelib.core.errors import Forbidden, ServiceError
from chalicelib.recipient_lists import store as lists
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.transmissions.leases import release, use_list
from chalicelib.transmissions.model import CANCELLED, GENERATING, SUBMITTED, Json, Transmission
from chalicelib.transmissions.resolve import find_content, refused, resolved
from chalicelib.transmissions.sender import find_sender
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import Record
from chalicelib.transmissions.submit import queue_chunks

_log = logging.getLogger(__name__)


def start(transmission_id: str) -> None:
    """Resolve a stored transmission and queue its chunks."""
    record = transmissions.get(transmission_id)
    if record is None or (record.state == CANCELLED and not record.transmission.refusal):
        _log.info("transmission %s is not started: it was cancelled", transmission_id)
        return
    try:
        named = _list_of(record)
    except ServiceError as refusal:
        _log.warning("transmission %s has nobody to go to: %s", transmission_id, refusal)
        transmissions.cancel(record.transmission)
        release(record.transmission, record.transmission.uses)
        return
    if record.state == SUBMITTED:
        record = _final(record, named)
        if not transmissions.start(record):
            start(transmission_id)  # it has started or was cancelled: what is stored counts
            return
    elif record.state == GENERATING and named and named.version != record.list_ref["version"]:
        return  # all chunks had been queued when the list could be changed again
    sent = record.transmission
    queue_chunks(sent, _recipients(sent, named), record.chunk_size)
    release(sent, sent.uses)


def _list_of(record: Record) -> RecipientList | None:
    """Return the stored list that a transmission goes to, kept as it is; raises 422 without it.

    It may have changed until ten minutes before the start.
    """
    if not record.list_ref:
        return None
    return use_list(record.transmission, record.list_ref["id"])


def _final(record: Record, named: RecipientList | None) -> Record:
    """Return the record with the content and the recipients that count from now on."""
    record = replace(record, transmission=_resolved(record))
    if named is None:
        return record
    chunks = -(-named.count // record.chunk_size)
    ref = {"id": named.id, "version": named.version}
    return replace(record, recipients=named.count, chunks=chunks, list_ref=ref)


def _resolved(record: Record) -> Transmission:
    """Return the transmission resolved.

    Without its content every recipient gets a failure, and a rejection where the account or the
    subaccount was suspended since it was accepted.
    """
    sent = record.transmission
    if sent.resolved:
        return sent
    try:
        find_sender(sent.account_id, sent.subaccount_id, None)
        return resolved(sent, find_content(sent, _only_recipient(record)))
    except Forbidden as refusal:
        text = refusal.errors[0]["description"]
        told = _told("generation_rejection", f"550 5.7.1 [internal] {text}")
        return refused(sent, told | {"bounce_class": "25"})
    except ServiceError as refusal:
        if refusal.status >= 500:
            raise
        return refused(sent, _told("generation_failure", f"554 5.3.3 [internal] {refusal}"))


def _told(kind: str, reason: str) -> Json:
    return {"type": kind, "error_code": reason[:3], "reason": reason, "raw_reason": reason}


def _only_recipient(record: Record) -> str:
    """Return the address of a single recipient, whom an A/B test chooses content for."""
    if record.recipients > 1 or record.list_ref:
        return ""
    return transmissions.get_recipients(record.transmission.id)[0]["email"]


def _recipients(sent: Transmission, named: RecipientList | None) -> Iterable[Json]:
    return _of_list(named) if named else transmissions.get_recipients(sent.id)


def _of_list(found: RecipientList) -> Iterator[Json]:
    """Yield the recipients of a list; their own options do not count (spec 2.1)."""
    for recipient in chain.from_iterable(lists.parts(found)):
        yield {name: value for name, value in recipient.items() if name != "options"}
