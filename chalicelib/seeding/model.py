"""Define the data of campaign seeding: configs, counters, samples, seed sends (spec 2.12).

Each campaign is counted separately for each subaccount and sending domain. When ``threshold``
messages have been counted, copies of one message go to the seed addresses, spread over
``duration``; after ``reset`` hours the count starts again. A message without a campaign id is not
counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from chalicelib.core import ids
from chalicelib.core.message_event import Event

#: field → its least and its greatest value
RANGES: Final = {"threshold": (1000, 1_000_000), "duration": (20, 720), "reset": (22, 168)}
MOST_RULES: Final = 5
#: Bytes of a campaign id that can be seeded; metrics may hold longer ids from outside
LONGEST_ID: Final = 64
#: A seed batch holds the messages of this time
BATCH_MS: Final = 60_000

_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000
_SEED_BIT: Final = 1 << 31


class Campaign(NamedTuple):
    """The messages of a campaign from one sending domain, by one sender."""

    subaccount_id: int | None
    campaign_id: str
    sending_domain: str


@dataclass(frozen=True, slots=True)
class Config:
    """How an account's campaigns are seeded: ``duration`` is minutes, ``reset`` hours.

    ``match`` or ``exclude`` is empty. A rule of the other is a campaign id, or a prefix followed by
    an asterisk.
    """

    threshold: int = 10_000
    duration: int = 30
    reset: int = 24
    match: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def duration_ms(self) -> int:
        """Return the milliseconds over which seed messages are spread."""
        return self.duration * _MINUTE_MS

    @property
    def reset_ms(self) -> int:
        """Return the milliseconds after which a campaign can be seeded again."""
        return self.reset * _HOUR_MS

    def covers(self, campaign_id: str) -> bool:
        """Tell whether the rules let a campaign be seeded."""
        if not campaign_id or len(campaign_id.encode("utf-8", "surrogatepass")) > LONGEST_ID:
            return False
        if self.match:
            return any(_applies(rule, campaign_id) for rule in self.match)
        return not any(_applies(rule, campaign_id) for rule in self.exclude)


def _applies(rule: str, campaign_id: str) -> bool:
    if rule.endswith("*"):
        return campaign_id.startswith(rule[:-1])
    return campaign_id == rule


@dataclass(frozen=True, slots=True)
class Seeding:
    """A campaign's seeding: when it began, and the config at that time."""

    start_ms: int
    threshold: int
    duration: int
    eligible_ms: int


@dataclass(frozen=True, slots=True)
class Counter:
    """The count of a campaign; ``seq`` is the last step of the account's counting that it saw."""

    campaign: Campaign
    count: int
    seq: int
    seeding: Seeding | None = None

    def at(self, now_ms: int) -> Counter:
        """Return the counter as it is at a time: after the reset hours it starts again."""
        if self.seeding is None or now_ms < self.seeding.eligible_ms:
            return self
        return Counter(self.campaign, 0, self.seq)


@dataclass(frozen=True, slots=True)
class Sample:
    """A message to copy: its transmission, and its recipient in the stored form.

    The recipient is compressed in ``data``, or in the object ``blob`` of the bucket. ``email`` is
    its address in lower case, empty for a recipient who was forgotten.
    """

    transmission_id: str
    data: bytes
    blob: str
    email: str = ""


@dataclass(frozen=True, slots=True)
class SeedSend:
    """The copies that one seeding of a campaign sends: to which addresses, of which message, when.

    It does not change after the threshold was reached. Its ``id`` is drawn as a transmission id is,
    and its messages get their ids from it, with indexes that no recipient of a transmission has.
    """

    account_id: int
    id: str
    campaign: Campaign
    start_ms: int
    duration_ms: int
    addresses: tuple[str, ...]
    sample: Sample

    def send_ms(self, number: int) -> int:
        """Return when the message to an address, counted from 0, is sent: evenly spread."""
        return self.start_ms + number * self.duration_ms // len(self.addresses)

    def batch(self, first: int) -> range:
        """Return the numbers of the messages in the seed batch that begins with ``first``."""
        end_ms = self.send_ms(first) + BATCH_MS
        stop = first + 1
        while stop < len(self.addresses) and self.send_ms(stop) < end_ms:
            stop += 1
        return range(first, stop)

    def index(self, number: int) -> int:
        """Return the index in the message's id."""
        return _SEED_BIT + number


def is_seed(event: Event) -> bool:
    """Tell whether an event is about a seed message, by its ids.

    The message id alone does not tell, because ids from other senders may look the same.
    """
    try:
        transmission_id, index = ids.transmission_of(event.get("message_id", ""))
    except ValueError:
        return False
    return index >= _SEED_BIT and event.get("transmission_id") == transmission_id
