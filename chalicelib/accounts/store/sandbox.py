"""Count the messages that an account sends without a domain of its own, and refuse the sixth.

Access patterns of ``config``:

- what an account has used of its sandbox → ``usage#<account>#sandbox`` / ``usage``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from chalicelib.accounts.usage_window import exceeded
from chalicelib.core import dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write
from chalicelib.core.errors import ApiError


class SandboxUsageItem(Keyed):
    """What an account has used of its sandbox."""

    #: Messages
    used: int


_config: Table[SandboxUsageItem] = Table("config")

SANDBOX_MESSAGES = 5


@dataclass(frozen=True, slots=True)
class SandboxAllowance:
    """The messages that an account may send in its life without a domain of its own (spec 8)."""

    account_id: int

    counts_at_acceptance: ClassVar[bool] = True

    def check(self, recipients: int) -> None:
        """Raise 420 for more recipients than any account may have."""
        if recipients > SANDBOX_MESSAGES:
            raise _exceeded(self.account_id)

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count the messages, both or neither; raises 420 (code 2101)."""
        reserve(self.account_id, recipients, writes)


def reserve(account_id: int, messages: int, writes: Sequence[Write]) -> None:
    """Apply ``writes`` and count sandbox messages, both or neither; raises 420 (code 2101).

    An account has ``SANDBOX_MESSAGES`` of them in its life (spec 8).
    """
    if messages > SANDBOX_MESSAGES:
        raise _exceeded(account_id)
    count = dynamo.update(
        _config,
        *key_of(account_id),
        "ADD #used :added",
        values={"added": messages, "room": SANDBOX_MESSAGES - messages},
        condition="attribute_not_exists(#used) OR #used <= :room",
    )
    try:
        dynamo.transact([*writes, count])
    except TransactionFailed as failure:
        if failure.failed != [len(writes)]:
            raise
        raise _exceeded(account_id) from None


def give_back(account_id: int, messages: int, writes: Sequence[Write]) -> None:
    """Apply ``writes`` and uncount sandbox messages, both or neither.

    Raises :class:`TransactionFailed` if a condition of ``writes`` does not hold.
    """
    change = dynamo.update(
        _config, *key_of(account_id), "ADD #used :added", values={"added": -messages}
    )
    dynamo.transact([*writes, change])


def key_of(account_id: int) -> Key:
    """Return the key of the item that counts an account's sandbox messages."""
    return (f"usage#{account_id}#sandbox", "usage")


def used(item: SandboxUsageItem | None) -> int:
    """Return how many sandbox messages such an item counts."""
    return item["used"] if item else 0


def _exceeded(account_id: int) -> ApiError:
    return exceeded("sandbox", SANDBOX_MESSAGES, used(_config.get(*key_of(account_id))))
