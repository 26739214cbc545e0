"""Read and correct what an account has used: the recipients of its hours, its day and its month.

Recipients of accounts with limits are counted when they are accepted (``meter``). Those of accounts
without limits are counted with the first event of each recipient (:func:`count`): that makes
acceptance cheaper, and nobody is refused by the count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chalicelib.accounts.store import sandbox
from chalicelib.accounts.store.usage_items import (
    CounterChanged,
    as_of_now,
    counter_key,
    counter_of,
    read_all,
    read_counter,
    read_shares,
    removal,
    replacement,
    sum_of,
    window_of,
)
from chalicelib.accounts.usage_window import UsageWindow, hour_of
from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed, Write


def get(account_id: int) -> tuple[UsageWindow, int]:
    """Return an account's usage as of now, and how many sandbox messages it has used."""
    sandbox_key = sandbox.key_of(account_id)

    def attempt() -> tuple[UsageWindow, int]:
        items = read_all(account_id, sandbox_key)
        used = sandbox.used(items.pop(sandbox_key, None))
        counter = counter_of(items.pop(counter_key(account_id), None))
        shares = read_shares(account_id, counter)
        if shares and read_counter(account_id) != counter:  # a share was filled meanwhile
            raise CounterChanged
        total = sum_of([counter.window, *map(window_of, items.values())])
        for share, last in shares.values():
            total = replace(total, last=max(total.last, last))
            total = total.at(max(total.hour, share.hour)).without(share.recipients, share.hour)
        return as_of_now(total), used

    return dynamo.retry_conflicts(attempt, on=CounterChanged)


def gather(account_id: int) -> bool:
    """Add the counters that an account had in version 0.1.0 to its counter.

    That happens when the account gets limits, so it stays. Returns ``False`` if it has none.
    """

    def attempt() -> bool:
        items = read_all(account_id)
        seen = counter_of(items.pop(counter_key(account_id), None))
        windows = {key: window_of(item) for key, item in items.items()}
        if windows:
            total = replace(seen, window=sum_of([seen.window, *windows.values()]))
            removals = [removal(key, window) for key, window in windows.items()]
            dynamo.transact([replacement(account_id, seen, total), *removals])
        return bool(windows)

    return dynamo.retry_conflicts(attempt)


def give_back(account_id: int, recipients: int, counted_at: float, writes: Sequence[Write]) -> None:
    """Apply ``writes`` and uncount recipients that were counted at a time, both or neither.

    Raises :class:`TransactionFailed` if a condition of ``writes`` does not hold.
    """

    def attempt() -> None:
        seen = read_counter(account_id)
        window = as_of_now(seen.window).without(recipients, hour_of(counted_at))
        try:
            change = replacement(account_id, seen, replace(seen, window=window))
            dynamo.transact([*writes, change])
        except TransactionFailed as failure:
            if failure.failed != [len(writes)]:
                raise
            raise CounterChanged from None

    dynamo.retry_conflicts(attempt, on=CounterChanged)


def count(account_id: int, seq: int, recipients: Mapping[int, int]) -> None:
    """Add recipients who were not counted when they were accepted, by minute since the epoch.

    The events of an account are rolled up in steps, each with a greater number ``seq`` than the one
    before. The counter holds the number of the last step, so repeating a step changes nothing.
    """
    if not recipients:
        return

    def attempt() -> None:
        seen = read_counter(account_id)
        if seen.rollup >= seq:
            return
        window = as_of_now(seen.window)
        for minute, number in recipients.items():
            window = window.with_more(number, hour_of(minute * 60))
        window = replace(window, last=max(window.last, max(recipients) * 60))
        try:
            dynamo.write(replacement(account_id, seen, replace(seen, window=window, rollup=seq)))
        except TransactionFailed:
            raise CounterChanged from None

    dynamo.retry_conflicts(attempt, on=CounterChanged)
