"""Auto warm-up: how much a new sending IP may send a day, and when it may send more.

There are 29 stages, one a day. The volume grows tenfold in a week, from 200 messages to two
million; after the last stage nothing limits the IP:

    stages  1 to  7      200     280     390     540     750    1,000    1,400
    stages  8 to 14    2,000   2,800   3,900   5,400   7,500   10,000   14,000
    stages 15 to 21   20,000  28,000  39,000  54,000  75,000  100,000  140,000
    stages 22 to 28  200,000 280,000 390,000 540,000 750,000 1,000,000 1,400,000
    stage  29      2,000,000

Days are those of UTC. Messages are counted when they are handed to an attempt, a unit of delivery
at a time, so that it takes one request for up to a hundred; the count never exceeds the volume,
while what was reserved and not attempted, because a worker died or ran out of time, is lost for
the day. A day on which the IP sent nothing does not count: it has earned nothing.

Access patterns (table ``config``):

- what an IP was given to send on a day → ``pk = warmup#<address>``, ``sk = <day>``
- the IPs whose next stage begins → ``store``
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import Final

from chalicelib.core import caches, due
from chalicelib.core.due import Due
from chalicelib.core.dynamo import ConditionFailed, Table
from chalicelib.ip_pools import store
from chalicelib.ip_pools.changes import with_ip
from chalicelib.ip_pools.model import LAST_STAGE, Fleet, SendingIp

_WEEK: Final = (200, 280, 390, 540, 750, 1_000, 1_400)
DAILY_VOLUMES: Final = (
    *(volume * 10**week for week in range(4) for volume in _WEEK),
    2_000_000,
)

_DAY = 86_400
_MOST_DUE = 400

_config = Table("config")
_log = logging.getLogger(__name__)

# address → the day on which this process found its volume spent, and that volume
_spent: dict[str, tuple[int, int]] = {}


def daily_volume(stage: int) -> int:
    """Return how many messages may leave by an IP in a day of this stage."""
    return DAILY_VOLUMES[stage - 1]


def tomorrow_ms(now: float) -> int:
    """Return when the next day begins, in milliseconds."""
    return (int(now // _DAY) + 1) * _DAY * 1000


def reserve(ip: SendingIp, now: float, count: int) -> int:
    """Take up to ``count`` messages out of the day's volume; return how many may be sent.

    Takes one request, and none when this process knows that the volume is spent.
    """
    day, volume = int(now // _DAY), daily_volume(ip.auto_warmup_stage)
    spent_on, spent = _spent.get(ip.external_ip, (0, 0))
    if spent_on == day and spent >= volume:
        return 0
    try:
        counted = _config.update(
            *_counter(ip.external_ip, day),
            "SET #expires = :expires ADD #given :count",
            values={"expires": (day + 8) * _DAY, "count": count, "volume": volume},
            condition="attribute_not_exists(#given) OR #given < :volume",
        )
    except ConditionFailed:
        _spent[ip.external_ip] = (day, volume)
        return 0
    return count - max(0, counted["given"] - volume)


@caches.register
def clear_cache() -> None:
    """Forget which volumes are spent (tests change clouds)."""
    _spent.clear()


def advance_due(now: float) -> dict[str, int]:
    """Begin the next stage of the IPs that are due at ``now`` (seconds).

    Returns how many came to which end: ``advanced``, ``completed`` (the last stage is over),
    ``held`` (nothing was sent), ``stale`` (nothing to do) and ``failed`` (tried again later). Costs
    one request when nothing is due; doing it again does no harm, as an IP that was advanced is due
    at another time.
    """
    entries = due.find(store.CONCERN, int(now * 1000), limit=_MOST_DUE)
    return dict(Counter(_advance(entry, now) for entry in entries))


def _advance(entry: Due, now: float) -> str:
    account, _, address = entry.key.partition("/")
    came_to = "stale"

    def edit(fleet: Fleet) -> Fleet:
        nonlocal came_to
        ip = fleet.ip(address)
        if ip is None or ip.advance_ms != entry.at_ms:
            came_to = "stale"
            return fleet
        came_to, after = _next_stage(ip, entry, now)
        return with_ip(fleet, after)

    try:
        store.change(int(account), edit)
        if came_to == "stale":
            due.remove(entry)
    except Exception:
        _log.exception("advancing the warm-up of %s failed", address)
        due.postpone(entry, int(now * 1000))
        return "failed"
    return came_to


def _next_stage(ip: SendingIp, entry: Due, now: float) -> tuple[str, SendingIp]:
    ended = entry.at_ms // 1000 // _DAY - 1
    if not _config.get(*_counter(ip.external_ip, ended)):
        return "held", replace(ip, advance_ms=tomorrow_ms(now))
    if ip.auto_warmup_stage == LAST_STAGE:
        return "completed", replace(ip, auto_warmup_enabled=False, advance_ms=0)
    stage = ip.auto_warmup_stage + 1
    return "advanced", replace(ip, auto_warmup_stage=stage, advance_ms=tomorrow_ms(now))


def _counter(external_ip: str, day: int) -> tuple[str, str]:
    return (f"warmup#{external_ip}", str(day))
