"""Where the events that a search wants are looked for: in the fewest partitions that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from chalicelib.events import day_index, places, reading
from chalicelib.events.day_index import Day
from chalicelib.events.event_blocks import moment_of
from chalicelib.events.filters import Filters
from chalicelib.events.reading import Match, Window

#: A keyword that more campaigns have is looked for among all events
MOST_CAMPAIGNS: Final = 40


class Source:
    """The events of an account in a window that pass filters. What is noted of them is read once.

    ``campaigns`` are those that the filters name, ``None`` if they name none.
    """

    def __init__(self, account_id: int, wanted: Filters, window: Window) -> None:
        self.account_id = account_id
        self.wanted = wanted
        self.window = window
        self.campaigns: list[str] | None = None
        keys = self._partitions()
        self._keys = keys if keys is None else [each for each in keys if _can_be(each)]

    @property
    def is_by_time(self) -> bool:
        """Tell whether all of the account's events in the window are gone through."""
        return self._keys is None

    @cached_property
    def days(self) -> Sequence[Day]:
        """What is noted of the window's days."""
        first, last = reading.bounds(self.window)
        return (
            day_index.days(self.account_id, moment_of(first), moment_of(last))
            if first < last
            else []
        )

    def find(self, window: Window, before: str = "") -> Iterator[Match]:
        """Yield the events in a part of the window, newest first, from behind ``before`` on."""
        conditions = self.wanted.conditions
        if self._keys is not None:
            found = reading.in_partitions(self._keys, window, conditions, before=before)
        else:
            found = reading.by_time(
                self.account_id, window, conditions, before=before, days=self.days
            )
        # No two events have the same id: when all are found, nothing is left to look for
        names = self.wanted.named("event_ids")
        return islice(found, len(names)) if names else found

    def _partitions(self) -> list[str] | None:
        account, wanted = self.account_id, self.wanted
        if names := wanted.named("messages"):
            keys = (key for name in names for key in places.partitions_of_message(account, name))
            return list(dict.fromkeys(keys))
        if names := wanted.named("recipients"):
            return [places.recipient(account, each) for each in names]
        if names := wanted.named("transmissions"):
            return [places.transmission(account, each) for each in names]
        if not wanted.named("campaigns"):
            return None
        is_wanted = wanted.conditions["campaign_id"]
        self.campaigns = [each for each in day_index.campaigns(account) if is_wanted(each)]
        if len(self.campaigns) > MOST_CAMPAIGNS:
            return None
        return [places.campaign(account, each) for each in self.campaigns]


def _can_be(partition: str) -> bool:
    """Tell whether there can be a partition of this name: values are as long as a URI may be."""
    return len(partition.encode("utf-8", "surrogatepass")) <= places.LONGEST
