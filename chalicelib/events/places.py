"""Where events are kept: the keys of the ``events`` table.

An event is looked for in four ways, and is part of one run (``events.runs``) for each. A run's sort
key is ``<milliseconds of its newest event>#<digest of its event ids>``, so that storing the same
events again writes the same item. Access patterns:

- an account's events of a day (UTC), newest first → ``pk = <account>#day#<yyyymmdd>#<shard>``; what
  an account stores at once goes to one of ``EVENTS_SHARDS`` partitions
- a recipient's → ``pk = <account>#recipient#<address>``
- a transmission's, and those of a message of it → ``pk = <account>#transmission#<id>``
- those of a message whose id does not tell its transmission → ``pk = <account>#message#<id>``
- a campaign's → ``pk = <account>#campaign#<id>``
- the outcomes of ingested batches → ``pk = <account>#ingest``

Notes, kept a day longer than what they are about:

- in which partitions of which days there are events → ``pk = <account>#days``,
  ``sk = <yyyymmdd>#<shard>``; a campaign whose events of the day are counted and not kept →
  ``<yyyymmdd>#hidden#<campaign>``; that events of the day were erased → ``<yyyymmdd>#erased``
- which campaigns there are → ``pk = <account>#campaigns``, ``sk = <id>``

What is left of events that were erased, to be taken off their counts:

- an account's erased events → ``pk = <account>#erased``, ``sk = <position of the event>``
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from chalicelib.core import ids
from chalicelib.core.settings import settings
from chalicelib.events.documentation import SEARCHED
from chalicelib.events.event_blocks import SPAN_MS, position_at

DAY_MS: Final = 86_400_000
#: The types that searches of messages find
SEARCHED_TYPES: Final = frozenset(SEARCHED)

#: Bytes of a partition's name, at most: the table has no longer ones, and takes no question of them
LONGEST: Final = 2048

# After every sort key that begins with the text before it
_LAST = "~"
_OUTCOMES = frozenset(("success", "error"))

Event = Mapping[str, Any]


def day_of(moment_ms: int) -> str:
    """Return the day of a moment, as it stands in keys."""
    return datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%Y%m%d")


def day_begins(moment_ms: int) -> int:
    """Return the beginning of the day of a moment."""
    return moment_ms // DAY_MS * DAY_MS


def day(account: object, name: str, shard: object) -> str:
    """Return the partition of a part of a day."""
    return f"{account}#day#{name}#{shard}"


def is_day(partition: str) -> bool:
    """Tell whether it is the partition of a day, or of a part of it."""
    return partition.split("#", 2)[1] == "day"


def recipient(account: object, address: str) -> str:
    """Return the partition of a recipient."""
    return f"{account}#recipient#{address}"


def transmission(account: object, transmission_id: str) -> str:
    """Return the partition of a transmission."""
    return f"{account}#transmission#{transmission_id}"


def campaign(account: object, campaign_id: str) -> str:
    """Return the partition of a campaign."""
    return f"{account}#campaign#{campaign_id}"


def message(account: object, message_id: str) -> str:
    """Return the partition of a message whose id does not tell its transmission."""
    return f"{account}#message#{message_id}"


def outcomes(account: object) -> str:
    """Return the partition of the outcomes of ingested batches."""
    return f"{account}#ingest"


def days(account: object) -> str:
    """Return the partition of the notes of days."""
    return f"{account}#days"


def campaigns(account: object) -> str:
    """Return the partition of the notes of campaigns."""
    return f"{account}#campaigns"


def erased(account: object) -> str:
    """Return the partition of what is left of erased events."""
    return f"{account}#erased"


def is_hidden(event: Event) -> bool:
    """Tell whether it is an event of the service's own measurements, which searches do not find."""
    prefix = settings().hidden_campaigns
    return bool(prefix) and event.get("campaign_id", "").startswith(prefix)


def partitions_of(event: Event) -> Iterator[str]:
    """Yield the partitions that an event is kept in; that of its day still without its shard."""
    account, kind = event["customer_id"], event["type"]
    if kind in _OUTCOMES:
        yield outcomes(account)
    if kind not in SEARCHED_TYPES:
        return
    yield day(account, day_of(event["timestamp"]), "")
    if event.get("rcpt_to"):
        yield recipient(account, event["rcpt_to"])
    if event.get("transmission_id"):
        yield transmission(account, event["transmission_id"])
    if event.get("campaign_id"):
        yield campaign(account, event["campaign_id"])
    if event.get("message_id") and not _is_told(event):
        yield message(account, event["message_id"])


def partitions_of_message(account: object, message_id: str) -> Iterator[str]:
    """Yield the partitions in which a message's events may be."""
    yield message(account, message_id)
    if transmission_id := transmission_of(message_id):
        yield transmission(account, transmission_id)


def transmission_of(message_id: str) -> str:
    """Return the transmission that a message id tells of; empty for ids made elsewhere."""
    try:
        return ids.transmission_of(message_id)[0]
    except ValueError:
        return ""


def run_key(newest_ms: int, event_ids: Iterable[str]) -> str:
    """Return the sort key of a run."""
    names = "\n".join(sorted(event_ids)).encode()
    return f"{position_at(newest_ms)}#{hashlib.blake2b(names, digest_size=8).hexdigest()}"


def run_range(low: str, high: str) -> tuple[str, str]:
    """Return the sort keys between which runs may have events from ``low`` up to ``high``."""
    newest = int(high.partition("#")[0]) + SPAN_MS
    return low.partition("#")[0], f"{position_at(newest)}{_LAST}"


def shard_of(run: str) -> int:
    """Return the shard of its day that a run belongs to."""
    return int(run.rpartition("#")[2], 16) % max(1, settings().events_shards)


def _is_told(event: Event) -> bool:
    return transmission_of(event["message_id"]) == event.get("transmission_id")
