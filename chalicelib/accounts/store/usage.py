"""Count the recipients that an account sends to, and refuse those over its plan's limits.

Recipients are counted when a transmission is accepted, in the same transaction that stores it, so
the count costs no request of its own and neither exists without the other. A transmission over a
limit is refused as a whole with 420 (spec 7, 8). The write compares the counter, so of two requests
at once one fails, reads the counter again and finds no room. A request that is stored and fails
later stays counted; one that is cancelled before it starts is given back.

Access patterns of ``config``:

- a counter of an account → ``usage#<account>#<number>`` / ``usage``
- what an account has used of its sandbox → ``usage#<account>#sandbox`` / ``usage``

An account with limits, or with a pending plan that has limits, has one counter, the first. Without
limits nothing is compared, and its counts go to any of ``COUNTERS`` counters, because transactions
on one item fail when they meet. :func:`gather` merges them when an account gets limits.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import Limits
from chalicelib.accounts.usage_window import Window, exceeded, hour_of
from chalicelib.core import clock, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Item, Table, TransactionFailed, Write
from chalicelib.core.errors import ApiError

_config = Table("config")

COUNTERS = 16
SANDBOX_MESSAGES = 5
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
class Meter:
    """A counter of an account, its value when it was read, and the limits that apply."""

    key: Key
    limits: Limits
    seen: Window

    def check(self, recipients: int) -> None:
        """Raise 420 if ``recipients`` more would exceed a limit."""
        _as_of_now(self.seen).check(recipients, self.limits)

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count ``recipients``, both or neither, in one request.

        Raises 420 if a limit would be exceeded, and :class:`TransactionFailed` if a condition of
        ``writes`` does not hold. If other requests counted in between, it takes two requests more.
        """
        meter = self

        def attempt() -> None:
            nonlocal meter
            meter.check(recipients)
            try:
                dynamo.transact([*writes, meter._count(recipients)])
            except TransactionFailed as failure:
                if failure.failed != [len(writes)]:
                    raise
                meter = replace(self, seen=_window(_config.get(*self.key)))
                raise _CounterMoved from None

        dynamo.retry_conflicts(attempt, on=_CounterMoved)

    def _count(self, recipients: int) -> Write:
        now = _as_of_now(self.seen)
        if now.hour != self.seen.hour:
            new = replace(now, used=recipients, last=clock.now())
            return _replacement(self.key, self.seen, new)
        values = {"hour": now.hour, "added": recipients, "last": clock.now()}
        condition = "#hour = :hour"
        most = now.most(self.limits)
        if most is not None:
            values["room"] = most - recipients
            condition += " AND #used <= :room"
        change = "SET #last = :last ADD #used :added"
        return dynamo.update(_config, *self.key, change, values=values, condition=condition)


def counters_to_read(account_id: int) -> list[Key]:
    """Return the counters to read before the limits are known: the first, and a random one."""
    numbers = dict.fromkeys((0, random.randrange(COUNTERS)))
    return [_counter(account_id, number) for number in numbers]


def meter(account: Account, keys: Sequence[Key], items: Mapping[Key, Item]) -> Meter:
    """Return the meter of one of the counters ``keys``, of which ``items`` has those that exist."""
    key = keys[0] if account.is_limited else keys[-1]
    return Meter(key, account.limits(clock.now()), _window(items.get(key)))


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

    They leave the first counter, whichever counted them. Raises :class:`TransactionFailed` if a
    condition of ``writes`` does not hold.
    """
    key = _counter(account_id, 0)

    def attempt() -> None:
        seen = _window(_config.get(*key))
        new = _as_of_now(seen).without(recipients, hour_of(counted_at))
        try:
            dynamo.transact([*writes, _replacement(key, seen, new)])
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
    items = _read_all(account_id, _sandbox(account_id))
    sandbox = items.pop(_sandbox(account_id), {"used": 0})
    return _as_of_now(_sum(map(_window, items.values()))), sandbox["used"]


def gather(account_id: int) -> None:
    """Merge the counters of an account into its first one, which limits are compared with.

    A process that still has the account without limits in its config cache counts elsewhere; such
    counts appear in the usage and are not compared with the limits.
    """
    first = _counter(account_id, 0)

    def attempt() -> None:
        windows = {key: _window(item) for key, item in _read_all(account_id).items()}
        others = [key for key in windows if key != first]
        if others:
            total = _replacement(first, windows.get(first, _EMPTY), _sum(windows.values()))
            dynamo.transact([total, *(_removal(key, windows[key]) for key in others)])

    dynamo.retry_conflicts(attempt)


def _as_of_now(window: Window) -> Window:
    return window.at(hour_of(clock.now()))


def _sum(windows: Iterable[Window]) -> Window:
    total = _EMPTY
    for window in windows:
        total = total.plus(window)
    return total


def _replacement(key: Key, seen: Window, new: Window) -> Write:
    """Return the action that sets a counter if it is unchanged since it was read."""
    fields = asdict(new)
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in fields)
    condition, values = _unchanged(seen)
    return dynamo.update(_config, *key, change, values=fields | values, condition=condition)


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
    keys = [_counter(account_id, number) for number in range(COUNTERS)]
    items = _config.get_all([*keys, *also], consistent=True)
    return {(item["pk"], item["sk"]): item for item in items}


def _window(item: Item | None) -> Window:
    if item is None:
        return _EMPTY
    return Window(item["hour"], item["used"], tuple(item["past"]), item["earlier"], item["last"])


def _sandbox_exceeded(account_id: int) -> ApiError:
    item = _config.get(*_sandbox(account_id))
    return exceeded("sandbox", SANDBOX_MESSAGES, item["used"] if item else 0)


def _counter(account_id: int, number: int) -> Key:
    return (f"usage#{account_id}#{number}", "usage")


def _sandbox(account_id: int) -> Key:
    return (f"usage#{account_id}#sandbox", "usage")
