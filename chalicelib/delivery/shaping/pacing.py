"""Give out slots: the times at which messages may leave for a group whose rate is limited.

Slots are a constant time apart, so a group never gets a burst. They are reserved before the
messages leave, up to a horizon, and what finds no slot comes again later. The horizon is what makes
it fair: an account that has had less than its share of the last seconds may reserve further ahead
than others, and so may a transmission. So bulk mail never fills more than the next ``BULK_MS``, and
a password reset finds its slot behind that.

Pure: times are milliseconds since the epoch, and the state is a value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

BULK_MS: Final = 4_000
TRANSMISSION_MS: Final = 6_000
ACCOUNT_MS: Final = 12_000
#: Accounts, and transmissions of an account, whose shares are counted apart: the state is one item
MOST_SHARES: Final = 100
#: Shares are counted over this time
BUCKET_MS: Final = 10_000

_OTHERS = "others"

Shares = dict[str, dict[str, list[int]]]
"""By account and transmission: the last bucket in which it got slots, and how many in it."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Whose mail it is."""

    account: str
    transmission: str


@dataclass(frozen=True, slots=True)
class Pace:
    """The state of one group: its next free slot, and who has had slots lately.

    The slot is ``interval_ms`` behind the last one that was given out.
    """

    next_ms: float = 0.0
    shares: Shares = field(default_factory=dict)
    revision: int = 0
    interval_ms: float = 0.0

    def next_at(self, rate: float) -> float:
        """Return the next free slot at ``rate``, which may have changed since the last one."""
        return self.next_ms - self.interval_ms + (1000 / rate if self.interval_ms else 0.0)


def reserve(
    pace: Pace, rate: float, lane: Lane, count: int, now_ms: float
) -> tuple[Pace, list[float]]:
    """Reserve up to ``count`` slots at ``rate`` (messages a second); return them with the state."""
    bucket = int(now_ms // BUCKET_MS)
    shares = _recent(pace.shares, bucket)
    lane = _counted_as(lane, shares)
    interval = 1000 / rate
    first = max(now_ms, pace.next_at(rate))
    granted = min(count, _slots(first, now_ms + BULK_MS, interval))
    for horizon, most in _privileges(shares, lane, bucket, rate * BUCKET_MS / 1000):
        granted = max(granted, min(count, most, _slots(first, now_ms + horizon, interval)))
    if granted:
        transmissions = shares.setdefault(lane.account, {})
        before, used = transmissions.get(lane.transmission, [bucket, 0])
        transmissions[lane.transmission] = [bucket, granted + (used if before == bucket else 0)]
    times = [first + number * interval for number in range(granted)]
    if not granted:
        return replace(pace, shares=shares), times
    return Pace(first + granted * interval, shares, pace.revision, interval), times


def _counted_as(lane: Lane, shares: Shares) -> Lane:
    """Return the lane whose shares count: many accounts, or transmissions, count together."""
    if lane.account not in shares and len(shares) >= MOST_SHARES:
        return Lane(_OTHERS, _OTHERS)
    transmissions = shares.get(lane.account, {})
    if lane.transmission not in transmissions and len(transmissions) >= MOST_SHARES:
        return Lane(lane.account, _OTHERS)
    return lane


def wait_ms(pace: Pace, rate: float, now_ms: float) -> float:
    """Return how long bulk mail waits at least until it finds a slot; 0 if it finds one now."""
    return max(0.0, pace.next_at(rate) - now_ms - BULK_MS)


def _slots(first: float, until: float, interval: float) -> int:
    return max(0, int((until - first) // interval) + 1) if first <= until else 0


def _privileges(shares: Shares, lane: Lane, bucket: int, capacity: float) -> list[tuple[int, int]]:
    """Return how far ahead an account and a transmission may reserve, and how many slots.

    Nobody needs a privilege over himself: one who is alone has none.
    """
    accounts = {lane.account, *shares}
    transmissions = {(account, name) for account in shares for name in shares[account]}
    transmissions.add((lane.account, lane.transmission))
    own = shares.get(lane.account, {})
    of_account = sum(used for last, used in own.values() if last == bucket)
    last, used = own.get(lane.transmission, [bucket, 0])
    of_transmission = used if last == bucket else 0
    privileges = []
    if len(accounts) > 1:
        privileges.append((ACCOUNT_MS, max(0, round(capacity / len(accounts)) - of_account)))
    if len(transmissions) > 1:
        share = round(capacity / len(transmissions))
        privileges.append((TRANSMISSION_MS, max(0, share - of_transmission)))
    return privileges


def _recent(shares: Shares, bucket: int) -> Shares:
    """Return the shares without those who have had no slot in this bucket or the last one."""
    recent = {
        account: {name: entry for name, entry in each.items() if entry[0] >= bucket - 1}
        for account, each in shares.items()
    }
    return {account: each for account, each in recent.items() if each}
