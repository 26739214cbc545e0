"""Count the recipients that an account sends to, and refuse those over its plan's limits.

Recipients are counted when a transmission is accepted, in the same transaction that stores it, so
the count costs no request of its own and neither exists without the other. A transmission over a
limit is refused as a whole with 420 (spec 7, 8). The write compares the counter, so of two requests
at once one fails, reads the counter again and finds no room. A request that is stored and fails
later stays counted; one that is cancelled before it starts is given back.

Access patterns of ``config``:

- the counter of an account → ``usage#<account>#0`` / ``usage``
- a share of an account's recipients → ``usage#<account>#share#<number>`` / ``usage``
- what an account has used of its sandbox → ``usage#<account>#sandbox`` / ``usage``

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

Accounts without limits had sixteen counters, ``usage#<account>#1`` and so on, before there were
shares. They are added to the counter when the account has limits (:func:`gather`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Protocol

from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import Limits
from chalicelib.accounts.usage_window import Window, exceeded, hour_of
from chalicelib.core import caches, clock, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Item, Table, TransactionFailed, Write
from chalicelib.core.errors import ApiError

_config = Table("config")

#: Shares that an account's processes may use; as many transactions at a time do not meet
SHARES = 256
#: The most recipients that are counted in advance, and the part of the room that they may take
MOST_ADVANCE = 1000
ADVANCE_PART = 2 * SHARES
SANDBOX_MESSAGES = 5
_OLD_COUNTERS = 16
#: Shares that are taken back in one transaction
_TAKEN_TOGETHER = 25
_MOST_REMEMBERED = 10_000
_EMPTY = Window()


class _CounterMoved(Exception):
    """Another request counted recipients since the counter was read."""


class Allowance(Protocol):
    """Counts recipients as they are accepted, and refuses those over a limit."""

    def check(self, recipients: int) -> None:
        """Raise 420 if ``recipients`` more would exceed a limit."""
        ...

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count ``recipients``, both or neither; raises 420."""
        ...


@dataclass(frozen=True, slots=True)
class SandboxMeter:
    """The messages that an account may send in its life without a domain of its own (spec 8)."""

    account_id: int

    def check(self, recipients: int) -> None:
        """Raise 420 for more recipients than any account may have."""
        if recipients > SANDBOX_MESSAGES:
            raise _sandbox_exceeded(self.account_id)

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count the messages, both or neither; raises 420 (code 2101)."""
        reserve_sandbox(self.account_id, recipients, writes)


@dataclass(frozen=True, slots=True)
class Share:
    """Recipients that are counted and not used yet, in one clock hour and under some limits."""

    hour: int = 0
    recipients: int = 0
    terms: str = ""


@dataclass(frozen=True, slots=True)
class Counter:
    """The counts of an account, with those of its shares, and the shares that may hold some.

    ``shares`` is ``None`` for a counter that has not filled any: others may have to be added.
    """

    window: Window = _EMPTY
    shares: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Meter:
    """A share of an account as it was read, and the limits that apply.

    ``counter`` was read with the share if this process has not filled it in this hour.
    """

    account_id: int
    number: int
    limits: Limits
    share: Share
    counter: Counter | None = None

    def check(self, recipients: int) -> None:
        """Raise 420 if ``recipients`` more would exceed a limit."""
        if not self.limits.any or self._holds(self.share, recipients):
            return
        if self.counter and self._has_room(self.counter, recipients):
            return
        if self.counter and self.counter.shares == ():  # no share holds any
            _as_of_now(self.counter.window).check(recipients, self.limits)
        get(self.account_id)[0].check(recipients, self.limits)

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count ``recipients``, both or neither, in one request.

        Raises 420 if a limit would be exceeded, and :class:`TransactionFailed` if a condition of
        ``writes`` does not hold. It takes some requests more if the share has to be filled.
        """
        unused_reads: tuple[Share, Counter | None] | None = (self.share, self.counter)

        def attempt() -> bool:
            nonlocal unused_reads
            share, counter = unused_reads or (_share(_config.get(*self._key)), None)
            unused_reads = None
            fills = not self._holds(share, recipients)
            counts = self._fill(share, counter, recipients) if fills else [self._take(recipients)]
            try:
                dynamo.transact([*writes, *counts])
            except TransactionFailed as failure:
                if min(failure.failed) < len(writes):
                    raise
                raise _CounterMoved from None
            return not fills or len(counts) > 1

        if dynamo.retry_conflicts(attempt, on=_CounterMoved):
            _remember(self.account_id)

    @property
    def _key(self) -> Key:
        return _share_key(self.account_id, self.number)

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
            _config,
            *self._key,
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
        window = _as_of_now(counter.window)
        most = window.most(self.limits)
        return most is None or window.used + recipients <= most

    def _fill(self, share: Share, counter: Counter | None, recipients: int) -> list[Write]:
        """Return the actions that count recipients and fill the share; raises 420."""
        counter = self._counter_with_room(counter, recipients)
        window = _as_of_now(counter.window)
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
        writes = [_replacement(self.account_id, counter, change)]
        if new.recipients or share.recipients:
            writes.append(_share_write(self.account_id, self.number, share, new))
        return writes

    def _counter_with_room(self, counter: Counter | None, recipients: int) -> Counter:
        """Return the counter, after taking back from shares what it needs; raises 420."""
        while True:
            counter = counter or _read_counter(self.account_id)
            if counter.shares is None and self.limits.any and gather(self.account_id):
                counter = _read_counter(self.account_id)
            if self._has_room(counter, recipients):
                return counter
            if not _take_back(self.account_id, counter, self._terms):
                _as_of_now(counter.window).check(recipients, self.limits)
            counter = None


