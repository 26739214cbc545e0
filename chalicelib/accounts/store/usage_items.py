"""Keep the counter of an account's recipients, and the shares that were counted in advance.

Access patterns of ``config``:

- the counter of an account → ``usage#<account>#0`` / ``usage``
- a share of an account's recipients → ``usage#<account>#share#<number>`` / ``usage``

In version 0.1.0, accounts without limits had sixteen counters, ``usage#<account>#1`` and so on.
They are added to the counter when the account gets limits (``usage.gather``; stays).

Each write is on the condition that its item is as it was read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NotRequired

from chalicelib.accounts.usage_window import UsageWindow, hour_of
from chalicelib.core import clock, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Keyed, Table, Write


class UsageItem(Keyed):
    """The counter of an account: the fields of ``UsageWindow`` and ``Counter``."""

    #: The clock hour, in hours since the epoch
    hour: int
    #: Recipients of this hour
    used: int
    #: Recipients of the 23 hours before, newest first
    past: list[int]
    #: Recipients of the month's hours before
    earlier: int
    #: When something was last accepted, in seconds
    last: float
    #: The numbers of the shares that may hold recipients
    shares: NotRequired[list[int]]
    #: The number of the last rollup of events that was added
    rollup: NotRequired[int]


class UsageShareItem(Keyed):
    """Recipients that were counted in advance: the fields of ``Share``."""

    hour: int
    recipients: int
    terms: str
    #: When it was last used, in seconds
    last: float


config: Table[UsageItem] = Table("config")
share_table: Table[UsageShareItem] = Table("config")

_OLD_COUNTERS = 16
_EMPTY = UsageWindow()


class CounterChanged(Exception):
    """The counter or a share changed since it was read."""


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
    ``rollup`` is the number of the last rollup of events that was added to it.
    """

    window: UsageWindow = _EMPTY
    shares: tuple[int, ...] | None = None
    rollup: int = 0


def as_of_now(window: UsageWindow) -> UsageWindow:
    """Return the counts as of the present hour."""
    return window.at(hour_of(clock.now()))


def sum_of(windows: Iterable[UsageWindow]) -> UsageWindow:
    """Return the sum of several counts of one account."""
    total = _EMPTY
    for window in windows:
        total = total.plus(window)
    return total


def replacement(account_id: int, seen: Counter, new: Counter) -> Write:
    """Return the action that sets the counter if it is unchanged since it was read."""
    fields = asdict(new.window)
    if new.shares is not None:
        fields["shares"] = list(new.shares)
    if new.rollup:
        fields["rollup"] = new.rollup
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in fields)
    condition, values = _unchanged(seen.window)
    if seen.shares is not None:
        condition, values = (
            f"{condition} AND #shares = :seen_shares",
            values | {"seen_shares": list(seen.shares)},
        )
    elif seen.window != _EMPTY:
        condition += " AND attribute_not_exists(#shares)"
    if seen.rollup:
        condition, values = (
            f"{condition} AND #rollup = :seen_rollup",
            values | {"seen_rollup": seen.rollup},
        )
    elif seen.window != _EMPTY:
        condition += " AND attribute_not_exists(#rollup)"
    key = counter_key(account_id)
    return dynamo.update(config, *key, change, values=fields | values, condition=condition)


def share_write(account_id: int, number: int, seen: Share, new: Share) -> Write:
    """Return the action that sets a share if it is unchanged since it was read."""
    values: dict[str, Any] = asdict(new) | {"last": clock.now()}
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
    condition = "attribute_not_exists(#pk)"
    if seen != Share():
        seen_values = {f"seen_{name}": value for name, value in asdict(seen).items()}
        condition = " AND ".join(f"#{name} = :seen_{name}" for name in asdict(seen))
        values |= seen_values
    key = share_key(account_id, number)
    return dynamo.update(share_table, *key, change, values=values, condition=condition)


def removal(key: Key, seen: UsageWindow) -> Write:
    """Return the action that deletes a counter if it is unchanged since it was read."""
    condition, values = _unchanged(seen)
    return dynamo.delete(config, *key, values=values, condition=condition)


def read_all(account_id: int, *also: Key) -> dict[Key, UsageItem]:
    """Return the counter and those that accounts without limits had in version 0.1.0."""
    keys = [(f"usage#{account_id}#{number}", "usage") for number in range(_OLD_COUNTERS)]
    items = config.get_all([*keys, *also], consistent=True)
    return {(item["pk"], item["sk"]): item for item in items}


def read_counter(account_id: int) -> Counter:
    """Return the counter as it is now."""
    return counter_of(config.get(*counter_key(account_id)))


def read_shares(account_id: int, counter: Counter) -> dict[int, tuple[Share, float]]:
    """Return the shares that may hold recipients by number, each with the time of its last use."""
    numbers = {share_key(account_id, number): number for number in counter.shares or ()}
    items = share_table.get_all(numbers, consistent=True)
    return {numbers[item["pk"], item["sk"]]: (share_of(item), item["last"]) for item in items}


def counter_of(item: UsageItem | None) -> Counter:
    """Return the counter that an item holds; ``None`` is one that counted nothing."""
    if item is None:
        return Counter()
    shares = item.get("shares")
    return Counter(
        window_of(item), None if shares is None else tuple(shares), item.get("rollup", 0)
    )


def share_of(item: UsageShareItem | None) -> Share:
    """Return the share that an item holds; ``None`` is an empty one."""
    return Share(item["hour"], item["recipients"], item["terms"]) if item else Share()


def window_of(item: UsageItem) -> UsageWindow:
    """Return the counts that the item of a counter holds."""
    return UsageWindow(
        item["hour"], item["used"], tuple(item["past"]), item["earlier"], item["last"]
    )


def counter_key(account_id: int) -> Key:
    """Return the key of an account's counter."""
    return (f"usage#{account_id}#0", "usage")


def share_key(account_id: int, number: int) -> Key:
    """Return the key of a share."""
    return (f"usage#{account_id}#share#{number}", "usage")


def _unchanged(seen: UsageWindow) -> tuple[str, dict[str, Any]]:
    if seen == _EMPTY:
        return "attribute_not_exists(#pk)", {}
    fields = {"hour": seen.hour, "used": seen.used, "past": seen.past, "earlier": seen.earlier}
    condition = " AND ".join(f"#{name} = :seen_{name}" for name in fields)
    return condition, {f"seen_{name}": value for name, value in fields.items()}
