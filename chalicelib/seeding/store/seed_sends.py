"""Runs: what one seeding of a campaign is to send, to whom and when.

A run is fixed when the threshold is met: the addresses, the message to copy, and the times, which
are spread evenly over the duration. It has an id of its own, drawn as that of a transmission: its
messages get their ids from it, with indexes that no recipient of a transmission has.

Access patterns (table ``metrics``):

- one run → ``pk = inline-seeds#<account>``, ``sk = run#<id>``

What is to be sent next is noted in ``core.due``, concern ``seeding``: at first all of a run, then
what follows on the first stretch, and so on. A stretch is the same whoever sends it and when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from chalicelib.core import dynamo, ids
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Item, Table, Write
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.store import samples
from chalicelib.seeding.store.counters import partition
from chalicelib.seeding.store.samples import Sample

CONCERN: Final = "seeding"
STRETCH_MS: Final = 60_000
AHEAD_MS: Final = 90_000
"""How long before its first message a stretch is due: longer than from one tick to the next."""

_SEED_BIT: Final = 1 << 31
_RETENTION = 7 * 86_400

_metrics = Table("metrics")


@dataclass(frozen=True, slots=True)
class Run:
    """One seeding of a campaign. Times are milliseconds."""

    account_id: int
    id: str
    campaign: Campaign
    start_ms: int
    duration_ms: int
    addresses: tuple[str, ...]
    sample: Sample

    def at_ms(self, number: int) -> int:
        """Return when the message to an address, counted from 0, is to leave."""
        return self.start_ms + number * self.duration_ms // len(self.addresses)

    def stretch(self, first: int) -> range:
        """Return which messages belong to the stretch that begins with ``first``."""
        end = self.at_ms(first) + STRETCH_MS
        last = first + 1
        while last < len(self.addresses) and self.at_ms(last) < end:
            last += 1
        return range(first, last)

    def due(self, first: int) -> Due:
        """Return the note that the stretch which begins with ``first`` is to be sent."""
        at_ms = self.start_ms if first == 0 else self.at_ms(first) - AHEAD_MS
        data = {"account_id": self.account_id, "run": self.id, "first": first}
        return Due(CONCERN, max(at_ms, self.start_ms), f"{self.id}#{first:06d}", data)

    def index(self, number: int) -> int:
        """Return the index in the message's id."""
        return _SEED_BIT + number


def is_seed(event: dict[str, Any]) -> bool:
    """Tell whether an event is about a seed message, by its ids; others' ids may look the same."""
    try:
        transmission_id, index = ids.transmission_of(event.get("message_id", ""))
    except ValueError:
        return False
    return index >= _SEED_BIT and event.get("transmission_id") == transmission_id


def addition(run: Run) -> Write:
    """Return the action that stores a run."""
    campaign: Item = run.campaign._asdict()
    return dynamo.put(
        _metrics,
        campaign
        | samples.to_fields(run.sample)
        | {
            "pk": partition(run.account_id),
            "sk": _sort_key(run.id),
            "start_ms": run.start_ms,
            "duration_ms": run.duration_ms,
            "addresses": run.addresses,
            "expires": (run.start_ms + run.duration_ms) // 1000 + _RETENTION,
        },
    )


def get(account_id: int, run_id: str) -> Run | None:
    """Return a run, ``None`` if its time is over."""
    item = _metrics.get(partition(account_id), _sort_key(run_id))
    if item is None:
        return None
    return Run(
        account_id,
        run_id,
        Campaign(*(item[name] for name in Campaign._fields)),
        item["start_ms"],
        item["duration_ms"],
        tuple(item["addresses"]),
        samples.from_item(item),
    )


def _sort_key(run_id: str) -> str:
    return f"run#{run_id}"
