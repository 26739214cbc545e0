"""Requests of people about their own data: to be forgotten, or to be left alone.

A request is noted as due before anything is done and stays so until all of it is done, so one that
is interrupted goes on at the next tick of the clock (:func:`carry_out_due`); doing part of it again
does no harm. It is begun at once, for as long as a caller can wait.

- To be forgotten: see :mod:`chalicelib.data_privacy.erasure`.
- To opt out: the recipient gets no messages but transactional ones, and opens are not followed.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from chalicelib.core import clock, due
from chalicelib.core.addresses import is_address
from chalicelib.core.due import Due
from chalicelib.core.errors import ApiErrors, bad_request
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
MOST_RECIPIENTS: Final = 1000
AT_ONCE_SECONDS: Final = 10.0
A_TICK_SECONDS: Final = 40.0
_log = logging.getLogger(__name__)
_CONCERN = "privacy"
_MOST_OF_A_TICK = 100
_STEP = 20
_OPTED_OUT = ((NON_TRANSACTIONAL, MANUALLY_ADDED), (OPEN_TRACKING, TRACKING_CONSENT_REVOKED))


def read_recipients(body: Any) -> list[str]:
    """Return the addresses that a request is about, in lower case; raises 400."""
    given = body.get("recipients") if isinstance(body, dict) else None
    if not isinstance(given, list) or not given:
        raise bad_request("recipients must be an array of email addresses")
    if len(given) > MOST_RECIPIENTS:
        raise bad_request(f"Exceeded maximum number of recipients ({MOST_RECIPIENTS})")
    bad = [each for each in given if not isinstance(each, str) or not is_address(each)]
    if bad:
        raise ApiErrors(400, [{"message": "invalid email address", "recipient": e} for e in bad])
    return list(dict.fromkeys(each.lower() for each in given))


def request(kind: str, scope: Scope, recipients: list[str]) -> None:
    """Note a request (``FORGET`` or ``OPT_OUT``) and begin to carry it out."""
    about = {"account_id": scope.account_id, "part": scope.part}
    data = {"kind": kind, **about, "recipients": recipients}
    entry = Due(_CONCERN, clock.now_ms(), secrets.token_hex(8), data)
    due.add(entry)
    _carry_out(entry, clock.now() + AT_ONCE_SECONDS)


def carry_out_due() -> None:
    """Go on with requests that are not done, the longest due first, for most of a minute.

    One that cannot be carried out is logged, tried again later, and does not hold up the others.
    """
    until = clock.now() + A_TICK_SECONDS
    for entry in due.find(_CONCERN, clock.now_ms(), limit=_MOST_OF_A_TICK):
        try:
            _carry_out(entry, until)
        except Exception:
            _log.exception("privacy request %s failed", entry.key)
            due.postpone(entry, clock.now_ms())


def _carry_out(entry: Due, until: float) -> None:
    scope = Scope(entry.data["account_id"], entry.data["part"])
    recipients = entry.data["recipients"]
    act: Callable[[Scope, list[str]], None] = _ACTIONS[entry.data["kind"]]
    for start in range(0, len(recipients), _STEP):
        if clock.now() >= until:
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
    """Yield whose lists are in a scope."""
    if not scope.spans:
        yield scope.owner
        return
    yield None
    for each in subaccounts.in_list(scope.account_id, ALL, "id", descending=False):
        yield each.id


_ACTIONS = {FORGET: _forget, OPT_OUT: _opt_out}
