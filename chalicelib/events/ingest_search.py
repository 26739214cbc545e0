"""Search ingest events (spec 4.10): the results of ingested batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import boolean, whole_number
from chalicelib.core.query import Query, delimited_list
from chalicelib.events import pages, request, search
from chalicelib.events.event_blocks import Conditions
from chalicelib.events.filters import PRIMARY
from chalicelib.events.pages import EventPage
from chalicelib.events.store import partitions

PATH: Final = "/api/v1/events/ingest"
TYPES: Final = ("success", "error")

_LISTS = {
    "events": "type",
    "event_ids": "event_id",
    "batch_ids": "batch_id",
    "error_types": "error_type",
}


def search_ingests(account_id: int, query: Query, confined_to: int | None = None) -> EventPage:
    """Return one page of an account's ingest events, newest first; raises 400 and 413."""
    values = _read(query, confined_to)
    page = request.read(PATH, query, [account_id, confined_to, values])
    matches = search.in_partitions(
        [partitions.ingest(account_id)], page.window, _conditions(values), before=page.before
    )
    return pages.page_of(page, matches)


def _read(query: Query, confined_to: int | None) -> dict[str, list[str]]:
    """Return the sorted values that each field may have; raises 400."""
    values = {
        field: sorted(text.lower() for text in delimited_list(query, name))
        for name, field in _LISTS.items()
    }
    for kind in values["type"]:
        if kind not in TYPES:
            raise invalid_params(f"events must be of {' and '.join(TYPES)}, not {kind[:100]!r}")
    owners = delimited_list(query, "subaccounts")
    values["subaccount_id"] = sorted(whole_number("subaccounts", each) for each in owners)
    if confined_to is not None:
        own = str(confined_to)
        values["subaccount_id"] = [own] if own in (values["subaccount_id"] or [own]) else ["-"]
    retryable = boolean(query, "retryable")
    values["retryable"] = [] if retryable is None else [str(retryable).lower()]
    return {name: texts for name, texts in values.items() if texts}


def _conditions(values: dict[str, list[str]]) -> Conditions:
    return {name: _is_one_of(name, frozenset(texts)) for name, texts in values.items()}


def _is_one_of(name: str, texts: frozenset[str]) -> Callable[[Any], bool]:
    absent = PRIMARY if name == "subaccount_id" else ""
    return lambda value: str(absent if value is None else value).lower() in texts