def keys_to_read(account_id: int) -> list[Key]:
    """Return what to read before recipients are counted: this process's share, mostly."""
    keys = [_share_key(account_id, _own_number())]
    if _counted_in.get(account_id) != hour_of(clock.now()):
        keys.append(_counter_key(account_id))
    return keys


def meter(account: Account, keys: Sequence[Key], items: Mapping[Key, Item]) -> Meter:
    """Return the meter of the share at the first of ``keys``; ``items`` has those that exist."""
    share, *others = keys
    number = int(share[0].rpartition("#")[2])
    limits = account.limits(clock.now())
    counter = _counter_of(items.get(others[0])) if others else None
    return Meter(account.customer_id, number, limits, _share(items.get(share)), counter)


#: The hour in which this process last used its share, by account
_counted_in: dict[int, int] = {}


@cache
def _own_number() -> int:
    return random.randrange(SHARES)


def _remember(account_id: int) -> None:
    if len(_counted_in) >= _MOST_REMEMBERED:
        _counted_in.clear()
    _counted_in[account_id] = hour_of(clock.now())


@caches.register
def clear_cache() -> None:
    """Draw another share, and forget which were filled, as a new process does."""
    _own_number.cache_clear()
    _counted_in.clear()


def reserve_sandbox(account_id: int, messages: int, writes: Sequence[Write]) -> None:
    """Apply ``writes`` and count sandbox messages, both or neither; raises 420 (code 2101).

    An account has ``SANDBOX_MESSAGES`` of them in its life (spec 8).
    """
    if messages > SANDBOX_MESSAGES:
        raise _sandbox_exceeded(account_id)
    count = dynamo.update(
        _config,
        *_sandbox(account_id),
        "ADD #used :added",
        values={"added": messages, "room": SANDBOX_MESSAGES - messages},
        condition="attribute_not_exists(#used) OR #used <= :room",
    )
    try:
        dynamo.transact([*writes, count])
    except TransactionFailed as failure:
        if failure.failed != [len(writes)]:
            raise
        raise _sandbox_exceeded(account_id) from None


def give_back(account_id: int, recipients: int, counted_at: float, writes: Sequence[Write]) -> None:
    """Apply ``writes`` and uncount recipients that were counted at a time, both or neither.

    Raises :class:`TransactionFailed` if a condition of ``writes`` does not hold.
    """

    def attempt() -> None:
        seen = _read_counter(account_id)
        window = _as_of_now(seen.window).without(recipients, hour_of(counted_at))
        try:
            change = _replacement(account_id, seen, replace(seen, window=window))
            dynamo.transact([*writes, change])
        except TransactionFailed as failure:
            if failure.failed != [len(writes)]:
                raise
            raise _CounterMoved from None

    dynamo.retry_conflicts(attempt, on=_CounterMoved)


def give_back_sandbox(account_id: int, messages: int, writes: Sequence[Write]) -> None:
    """Apply ``writes`` and uncount sandbox messages, both or neither.

    Raises :class:`TransactionFailed` if a condition of ``writes`` does not hold.
    """
    change = dynamo.update(
        _config, *_sandbox(account_id), "ADD #used :added", values={"added": -messages}
    )
    dynamo.transact([*writes, change])


def get(account_id: int) -> tuple[Window, int]:
    """Return an account's usage as of now, and how many sandbox messages it has used."""
    sandbox = _sandbox(account_id)

    def attempt() -> tuple[Window, int]:
        items = _read_all(account_id, sandbox)
        used = items.pop(sandbox, {"used": 0})["used"]
        counter = _counter_of(items.pop(_counter_key(account_id), None))
        shares = _read_shares(account_id, counter)
        if shares and _read_counter(account_id) != counter:  # a share was filled meanwhile
            raise _CounterMoved
        total = _sum([counter.window, *map(_window, items.values())])
        for share, last in shares.values():
            total = replace(total, last=max(total.last, last))
            total = total.at(max(total.hour, share.hour)).without(share.recipients, share.hour)
        return _as_of_now(total), used

    return dynamo.retry_conflicts(attempt, on=_CounterMoved)


def gather(account_id: int) -> bool:
    """Add the counters that an account had before there were shares to its counter.

    Returns ``False`` if it has none.
    """

    def attempt() -> bool:
        items = _read_all(account_id)
        seen = _counter_of(items.pop(_counter_key(account_id), None))
        windows = {key: _window(item) for key, item in items.items()}
        if windows:
            total = replace(seen, window=_sum([seen.window, *windows.values()]))
            removals = [_removal(key, window) for key, window in windows.items()]
            dynamo.transact([_replacement(account_id, seen, total), *removals])
        return bool(windows)

    return dynamo.retry_conflicts(attempt)


