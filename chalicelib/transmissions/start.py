"""Start a stored transmission: resolve it and queue its chunks.

Transmissions are stored first if they are scheduled, if they go to a stored list, or if they were
cancelled and each recipient gets an event about it. Starting twice does no harm: the first start
fixes content and recipients, and chunks have the same numbers each time.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from chalicelib.core.errors import Forbidden, ServiceError
from chalicelib.core.message_event import Refusal
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import deleted, lists
from chalicelib.transmissions.leases import (
    lease_list,
    list_not_found,
    release,
    release_started,
)
from chalicelib.transmissions.model import CANCELLED, GENERATING, SUBMITTED, Transmission
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
    if recipient_list and recipient_list.is_deleted:
        release(record.transmission, record.transmission.leases)
        deleted.release(recipient_list.list, transmission_id)
    else:
        release_started(record.transmission, record.transmission.leases)


def _find_list(record: Record) -> ListRecipients | None:
    """Return the recipients of the stored list, which is leased; ``None`` without a list.

    The list may have changed until ten minutes before the start, or have been deleted: then its
    last recipients were kept. A fault of the service is raised, and the start is repeated.
    """
    if not record.list_ref:
        return None
    account_id, list_id = record.transmission.account_id, record.list_ref["id"]
    identity = record.list_ref.get("identity", "")
    recipient_list = _lease_list(record.transmission, list_id)
    if recipient_list and recipient_list.identity == identity:
        return ListRecipients(recipient_list)
    if recipient_list:  # another list has the id now
        lists.release_lease(account_id, list_id, record.transmission.id)
    former = deleted.get(account_id, list_id, identity)
    return ListRecipients(former, is_deleted=True) if former else None


def _lease_list(transmission: Transmission, list_id: str) -> RecipientList | None:
    try:
        return lease_list(transmission, list_id)
    except ServiceError as refusal:
        if refusal.status >= 500:
            raise
        return None


def _cancel(record: Record) -> None:
    """Cancel a transmission whose list is gone, with all its recipients."""
    _log.warning("transmission %s has no recipients: its list is gone", record.transmission.id)
    transmissions.cancel(record.transmission, record.recipients)
    release(record.transmission, record.transmission.leases)


def _is_changed(recipients: ListRecipients | None, record: Record) -> bool:
    return recipients is not None and recipients.list_ref["version"] != record.list_ref["version"]


def _stored_recipients(record: Record) -> Recipients:
    return RequestRecipients([*transmissions.get_recipients(record.transmission.id)])


def _final(record: Record, recipients: ListRecipients | None) -> Record:
    """Return the record with its final content and recipients."""
    if recipients and recipients.is_deleted:
        fault = list_not_found(recipients.list.id)
        record = replace(record, transmission=refuse(record, _failure(fault)))
    else:
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
        return refuse(record, _failure(refusal))


def _failure(fault: ServiceError) -> Refusal:
    return _refusal("generation_failure", f"554 5.3.3 [internal] {fault.text}")


def _refusal(kind: str, reason: str) -> Refusal:
    return {"type": kind, "error_code": reason[:3], "reason": reason, "raw_reason": reason}
