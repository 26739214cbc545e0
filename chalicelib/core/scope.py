"""Name the part of an account that a request is about: the primary account, a subaccount, or all.

Spec 5.6: a key of the primary account may name a subaccount in a header. Without it, GET covers the
primary account and all subaccounts, and every other method is about the primary account; ``0``
means the primary account alone. A subaccount's key is confined to its subaccount. Routes may be
declared to ignore the header.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PRIMARY = 0

#: The account of the service itself, which owns its domain and the sample template
SYSTEM_ACCOUNT: Final = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """An account and a part of it: ``None`` for all, ``0`` the primary account, else an id."""

    account_id: int
    part: int | None

    @property
    def spans(self) -> bool:
        """Tell whether the scope covers the primary account and all subaccounts."""
        return self.part is None

    @property
    def owner(self) -> int | None:
        """Return the ``subaccount_id`` of records made in this scope (``None`` for the primary)."""
        return self.part or None

    def covers(self, subaccount_id: int | None) -> bool:
        """Tell whether a record of this account with this ``subaccount_id`` is in scope."""
        return self.part is None or self.part == (subaccount_id or PRIMARY)
