"""The start of a transmission that was not cut into chunks when it was accepted.

That is one whose time has come, one that goes to a stored list, and one that was cancelled and
tells so to each recipient. Starting twice does no harm: content that was resolved stays, and chunks
have the same numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import chain

from chalicelib.core.errors import ServiceError
from chalicelib.recipient_lists import store as lists
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.transmissions import store
from chalicelib.transmissions.model import CANCELED, Json, Transmission
from chalicelib.transmissions.resolve import find_content, refused, resolved
from chalicelib.transmissions.store import Record
from chalicelib.transmissions.submit import queue_chunks
from chalicelib.transmissions.uses import release, use_list

_log = logging.getLogger(__name__)


def start(transmission_id: str) -> None:
    """Resolve a stored transmission and queue its chunks."""
    record = store.get(transmission_id)
    if record is None or (record.state == CANCELED and not record.transmission.refusal):
        _log.info("transmission %s is not started: it was cancelled", transmission_id)
        return
    sent = _resolved(record)
    if record.state != CANCELED and not store.start(sent):
        return
    queue_chunks(sent, _recipients(record, sent), record.chunk_size)
    release(sent, sent.uses)


def _resolved(record: Record) -> Transmission:
    """Return the transmission resolved; without its content every recipient gets a failure."""
    sent = record.transmission
    if sent.resolved:
        return sent
    try:
        return resolved(sent, find_content(sent, _only_recipient(record)))
    except ServiceError as refusal:
        text = f"554 5.3.3 [internal] {refusal}"
        fault = {"error_code": "554", "reason": text, "raw_reason": text}
        return refused(sent, {"type": "generation_failure", **fault})


def _only_recipient(record: Record) -> str:
    """Return the address of a single recipient, whom an A/B test chooses content for."""
    if record.recipients > 1 or record.list_ref:
        return ""
    return store.get_recipients(record.transmission.id)[0]["email"]


def _recipients(record: Record, sent: Transmission) -> Iterable[Json]:
    if not record.list_ref:
        return store.get_recipients(sent.id)
    # As it is now: it may have changed until ten minutes before the start
    return _of_list(use_list(sent, record.list_ref["id"]))


def _of_list(found: RecipientList) -> Iterator[Json]:
    """Yield the recipients of a list; their own options do not count (spec 2.1)."""
    for recipient in chain.from_iterable(lists.parts(found)):
        yield {name: value for name, value in recipient.items() if name != "options"}
