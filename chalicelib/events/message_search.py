"""Search message events (spec 4.10)."""

from __future__ import annotations

from typing import Final

from chalicelib.core.query import Query
from chalicelib.events import filters, pages, request, totals
from chalicelib.events.pages import EventPage
from chalicelib.events.query_plan import QueryPlan

PATH: Final = "/api/v1/events/message"


def search_messages(account_id: int, query: Query, confined_to: int | None = None) -> EventPage:
    """Return one page of an account's message events, newest first.

    ``confined_to`` is the one subaccount whose events may be shown, ``None`` for all of them.
    Raises 400 for a parameter that cannot be used, and 413 for a URI that is too long.
    """
    conditions = filters.read(query, confined_to)
    values = {name: sorted(each) for name, each in conditions.values.items()}
    page = request.read(PATH, query, [account_id, confined_to, values])
    plan = QueryPlan(account_id, conditions, page.window)
    matches = plan.find(page.window, page.before)
    return pages.page_of(page, matches, lambda positions: totals.count(plan, positions))
