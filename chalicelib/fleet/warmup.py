"""Limit what a new sending IP sends a day, and raise the limit as it earns a reputation.

There are 29 stages, one a day. The volume grows tenfold in a week, from 200 messages to two
million; after the last stage nothing limits the IP:

    stages  1 to  7      200     280     390     540     750    1,000    1,400
    stages  8 to 14    2,000   2,800   3,900   5,400   7,500   10,000   14,000
    stages 15 to 21   20,000  28,000  39,000  54,000  75,000  100,000  140,000
    stages 22 to 28  200,000 280,000 390,000 540,000 750,000 1,000,000 1,400,000
    stage  29      2,000,000

Days are in UTC. Messages are counted before they are attempted, a work unit at a time, so one
request counts up to a hundred. An IP never sends more than its volume. Messages that were counted
and not attempted, because a worker died or ran out of time, are lost for the day. A day on which
the IP sent nothing does not advance its stage.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import Final

from chalicelib.core import caches, due
from chalicelib.core.due import Due
from chalicelib.fleet import store
from chalicelib.fleet.model import LAST_STAGE, Fleet, SendingIp

_WEEK: Final = (200, 280, 390, 540, 750, 1_000, 1_400)
DAILY_VOLUMES: Final = (
    *(volume * 10**week for week in range(4) for volume in _WEEK),
    2_000_000,
)

_DAY = 86_400
_MOST_DUE = 400

_log = logging.getLogger(__name__)

# address → the day on which this process saw its volume used up, and that volume
_used_up: dict[str, tuple[int, int]] = {}


def daily_volume(stage: int) -> int:
    """Return how many messages may leave by an IP in a day of this stage."""
    return DAILY_VOLUMES[stage - 1]


def tomorrow_ms(now: float) -> int:
    """Return when the next day begins, in milliseconds."""
    return (int(now // _DAY) + 1) * _DAY * 1000


def reserve(account_id: int, ip: SendingIp, now: float, count: int) -> int:
    """Take up to ``count`` messages out of the day's volume; return how many may be sent.

    Takes one request, and none when this process knows that the volume is used up.
    """
    day, volume = int(now // _DAY), daily_volume(ip.auto_warmup_stage)
    last_day, last_volume = _used_up.get(ip.external_ip, (0, 0))
    if last_day == day and last_volume >= volume:
        return 0
    total = store.count_allowance(account_id, ip, day, count, volume)
    if total is None:
        _used_up[ip.external_ip] = (day, volume)
        return 0
    return count - max(0, total - volume)


@caches.register
def clear_cache() -> None:
    """Forget which volumes are used up."""
    _used_up.clear()


def advance_due(now: float) -> dict[str, int]:
    """Begin the next stage of the IPs that are due at ``now`` (seconds).

    Returns how many had which outcome: ``advanced``, ``completed`` (the last stage is over),
    ``held`` (nothing was sent), ``stale`` (nothing to do) and ``failed`` (tried again later). Costs
    one request when nothing is due. It may run again: an IP that was advanced is due at another
    time.
    """
    entries = due.find(store.CONCERN, int(now * 1000), limit=_MOST_DUE)
    return dict(Counter(_advance(entry, now) for entry in entries))


def _advance(entry: Due, now: float) -> str:
    account, _, address = entry.key.partition("/")
    outcome = "stale"

    def edit(fleet: Fleet) -> Fleet:
        nonlocal outcome
        ip = fleet.ip(address)
        if ip is None or ip.advance_ms != entry.at_ms:
            outcome = "stale"
            return fleet
        outcome, after = _next_stage(ip, entry, now)
        return fleet.with_ip(after)

    try:
        store.change(int(account), edit)
        if outcome == "stale":
            due.remove(entry)
    except Exception:
        _log.exception("advancing the warm-up of %s failed", address)
        due.postpone(entry, int(now * 1000))
        return "failed"
    return outcome


def _next_stage(ip: SendingIp, entry: Due, now: float) -> tuple[str, SendingIp]:
    day = entry.at_ms // 1000 // _DAY - 1
    if not store.has_allowance(ip.external_ip, day):
        return "held", replace(ip, advance_ms=tomorrow_ms(now))
    if ip.auto_warmup_stage == LAST_STAGE:
        return "completed", replace(ip, auto_warmup_enabled=False, advance_ms=0)
    stage = ip.auto_warmup_stage + 1
    return "advanced", replace(ip, auto_warmup_stage=stage, advance_ms=tomorrow_ms(now))
