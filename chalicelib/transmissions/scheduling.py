"""Transmissions that start later: started when they are due, or cancelled before.

Starting is asked for through the ``generation`` queue, and asking twice does no harm, so any number
of schedulers may run, and one that was down starts what became due meanwhile.
"""

from __future__ import annotations

import re

from chalicelib.core import clock, due
from chalicelib.core.errors import ApiError, not_cancellable, resource_not_found, schedule_too_close
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.transmissions.leases import release
from chalicelib.transmissions.model import GENERATING, SUBMITTED, Transmission
from chalicelib.transmissions.resolve import refused
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import Record
from chalicelib.transmissions.submit import CONCERN, due_of, queue_start

_ID = re.compile(r"[0-9]{1,20}")
_CANCELLED = {
    "type": "bounce",
    "bounce_class": "25",
    "error_code": "554",
    "reason": "554 5.7.1 [internal] campaign cancelled",
    "raw_reason": "554 5.7.1 [internal] campaign cancelled",
}


def start_due() -> None:
    """Have those transmissions generated whose time has come."""
    while entries := due.find(CONCERN, clock.now_ms()):
        for entry in entries:
            queue_start(entry.key)
            due.remove(entry)


def cancel(scope: Scope, transmission_id: str) -> None:
    """Cancel a scheduled transmission; nobody hears of it.

    Raises 404 (1600), 409 (2003) when it starts too soon, 409 (2006) when it has started.
    """
    record = owned(scope, transmission_id)
    sent = record.transmission
    if record.state != SUBMITTED or not sent.start_ms:
        raise _illegal_state(record.state)
    if sent.start_ms - clock.now_ms() < settings().cancel_margin * 1000:
        text = (
            f"a transmission that starts within {settings().cancel_margin:.0f} s is not cancelled"
        )
        raise schedule_too_close(text)
    if not transmissions.cancel(sent):
        raise _illegal_state(GENERATING)
    _forget(record)


def cancel_campaign(scope: Scope, campaign_id: str) -> None:
    """Cancel what is scheduled for a campaign; each recipient gets a bounce event of class 25."""
    for each in transmissions.scheduled(scope.account_id):
        if each.campaign_id != campaign_id or not scope.covers(each.subaccount_id):
            continue
        record = transmissions.get(each.id)
        if record and transmissions.cancel(refused(record.transmission, _CANCELLED)):
            queue_start(each.id)
            _forget(record)


def owned(scope: Scope, transmission_id: str) -> Record:
    """Return a transmission in scope; raises 404 with code 1600."""
    record = transmissions.get(transmission_id) if _ID.fullmatch(transmission_id) else None
    if record is None or not _is_in(scope, record.transmission):
        raise resource_not_found(f"transmission '{transmission_id[:100]}' does not exist")
    return record


def _is_in(scope: Scope, sent: Transmission) -> bool:
    return sent.account_id == scope.account_id and scope.covers(sent.subaccount_id)


def _forget(record: Record) -> None:
    due.remove(due_of(record.transmission))
    release(record.transmission, record.transmission.uses)


def _illegal_state(state: str) -> ApiError:
    text = f"a transmission in state '{state}' cannot be cancelled"
    return not_cancellable(text)
