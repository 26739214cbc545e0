"""Say how many recipients a sender may still have, before acceptance stores anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Write


class Allowance(Protocol):
    """Counts recipients as they are accepted, and refuses those over a limit.

    An allowance without ``counts_at_acceptance`` leaves counting to the first event of each
    recipient (``usage.count``).
    """

    counts_at_acceptance: ClassVar[bool]

    def check(self, recipients: int) -> None:
        """Raise 420 if ``recipients`` more would exceed a limit."""
        ...

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes`` and count ``recipients``, both or neither; raises 420."""
        ...


class Unlimited:
    """The allowance of an account without limits: nothing is refused or counted."""

    counts_at_acceptance: ClassVar[bool] = False

    def check(self, recipients: int) -> None:
        """Do nothing: there is no limit."""

    def reserve(self, recipients: int, writes: Sequence[Write]) -> None:
        """Apply ``writes``; a single one is no transaction, which would take twice the units.

        Raises :class:`TransactionFailed`.
        """
        if len(writes) == 1:
            dynamo.write(writes[0])
        else:
            dynamo.transact(writes)
