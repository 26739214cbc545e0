"""Describe a subaccount: its status, IP pool and options (spec 2.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from chalicelib.core.errors import Forbidden

ACTIVE: Final = "active"
STATUSES: Final = (ACTIVE, "suspended", "terminated")
DEFAULT_OPTIONS: Final = {"deliverability": False, "open_tracking_disabled": False}

_ID = re.compile(r"[0-9]{1,10}", re.ASCII)
_MOST_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Subaccount:
    """One subaccount. Times are seconds; an empty ``ip_pool`` means any pool.

    The account sets ``status``, the operator ``compliance_status``: mail needs both to be active.
    ``revision`` grows with each change (stored as ``version``).
    """

    id: int
    account_id: int
    name: str
    created: float
    updated: float
    status: str = ACTIVE
    ip_pool: str = ""
    options: dict[str, bool] = field(default_factory=dict)
    revision: int = 1
    compliance_status: str = ACTIVE

    def option(self, name: str) -> bool:
        """Return the subaccount's choice for ``name``, or the default."""
        return self.options.get(name, DEFAULT_OPTIONS[name])

    def check_may_send(self) -> None:
        """Raise 403 unless the subaccount is active; requests that only read do not check this."""
        if self.status != ACTIVE:
            raise Forbidden(f"subaccount {self.id} is {self.status} and cannot send")
        if self.compliance_status != ACTIVE:
            text = f"compliance has {self.compliance_status} subaccount {self.id}: it cannot send"
            raise Forbidden(text)

    @property
    def effective_compliance_status(self) -> str:
        """Return the compliance status as the API shows it: it mirrors a status that is worse."""
        return self.status if self.compliance_status == ACTIVE else self.compliance_status


def is_id(text: str) -> bool:
    """Tell whether ``text`` can be an id: a number of at most 32 bits, signed (spec 1.6)."""
    return _ID.fullmatch(text) is not None and int(text) <= _MOST_ID
