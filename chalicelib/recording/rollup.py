"""Roll up the metrics of all accounts, and count their messages for seeding and for the usage."""

from __future__ import annotations

from chalicelib.accounts.store import usage
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.rollup import injected, roll_up_pending
from chalicelib.seeding import counting as seeding


def roll_up() -> None:
    """Add all pending deltas to the counters, and what they count to campaigns and to usage."""
    roll_up_pending([_count_for_seeding, _count_usage])


def _count_for_seeding(account_id: int, seq: int, delta: Delta) -> None:
    if numbers := injected(delta):
        seeding.count(account_id, seq, numbers)


def _count_usage(account_id: int, seq: int, delta: Delta) -> None:
    usage.count(account_id, seq, delta.recipients)
