"""The search of message events (spec 4.10)."""

from __future__ import annotations

from typing import Final

from chalicelib.core.fields import Query
from chalicelib.events import filters, page_request, pages, totals
from chalicelib.events.pages import Found
from chalicelib.events.query_plan import Source

PATH: Final = "/api/v1/events/message"


def search(account_id: int, query: Query, confined_to: int | None = None) -> Found:
    """Return one page of an account's message events, newest first.

    ``confined_to`` is the one subaccount whose events may be shown, ``None`` for all of them.
    Raises 400 for a parameter that cannot be used, and 413 for a URI that is too long.
    """
    wanted = filters.read(query, confined_to)
    about = [account_id, confined_to, {name: sorted(v) for name, v in wanted.values.items()}]
    page = page_request.read(PATH, query, about)
    source = Source(account_id, wanted, page.window)
    found = source.find(page.window, page.before)
    return pages.page(page, found, lambda positions: totals.count(source, positions))
