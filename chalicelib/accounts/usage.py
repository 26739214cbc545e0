"""How much of its plan an account has used: counted with what is accepted, or not at all.

Recipients are counted when a transmission is accepted, in the same transaction that stores it, so
the count costs no request of its own and neither exists without the other. Where a limit would be
exceeded the whole transmission is refused with 420 (spec 7, 8). The counter is compared in the
write, so of two requests at once one fails, looks again and finds no room. A request that is
stored and then does not come to its end stays counted.

Access patterns (table ``config``):

- a counter of an account → ``pk = usage#<account>#<number>``, ``sk = usage``
- what an account has used of its sandbox → ``pk = usage#<account>#sandbox``, ``sk = usage``

An account with limits, or with limits to come, has one counter, the first. Without limits nothing
is compared, and its counts go to any of ``COUNTERS`` counters: a transaction fails when it meets
another on one item. :func:`gather` brings them together when an account gets limits.
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
from chalicelib.core.errors import ApiError, Unavailable

_config = Table("config")

COUNTERS = 16
SANDBOX_MESSAGES = 5
_ATTEMPTS = 20
_NONE_YET = Window()


class Allowance(Protocol):
    """What counts recipients as they are accepted, and says when they are too many."""

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
        """Raise 420 for what can never be allowed."""
        if recipients > SANDBOX_MESSAGES:
            raise _sandbox_exceeded(self.account_id)

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count the messages, both or neither; raises 420 (code 2101)."""
        reserve_sandbox(self.account_id, recipients, writes)


@dataclass(frozen=True, slots=True)
class Meter:
    """A counter of an account, with what it showed when it was read, and the limits in force."""

    key: Key
    limits: Limits
    seen: Window

    def check(self, recipients: int) -> None:
        """Raise 420 if ``recipients`` more would exceed a limit."""
        _as_of_now(self.seen).check(recipients, self.limits)

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count ``recipients``, both or neither, in one request.

        Raises 420 if a limit would be exceeded, and :class:`TransactionFailed` if a condition of
        ``writes`` does not hold. If others counted in between it takes two requests more.
        """
        meter = self
        for _ in range(_ATTEMPTS):
            meter.check(recipients)
            try:
                dynamo.transact([*writes, meter._count(recipients)])
                return
            except TransactionFailed as failure:
                if failure.failed != [len(writes)]:
                    raise
            meter = replace(self, seen=_window(_config.get(*self.key)))
        raise Unavailable

    def _count(self, recipients: int) -> Write:
        now = _as_of_now(self.seen)
        if now.hour != self.seen.hour:
            counted = replace(now, used=recipients, last=clock.now())
            return _replacement(self.key, self.seen, counted)
        values = {"hour": now.hour, "added": recipients, "last": clock.now()}
        condition = "#hour = :hour"
        most = now.most(self.limits)
        if most is not None:
            values["room"] = most - recipients
            condition += " AND #used <= :room"
        change = "SET #last = :last ADD #used :added"
        return dynamo.update(_config, *self.key, change, values=values, condition=condition)


def counters_to_read(account_id: int) -> list[Key]:
    """Return which counters to read before it is known of limits: the first, and any one."""
    numbers = dict.fromkeys((0, random.randrange(COUNTERS)))
    return [_counter(account_id, number) for number in numbers]


def meter(account: Account, read: Sequence[Key], items: Mapping[Key, Item]) -> Meter:
    """Return the counter to use of those that were ``read``; ``items`` has those that exist."""
    key = read[0] if account.is_limited else read[-1]
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


def used(account_id: int) -> tuple[Window, int]:
    """Return what an account has accepted, as of now, and how much of its sandbox it has used."""
    items = _read_all(account_id, _sandbox(account_id))
    sandbox = items.pop(_sandbox(account_id), {"used": 0})
    return _as_of_now(_sum(map(_window, items.values()))), sandbox["used"]


def gather(account_id: int) -> None:
    """Bring the counts of an account together in its first counter, for limits to look at.

    What processes count elsewhere while they still remember the account without limits is shown
    in its usage and not compared with the limits.
    """
    first = _counter(account_id, 0)
    for _ in range(_ATTEMPTS):
        found = {key: _window(item) for key, item in _read_all(account_id).items()}
        others = [key for key in found if key != first]
        if not others:
            return
        whole = _replacement(first, found.get(first, _NONE_YET), _sum(found.values()))
        try:
            dynamo.transact([whole, *(_removal(key, found[key]) for key in others)])
        except TransactionFailed:
            continue
        return
    raise Unavailable


def _as_of_now(window: Window) -> Window:
    return window.at(hour_of(clock.now()))


def _sum(windows: Iterable[Window]) -> Window:
    whole = _NONE_YET
    for window in windows:
        whole = whole.plus(window)
    return whole


def _replacement(key: Key, seen: Window, new: Window) -> Write:
    """Return the action that sets a counter, if it still shows what was seen."""
    fields = asdict(new)
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in fields)
    condition, values = _unchanged(seen)
    return dynamo.update(_config, *key, change, values=fields | values, condition=condition)


def _removal(key: Key, seen: Window) -> Write:
    condition, values = _unchanged(seen)
    return dynamo.delete(_config, *key, values=values, condition=condition)


def _unchanged(seen: Window) -> tuple[str, dict[str, Any]]:
    if seen == _NONE_YET:
        return "attribute_not_exists(#pk)", {}
    values = {"seen_hour": seen.hour, "seen_used": seen.used}
    return "#hour = :seen_hour AND #used = :seen_used", values


def _read_all(account_id: int, *also: Key) -> dict[Key, Item]:
    keys = [_counter(account_id, number) for number in range(COUNTERS)]
    items = _config.get_all([*keys, *also], consistent=True)
    return {(item["pk"], item["sk"]): item for item in items}


def _window(item: Item | None) -> Window:
    if item is None:
        return _NONE_YET
    return Window(item["hour"], item["used"], tuple(item["past"]), item["earlier"], item["last"])


def _sandbox_exceeded(account_id: int) -> ApiError:
    item = _config.get(*_sandbox(account_id))
    return exceeded("sandbox", SANDBOX_MESSAGES, item["used"] if item else 0)


def _counter(account_id: int, number: int) -> Key:
    return (f"usage#{account_id}#{number}", "usage")


def _sandbox(account_id: int) -> Key:
    return (f"usage#{account_id}#sandbox", "usage")
