"""Plan a search for message events: choose the fewest partitions that hold all that match.

A search that names messages, recipients, transmissions or (few) campaigns reads the partitions of
these. Any other one goes through all of the account's events in the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from chalicelib.core.addresses import spellings
from chalicelib.events import search
from chalicelib.events.filters import EventFilters
from chalicelib.events.positions import EventWindow, moment_of
from chalicelib.events.search import Match
from chalicelib.events.store import day_index, partitions
from chalicelib.events.store.day_index import Day

#  If more campaigns than this match a keyword, all events are read
MOST_CAMPAIGNS: Final = 40


class QueryPlan:
    """How the events of an account in a window that pass filters are found.

    ``campaigns`` are those that the filters name, ``None`` if they name none. ``partitions`` are
    the ones to read, ``None`` if all of the account's events are gone through.
    """

    def __init__(self, account_id: int, filters: EventFilters, window: EventWindow) -> None:
        self.account_id = account_id
        self.filters = filters
        self.window = window
        self.campaigns = self._campaigns()
        self.partitions = self._partitions()

    @cached_property
    def days(self) -> Sequence[Day]:
        """The day index of the window, which is read once."""
        low, high = self.window.positions()
        return (
            day_index.days(self.account_id, moment_of(low), moment_of(high)) if low < high else []
        )

    def find(self, window: EventWindow, before: str = "") -> Iterator[Match]:
        """Yield the events in a part of the window, newest first, from behind ``before`` on."""
        conditions = self.filters.conditions
        if self.partitions is not None:
            matches = search.in_partitions(self.partitions, window, conditions, before=before)
        else:
            matches = search.by_time(
                self.account_id, window, conditions, before=before, days=self.days
            )
        # Event ids are unique: when all of them are found, nothing is left to look for
        event_ids = self.filters.values_of("event_ids")
        return islice(matches, len(event_ids)) if event_ids else matches

    def _campaigns(self) -> list[str] | None:
        values_of = self.filters.values_of
        if any(map(values_of, ("messages", "recipients", "transmissions"))):
            return None
        if not values_of("campaigns"):
            return None
        passes = self.filters.conditions["campaign_id"]
        return [name for name in day_index.campaigns(self.account_id) if passes(name)]

    def _partitions(self) -> list[str] | None:
        keys = self._unsharded()
        if keys is None or not any(map(partitions.is_spread, keys)):
            return keys
        return list(partitions.in_shards(keys, day_index.shards(self.days)))

    def _unsharded(self) -> list[str] | None:
        account, values_of = self.account_id, self.filters.values_of
        if ids := values_of("messages"):
            keys = (key for each in ids for key in partitions.of_message(account, each))
            return list(dict.fromkeys(keys))
        if addresses := values_of("recipients"):
            keys = (spelling for address in addresses for spelling in spellings(address))
            return [partitions.recipient(account, each) for each in keys]
        if ids := values_of("transmissions"):
            return [partitions.transmission(account, each) for each in ids]
        if self.campaigns is None or len(self.campaigns) > MOST_CAMPAIGNS:
            return None
        return [partitions.campaign(account, name) for name in self.campaigns]
