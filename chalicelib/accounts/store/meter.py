"""Count the recipients of accounts with limits as they are accepted, and refuse those over a limit.

Recipients are counted in the transaction that stores their transmission, so neither exists without
the other. A transmission over a limit is refused as a whole with 420 (spec 7, 8). The write
compares the counter, so of two requests at once one fails, reads the counter again and finds no
room. A request that is stored and fails later stays counted; one that is cancelled before it starts
is given back.

One item would end at some hundred requests a second: transactions on one item fail when they meet,
and its partition takes 1,000 write units a second. So the counter counts recipients *in advance*
and puts them into a **share**, an item of which a process takes one recipient after the other in
the transactions that store transmissions. Each process draws the number of its share.

- A limit is exact. What is in shares is counted, so all shares together never exceed it. Before a
  request is refused, the counter takes back what shares hold and nobody needs (:func:`_take_back`).
- A share is for one clock hour and for the limits it was taken under; what is left of it then goes
  back to the counter when the share is filled again, or is taken back.
- An advance is a small part of the room that is left, so near a limit shares are empty and each
  request is counted by the counter itself.
- What an account has used is its counter without what its shares still hold.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import Limits
from chalicelib.accounts.store import usage
from chalicelib.accounts.store.allowance import Unlimited
from chalicelib.accounts.store.usage_items import (
    Counter,
    CounterChanged,
    Share,
    as_of_now,
    counter_key,
    counter_of,
    read_counter,
    read_shares,
    replacement,
    share_key,
    share_of,
    share_table,
    share_write,
)
from chalicelib.accounts.usage_window import hour_of
from chalicelib.core import caches, clock, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import AnyItem, TransactionFailed, Write

#: Shares that an account's processes may use; as many transactions at a time do not meet
SHARES = 256
#: The most recipients that are counted in advance, and the part of the room that they may take
MOST_ADVANCE = 1000
ADVANCE_PART = 2 * SHARES
#: Shares that are taken back in one transaction
_TAKEN_TOGETHER = 25
_MOST_REMEMBERED = 10_000


@dataclass(slots=True)
class Meter:
    """A share of an account as it was read, and the limits that apply.

    ``share`` is ``None`` if it was not read: it probably holds some. ``counter`` was read with the
    share if shares were empty at this process's last send, or is read if the share does not hold
    enough. It is one item for all processes, and an item takes 3,000 reads a second.
    """

    account_id: int
    number: int
    limits: Limits
    share: Share | None
    counter: Counter | None = None

    counts_at_acceptance: ClassVar[bool] = True

    def check(self, recipients: int) -> None:
        """Raise 420 if ``recipients`` more would exceed a limit."""
        if not self.limits.any or (self.share and self._holds(self.share, recipients)):
            return
        if self.share and not self.counter:
            self.counter = read_counter(self.account_id)
        if self.counter and self._has_room(self.counter, recipients):
            return
        if self.counter and self.counter.shares == ():  # no share holds any
            as_of_now(self.counter.window).check(recipients, self.limits)
        usage.get(self.account_id)[0].check(recipients, self.limits)

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count ``recipients``, both or neither, in one request.

        Raises 420 if a limit would be exceeded, and :class:`TransactionFailed` if a condition of
        ``writes`` does not hold. It takes some requests more if the share has to be filled.
        """
        # The first attempt uses what was read before; nothing was, if the share probably suffices
        reads: tuple[Share | None, Counter | None] | None = (self.share, self.counter)

        def attempt() -> bool:
            nonlocal reads
            share, counter = reads or (share_of(share_table.get(*self._share_key)), None)
            reads = None
            fills = share is not None and not self._holds(share, recipients)
            counts = [self._take(recipients)]
            if fills and share is not None:
                counts = self._fill(share, counter, recipients)
            try:
                dynamo.transact([*writes, *counts])
            except TransactionFailed as failure:
                if min(failure.failed) < len(writes):
                    raise
                raise CounterChanged from None
            return fills and len(counts) == 1

        is_short = dynamo.retry_conflicts(attempt, on=CounterChanged)
        _remember(self.account_id, is_short=is_short)

    @property
    def _share_key(self) -> Key:
        return share_key(self.account_id, self.number)

    @property
    def _terms(self) -> str:
        return f"{self.limits.hourly}/{self.limits.daily}/{self.limits.monthly}"

    def _holds(self, share: Share, recipients: int) -> bool:
        current = share.hour == hour_of(clock.now()) and share.terms == self._terms
        return current and share.recipients >= recipients

    def _take(self, recipients: int) -> Write:
        """Return the action that takes recipients out of the share."""
        now = clock.now()
        return dynamo.update(
            share_table,
            *self._share_key,
            "SET #last = :last ADD #recipients :taken",
            values={
                "last": now,
                "taken": -recipients,
                "number": recipients,
                "hour": hour_of(now),
                "terms": self._terms,
            },
            condition="#hour = :hour AND #terms = :terms AND #recipients >= :number",
        )

    def _has_room(self, counter: Counter, recipients: int) -> bool:
        window = as_of_now(counter.window)
        most = window.most(self.limits)
        return most is None or window.used + recipients <= most

    def _fill(self, share: Share, counter: Counter | None, recipients: int) -> list[Write]:
        """Return the actions that count recipients and fill the share; raises 420."""
        counter = self._counter_with_room(counter, recipients)
        window = as_of_now(counter.window)
        most = window.most(self.limits)
        advance = MOST_ADVANCE
        if most is not None:
            room = most - window.used - recipients
            advance = max(0, min(MOST_ADVANCE, room // ADVANCE_PART))
        before = share.recipients
        if share.hour != window.hour or share.terms != self._terms:
            window, before = window.without(share.recipients, share.hour), 0
        new = Share(window.hour, before + advance, self._terms)
        window = replace(window, used=window.used + recipients + advance, last=clock.now())
        shares = set(counter.shares or ()) | ({self.number} if new.recipients else set())
        change = Counter(window, tuple(sorted(shares)))
        writes = [replacement(self.account_id, counter, change)]
        if new.recipients or share.recipients:
            writes.append(share_write(self.account_id, self.number, share, new))
        return writes

    def _counter_with_room(self, counter: Counter | None, recipients: int) -> Counter:
        """Return the counter, after taking back from shares what it needs; raises 420."""
        while True:
            counter = counter or read_counter(self.account_id)
            if counter.shares is None and self.limits.any and usage.gather(self.account_id):
                counter = read_counter(self.account_id)
            if self._has_room(counter, recipients):
                return counter
            if not _take_back(self.account_id, counter, self._terms):
                as_of_now(counter.window).check(recipients, self.limits)
            counter = None


def keys_to_read(account_id: int, account: Account | None = None) -> list[Key]:
    """Return what to read before recipients are counted: this process's share.

    The counter is read as well where shares are empty, near a limit.

    ``account`` is what the cache has of it. Without limits nothing has to be read.
    """
    if account and not account.limits(clock.now()).any:
        return []
    keys = [share_key(account_id, _own_number())]
    return [*keys, counter_key(account_id)] if account_id in _short else keys


def allowance(
    account: Account, keys: Sequence[Key], items: Mapping[Key, AnyItem]
) -> Meter | Unlimited:
    """Return the allowance of an account as of now.

    With limits it is the meter of the share at the first of ``keys``; ``items`` has those that
    exist. Without ``keys`` it is that of this process, unread.
    """
    limits = account.limits(clock.now())
    if not limits.any:
        return Unlimited()
    if not keys:
        return Meter(account.customer_id, _own_number(), limits, None)
    share, *others = keys
    number = int(share[0].rpartition("#")[2])
    counter = counter_of(items.get(others[0])) if others else None
    return Meter(account.customer_id, number, limits, share_of(items.get(share)), counter)


#: The accounts whose shares were empty at this process's last send, and could not be filled
_short: set[int] = set()


@cache
def _own_number() -> int:
    return random.randrange(SHARES)


def _remember(account_id: int, *, is_short: bool) -> None:
    if not is_short:
        _short.discard(account_id)
        return
    if len(_short) >= _MOST_REMEMBERED:
        _short.clear()
    _short.add(account_id)


@caches.register
def clear_cache() -> None:
    """Draw another share, and forget which were empty, as a new process does."""
    _own_number.cache_clear()
    _short.clear()


def _take_back(account_id: int, counter: Counter, terms: str) -> bool:
    """Return recipients from shares to the counter; ``False`` if no share can hold any.

    Half of what a share in use holds is taken, so that its user does not come in between.
    """
    if not counter.shares:
        return False
    shares = read_shares(account_id, counter)
    filled = {number: share for number, (share, _) in shares.items() if share.recipients}
    window = as_of_now(counter.window)
    window = replace(window, last=max(window.last, *(last for _, last in shares.values())))
    fullest = sorted(filled, key=lambda number: filled[number].recipients, reverse=True)[
        :_TAKEN_TOGETHER
    ]
    writes = []
    for number in fullest:
        share = filled[number]
        in_use = share.hour == window.hour and share.terms == terms
        part = (share.recipients + 1) // 2 if in_use else share.recipients
        window = window.without(part, share.hour)
        writes.append(
            dynamo.update(
                share_table,
                *share_key(account_id, number),
                "ADD #recipients :change",
                values={"change": -part, "part": part, "hour": share.hour},
                condition="#hour = :hour AND #recipients >= :part",
            )
        )
    try:
        change = replacement(account_id, counter, Counter(window, tuple(sorted(filled))))
        dynamo.transact([change, *writes])
    except TransactionFailed:
        raise CounterChanged from None
    return True
