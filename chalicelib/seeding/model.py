"""Automatic inline seeding: which campaigns are seeded, when, and what is told of them (spec 2.12).

A campaign is counted apart for each subaccount and sending domain. When as many of its messages as
``threshold`` were seen, copies go to the seed addresses, spread over ``duration``; ``reset`` hours
later it is counted anew. Messages that name no campaign belong to none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

#: field → its least and its greatest value
RANGES: Final = {"threshold": (1000, 1_000_000), "duration": (20, 720), "reset": (22, 168)}
MOST_RULES: Final = 5
#: Bytes of a campaign id; what else is counted may come from outside and have longer ones
LONGEST_ID: Final = 64

_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000


class Campaign(NamedTuple):
    """What is counted: the messages of a campaign from one sending domain, by one sender."""

    subaccount_id: int | None
    campaign_id: str
    sending_domain: str


@dataclass(frozen=True, slots=True)
class Config:
    """How an account's campaigns are seeded: ``duration`` is minutes, ``reset`` hours.

    A rule of ``match`` or ``exclude``, of which one is empty, is a campaign id, or the beginning of
    one with an asterisk behind it.
    """

    threshold: int = 10_000
    duration: int = 30
    reset: int = 24
    match: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def duration_ms(self) -> int:
        """Return over how many milliseconds seed messages are spread."""
        return self.duration * _MINUTE_MS

    @property
    def reset_ms(self) -> int:
        """Return after how many milliseconds a campaign can be seeded again."""
        return self.reset * _HOUR_MS

    def covers(self, campaign_id: str) -> bool:
        """Tell whether the rules let a campaign be seeded."""
        if not campaign_id or len(campaign_id.encode("utf-8", "surrogatepass")) > LONGEST_ID:
            return False
        if self.match:
            return any(_applies(rule, campaign_id) for rule in self.match)
        return not any(_applies(rule, campaign_id) for rule in self.exclude)

    def as_json(self) -> dict[str, Any]:
        """Return the config as the API shows it."""
        return {
            "threshold": self.threshold,
            "duration": self.duration,
            "reset": self.reset,
            "match": list(self.match),
            "exclude": list(self.exclude),
        }


def _applies(rule: str, campaign_id: str) -> bool:
    if rule.endswith("*"):
        return campaign_id.startswith(rule[:-1])
    return campaign_id == rule


@dataclass(frozen=True, slots=True)
class Seeding:
    """A campaign's seeding: when it began, and what was in force then. Times are milliseconds."""

    start_ms: int
    threshold: int
    duration: int
    eligible_ms: int


@dataclass(frozen=True, slots=True)
class Counter:
    """How far a campaign is; ``seq`` is the last step of the account's counting that it saw."""

    campaign: Campaign
    count: int
    seq: int
    seeding: Seeding | None = None

    def at(self, now_ms: int) -> Counter:
        """Return the counter as it is at a time: behind the reset hours it counts anew."""
        if self.seeding is None or now_ms < self.seeding.eligible_ms:
            return self
        return Counter(self.campaign, 0, self.seq)

    def as_json(self, config: Config) -> dict[str, Any]:
        """Return the status item; ``config`` tells what is in force for one that still counts."""
        shown = {
            "campaign": self.campaign.campaign_id,
            "sending_domain": self.campaign.sending_domain,
            "count": self.count,
            "threshold": self.seeding.threshold if self.seeding else config.threshold,
            "seed_start": self.seeding.start_ms if self.seeding else None,
            "duration": self.seeding.duration if self.seeding else config.duration,
        }
        if self.campaign.subaccount_id is not None:
            shown["subaccount_id"] = self.campaign.subaccount_id
        return shown