def _take_back(account_id: int, counter: Counter, terms: str) -> bool:
    """Return recipients from shares to the counter; ``False`` if no share can hold any.

    Half of what a share in use holds is taken, so that its user does not come in between.
    """
    if not counter.shares:
        return False
    shares = _read_shares(account_id, counter)
    filled = {number: share for number, (share, _) in shares.items() if share.recipients}
    window = _as_of_now(counter.window)
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
                _config,
                *_share_key(account_id, number),
                "ADD #recipients :change",
                values={"change": -part, "part": part, "hour": share.hour},
                condition="#hour = :hour AND #recipients >= :part",
            )
        )
    try:
        change = _replacement(account_id, counter, Counter(window, tuple(sorted(filled))))
        dynamo.transact([change, *writes])
    except TransactionFailed:
        raise _CounterMoved from None
    return True


def _as_of_now(window: Window) -> Window:
    return window.at(hour_of(clock.now()))


def _sum(windows: Iterable[Window]) -> Window:
    total = _EMPTY
    for window in windows:
        total = total.plus(window)
    return total


def _replacement(account_id: int, seen: Counter, new: Counter) -> Write:
    """Return the action that sets the counter if it is unchanged since it was read."""
    fields = asdict(new.window)
    if new.shares is not None:
        fields["shares"] = list(new.shares)
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in fields)
    condition, values = _unchanged(seen.window)
    if seen.shares is not None:
        condition, values = (
            f"{condition} AND #shares = :seen_shares",
            values | {"seen_shares": list(seen.shares)},
        )
    elif seen.window != _EMPTY:
        condition += " AND attribute_not_exists(#shares)"
    key = _counter_key(account_id)
    return dynamo.update(_config, *key, change, values=fields | values, condition=condition)


def _share_write(account_id: int, number: int, seen: Share, new: Share) -> Write:
    """Return the action that sets a share if it is unchanged since it was read."""
    values: dict[str, Any] = asdict(new) | {"last": clock.now()}
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
    condition = "attribute_not_exists(#pk)"
    if seen != Share():
        seen_values = {f"seen_{name}": value for name, value in asdict(seen).items()}
        condition = " AND ".join(f"#{name} = :seen_{name}" for name in asdict(seen))
        values |= seen_values
    key = _share_key(account_id, number)
    return dynamo.update(_config, *key, change, values=values, condition=condition)


def _removal(key: Key, seen: Window) -> Write:
    condition, values = _unchanged(seen)
    return dynamo.delete(_config, *key, values=values, condition=condition)


def _unchanged(seen: Window) -> tuple[str, dict[str, Any]]:
    if seen == _EMPTY:
        return "attribute_not_exists(#pk)", {}
    fields = {"hour": seen.hour, "used": seen.used, "past": seen.past, "earlier": seen.earlier}
    condition = " AND ".join(f"#{name} = :seen_{name}" for name in fields)
    return condition, {f"seen_{name}": value for name, value in fields.items()}


def _read_all(account_id: int, *also: Key) -> dict[Key, Item]:
    """Return the counter and those that accounts without limits had before there were shares."""
    keys = [(f"usage#{account_id}#{number}", "usage") for number in range(_OLD_COUNTERS)]
    items = _config.get_all([*keys, *also], consistent=True)
    return {(item["pk"], item["sk"]): item for item in items}


def _read_counter(account_id: int) -> Counter:
    return _counter_of(_config.get(*_counter_key(account_id)))


def _read_shares(account_id: int, counter: Counter) -> dict[int, tuple[Share, float]]:
    """Return the shares that may hold recipients by number, each with the time of its last use."""
    numbers = {_share_key(account_id, number): number for number in counter.shares or ()}
    items = _config.get_all(numbers, consistent=True)
    return {numbers[item["pk"], item["sk"]]: (_share(item), item["last"]) for item in items}


def _counter_of(item: Item | None) -> Counter:
    if item is None:
        return Counter()
    shares = item.get("shares")
    return Counter(_window(item), None if shares is None else tuple(shares))


def _share(item: Item | None) -> Share:
    return Share(item["hour"], item["recipients"], item["terms"]) if item else Share()


def _window(item: Item | None) -> Window:
    if item is None:
        return _EMPTY
    return Window(item["hour"], item["used"], tuple(item["past"]), item["earlier"], item["last"])


def _sandbox_exceeded(account_id: int) -> ApiError:
    item = _config.get(*_sandbox(account_id))
    return exceeded("sandbox", SANDBOX_MESSAGES, item["used"] if item else 0)


def _counter_key(account_id: int) -> Key:
    return (f"usage#{account_id}#0", "usage")


def _share_key(account_id: int, number: int) -> Key:
    return (f"usage#{account_id}#share#{number}", "usage")


def _sandbox(account_id: int) -> Key:
    return (f"usage#{account_id}#sandbox", "usage")
