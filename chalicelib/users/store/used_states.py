"""Note which signed states of a sign-in were used, so that each works once.

Access patterns of ``config``:

- a used state, by the SHA-256 of what it was drawn from → ``used-state#<sha256>`` / ``used``
"""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.core.dynamo import ConditionFailed, Keyed, Table
from chalicelib.users.model import digest

#: How long a note stays after the end of its state: longer than clocks differ
_MARGIN = 3600


class UsedStateItem(Keyed):
    """A state that was used."""

    expires: int


_states: Table[UsedStateItem] = Table("config")


def use(secret: str, ends: float) -> bool:
    """Note that a state is used; return ``False`` if it is over (``ends``, seconds) or was used."""
    if clock.now() >= ends:
        return False
    try:
        _states.create(
            {
                "pk": f"used-state#{digest(secret)}",
                "sk": "used",
                "expires": int(ends + _MARGIN),
            }
        )
    except ConditionFailed:
        return False
    return True
