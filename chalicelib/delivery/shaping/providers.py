"""Load what is public of mailbox providers: their mail hosts, their limits, and how they refuse.

``providers.json`` holds:

- ``groups``: the ends of a provider's host names (``hosts``), the limits for one source address,
  and the ``source`` of the figures. Few providers publish any; the others are what operators of
  other senders found to work.
- ``answers``: phrases, in lower case, of a temporary refusal that is meant for all mail of a source
  address, not for one message, and the seconds of the first ``pause``. Without ``groups`` they
  count for every host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("providers.json")


@dataclass(frozen=True, slots=True)
class Limits:
    """What may leave for a group. A rate of 0 means that there is no limit.

    ``connections`` and rates count for one source address; with ``is_shared`` the rates count for
    all source addresses together. ``messages_per_connection`` is how many a connection carries.
    """

    connections: int
    messages_per_connection: int
    per_second: float = 0.0
    per_minute: float = 0.0
    is_shared: bool = False

    @property
    def rate(self) -> float:
        """Messages a second under both limits; 0: no limit."""
        rates = [each for each in (self.per_second, self.per_minute / 60) if each]
        return min(rates, default=0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal that is meant for all mail of a source address."""

    groups: frozenset[str]
    phrases: tuple[str, ...]
    pause: float


@dataclass(frozen=True, slots=True)
class Providers:
    """The content of the data file."""

    groups_by_host: Mapping[str, str]
    limits: Mapping[str, Limits]
    answers: tuple[Answer, ...]


@cache
def providers() -> Providers:
    """Return the content of the data file, read once."""
    data = json.loads(_FILE.read_text(encoding="utf-8"))
    return Providers(
        {host: group["name"] for group in data["groups"] for host in group["hosts"]},
        {group["name"]: _limits(group) for group in data["groups"]},
        tuple(
            Answer(frozenset(each["groups"]), tuple(each["phrases"]), each["pause"])
            for each in data["answers"]
        ),
    )


def _limits(group: Mapping[str, Any]) -> Limits:
    return Limits(
        group["connections"],
        group["messages_per_connection"],
        group.get("per_second", 0.0),
        group.get("per_minute", 0.0),
    )
