"""Start scheduled transmissions when they are due, or cancel them before.

A start is queued on the ``small-sends`` queue, and queueing it twice does no harm. So any number of
schedulers may run, and one that was down starts what became due meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chalicelib.core import clock, due
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import ApiError, not_cancellable, resource_not_found, schedule_too_close
from chalicelib.core.message_event import Refusal
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.transmissions.audit_lines import MOST_LINES, campaign_line, cancel_line
from chalicelib.transmissions.leases import release, without_list
from chalicelib.transmissions.model import SUBMITTED, Transmission
from chalicelib.transmissions.progress import state_of
from chalicelib.transmissions.resolve import refuse
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import Record
from chalicelib.transmissions.submit import CONCERN, due_of, queue_start

_ID = re.compile(r"[0-9]{1,20}")
_CANCELLED: Refusal = {
    "type": "bounce",
    "bounce_class": "25",
    "error_code": "554",
    "reason": "554 5.7.1 [internal] campaign cancelled",
    "raw_reason": "554 5.7.1 [internal] campaign cancelled",
}


def start_due() -> None:
    """Queue the start of the transmissions whose time has come."""
    while entries := due.find(CONCERN, clock.now_ms()):
        for entry in entries:
            queue_start(entry.key)
            due.remove(entry)


def cancel(scope: Scope, transmission_id: str) -> None:
    """Cancel a scheduled transmission; its recipients get bounce events of class 25.

    Raises 404 (1600), 409 (2003) when it starts too soon, 409 (2006) when it has started.
    """
    record = get_in_scope(scope, transmission_id)
    _check_cancellable(record)
    if not _cancel(
        record, cancel_line(record.transmission)
    ):  # it has started, or was cancelled, since it was read
        raise _illegal_state(get_in_scope(scope, transmission_id))


def cancel_campaign(scope: Scope, campaign_id: str) -> None:
    """Cancel a campaign's scheduled transmissions; recipients get bounce events of class 25.

    A few transmissions get a line of the audit log each; many get one together, with the first that
    is cancelled.
    """
    ids = [
        summary.id
        for summary in transmissions.scheduled(scope.account_id)
        if summary.campaign_id == campaign_id and scope.covers(summary.subaccount_id)
    ]
    line = campaign_line(campaign_id, ids) if len(ids) > MOST_LINES else None
    for transmission_id in ids:
        record = transmissions.get(transmission_id)
        if record is None:
            continue
        own_line = cancel_line(record.transmission) if line is None else line
        if _cancel(record, own_line) and line:
            line = []


def get_in_scope(scope: Scope, transmission_id: str) -> Record:
    """Return a transmission that the scope may see; raises 404 with code 1600."""
    record = transmissions.get(transmission_id) if _ID.fullmatch(transmission_id) else None
    if record is None or not _is_in(scope, record.transmission):
        raise resource_not_found(f"transmission '{transmission_id[:100]}' does not exist")
    return record


def _is_in(scope: Scope, transmission: Transmission) -> bool:
    is_of_account = transmission.account_id == scope.account_id
    return is_of_account and scope.covers(transmission.subaccount_id)


def _check_cancellable(record: Record) -> None:
    start_ms = record.transmission.start_ms
    if record.state != SUBMITTED or not start_ms:
        raise _illegal_state(record)
    if start_ms - clock.now_ms() < settings().cancel_margin * 1000:
        margin = f"{settings().cancel_margin:.0f} s"
        raise schedule_too_close(f"a transmission that starts within {margin} is not cancelled")


def _cancel(record: Record, line: Sequence[Write]) -> bool:
    """Cancel a transmission and queue its events; return ``False`` if it is too late.

    It leaves the schedule last: should this be interrupted, the events are made at the start time.
    """
    if not transmissions.cancel(refuse(record, _CANCELLED), record.recipients, line):
        return False
    queue_start(record.transmission.id)
    due.remove(due_of(record.transmission))
    # The list is needed for the events; the start releases it
    release(record.transmission, without_list(record.transmission.leases))
    return True


def _illegal_state(record: Record) -> ApiError:
    """Return the refusal with the state that ``GET /transmissions/{id}`` shows."""
    state = state_of(record.transmission.id, record)
    if state == SUBMITTED:
        return not_cancellable("a transmission that was not scheduled cannot be cancelled")
    return not_cancellable(f"a transmission in state '{state}' cannot be cancelled")
