"""Count the message events of some messages, recipients or transmissions by type.

All events that match are read, in one pass. A search that names none of the three would read the
events of a whole account, so it is refused.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from chalicelib.core.errors import missing_parameter
from chalicelib.core.query import Query
from chalicelib.events import filters, request
from chalicelib.events.query_plan import QueryPlan

PATH: Final = "/api/v1/events/message/counts"
NARROW: Final = ("messages", "recipients", "transmissions")


def count_by_type(account_id: int, query: Query, confined_to: int | None = None) -> dict[str, int]:
    """Return event type → number of events in the window; types without events are left out.

    ``confined_to`` is the one subaccount whose events may be counted, ``None`` for all of them.
    Raises 400 for a parameter that cannot be used, and 413 for a URI that is too long.
    """
    conditions = filters.read(query, confined_to)
    if not any(map(conditions.values_of, NARROW)):
        raise missing_parameter(f"one of {', '.join(NARROW)} is required")
    window = request.read(PATH, query, []).window
    matches = QueryPlan(account_id, conditions, window).find(window)
    return dict(Counter(match.block.column("type")[match.row] for match in matches))
