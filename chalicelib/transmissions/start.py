"""Start a stored transmission: resolve it and queue its chunks.

Transmissions are stored first if they are scheduled, if they go to a stored list, or if they were
cancelled and each recipient gets an event about it. Starting twice does no harm: the first start
fixes content and recipients, and chunks have the same numbers each time.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from chalicelib.core.errors import Forbidden, ServiceError
from chalicelib.transmissions.leases import lease_list, release
from chalicelib.transmissions.model import CANCELLED, GENERATING, SUBMITTED, Json, Transmission
from chalicelib.transmissions.recipients import ListRecipients, Recipients, RequestRecipients
from chalicelib.transmissions.resolve import ab_test_recipient, find_content, refuse, resolve
from chalicelib.transmissions.sender import check_may_send
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
    recipient_list = _find_list(record)
    if record.list_ref and recipient_list is None:
        _cancel(record)
        return
    if record.state == SUBMITTED:
        record = _final(record, recipient_list)
        if not transmissions.start(record):
            start(transmission_id)  # it has started or was cancelled: what is stored counts
            return
    elif record.state == GENERATING and _is_changed(recipient_list, record):
        return  # all chunks had been queued when the list could be changed again
    recipients = recipient_list or _stored_recipients(record)
    queue_chunks(record.transmission, recipients, record.chunk_size)
    release(record.transmission, record.transmission.leases)


def _find_list(record: Record) -> ListRecipients | None:
    """Return the recipients of the stored list, which is leased; ``None`` without a list.

    The list may have changed until ten minutes before the start, or have been deleted: then the
    transmission has no recipients. A fault of the service is raised, and the start is repeated.
    """
    if not record.list_ref:
        return None
    try:
        return ListRecipients(lease_list(record.transmission, record.list_ref["id"]))
    except ServiceError as refusal:
        if refusal.status >= 500:
            raise
        _log.warning("transmission %s has no recipients: %s", record.transmission.id, refusal)
        return None


def _cancel(record: Record) -> None:
    """Cancel a transmission whose list is gone."""
    transmissions.cancel(record.transmission, record.recipients)
    release(record.transmission, record.transmission.leases)


def _is_changed(recipients: ListRecipients | None, record: Record) -> bool:
    return recipients is not None and recipients.list_ref["version"] != record.list_ref["version"]


def _stored_recipients(record: Record) -> Recipients:
    return RequestRecipients([*transmissions.get_recipients(record.transmission.id)])


def _final(record: Record, recipients: ListRecipients | None) -> Record:
    """Return the record with its final content and recipients."""
    record = replace(record, transmission=_resolve(record))
    if recipients is None:
        return record
    chunks = -(-recipients.count // record.chunk_size)
    list_ref = recipients.list_ref
    return replace(record, recipients=recipients.count, chunks=chunks, list_ref=list_ref)


def _resolve(record: Record) -> Transmission:
    """Return the resolved transmission.

    If its content is missing, every recipient gets a failure; if the account or the subaccount was
    suspended since it was accepted, a rejection.
    """
    transmission = record.transmission
    if transmission.resolved:
        return transmission
    try:
        check_may_send(transmission.account_id, transmission.subaccount_id)
        return resolve(transmission, find_content(transmission, ab_test_recipient(record)))
    except Forbidden as refusal:
        event = _refusal("generation_rejection", f"550 5.7.1 [internal] {refusal.text}")
        return refuse(record, event | {"bounce_class": "25"})
    except ServiceError as refusal:
        if refusal.status >= 500:
            raise
        event = _refusal("generation_failure", f"554 5.3.3 [internal] {refusal.text}")
        return refuse(record, event)


def _refusal(kind: str, reason: str) -> Json:
    return {"type": kind, "error_code": reason[:3], "reason": reason, "raw_reason": reason}
