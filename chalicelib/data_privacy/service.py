"""Carry out requests of recipients about their own data: to be forgotten, or to opt out.

A request is stored as due before the work on it begins, and stays due until all of it is done. So
an interrupted request is continued at the next tick (:func:`carry_out_due`); repeating a part of it
does no harm. The work begins at once, for as long as a caller can wait.

- To be forgotten: see ``erasure.py``.
- To opt out: the recipient gets only transactional messages, and opens are not tracked.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from chalicelib.core import audit, clock, due
from chalicelib.core.due import Due
from chalicelib.core.scope import Scope
from chalicelib.data_privacy.erasure import erase
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.entries import ALL
from chalicelib.suppression import service as suppression
from chalicelib.suppression.model import (
    MANUALLY_ADDED,
    NON_TRANSACTIONAL,
    OPEN_TRACKING,
    TRACKING_CONSENT_REVOKED,
    entry_about,
)

FORGET: Final = "forget"
OPT_OUT: Final = "opt-out"
AT_ONCE_SECONDS: Final = 10.0
A_TICK_SECONDS: Final = 40.0
_log = logging.getLogger(__name__)
_CONCERN = "privacy"
_MOST_OF_A_TICK = 100
_STEP = 20
_OPTED_OUT = ((NON_TRANSACTIONAL, MANUALLY_ADDED), (OPEN_TRACKING, TRACKING_CONSENT_REVOKED))


def save_request(kind: str, scope: Scope, recipients: list[str]) -> None:
    """Store a request (``FORGET`` or ``OPT_OUT``) and begin to carry it out.

    The audit log has one line, with the request, and not with each thing that it deletes. It tells
    how many recipients there are, not who: they may ask to be forgotten.
    """
    about = {"account_id": scope.account_id, "part": scope.part}
    data = {"kind": kind, **about, "recipients": recipients}
    entry = Due(_CONCERN, clock.now_ms(), secrets.token_hex(8), data)
    line = audit.line("", None, {"recipients": len(recipients), "all_subaccounts": scope.spans})
    audit.commit(due.addition(entry), line)
    with audit.bound(None):
        _carry_out(entry, clock.now() + AT_ONCE_SECONDS)


def carry_out_due() -> None:
    """Go on with requests that are not done, the oldest first, for most of a minute.

    One that fails is logged and tried again later, and does not hold up the others.
    """
    deadline = clock.now() + A_TICK_SECONDS
    for entry in due.find(_CONCERN, clock.now_ms(), limit=_MOST_OF_A_TICK):
        try:
            _carry_out(entry, deadline)
        except Exception:
            _log.exception("privacy request %s failed", entry.key)
            due.postpone(entry, clock.now_ms())


def _carry_out(entry: Due, deadline: float) -> None:
    scope = Scope(entry.data["account_id"], entry.data["part"])
    recipients = entry.data["recipients"]
    act: Callable[[Scope, list[str]], None] = _ACTIONS[entry.data["kind"]]
    for start in range(0, len(recipients), _STEP):
        if clock.now() >= deadline:
            due.add(replace(entry, data=entry.data | {"recipients": recipients[start:]}))
            return
        act(scope, recipients[start : start + _STEP])
    due.remove(entry)


def _forget(scope: Scope, recipients: list[str]) -> None:
    for recipient in recipients:
        erase(scope, recipient)


def _opt_out(scope: Scope, recipients: list[str]) -> None:
    for owner in _owners(scope):
        entries = [
            entry_about(each, kind, source, description="Opt-out request")
            for each in recipients
            for kind, source in _OPTED_OUT
        ]
        suppression.add_all(scope.account_id, owner, entries)


def _owners(scope: Scope) -> Iterator[int | None]:
    """Yield the owners whose lists are in a scope."""
    if not scope.spans:
        yield scope.owner
        return
    yield None
    for each in subaccounts.in_list(scope.account_id, ALL, "id", descending=False):
        yield each.id


_ACTIONS = {FORGET: _forget, OPT_OUT: _opt_out}
