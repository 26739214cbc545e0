"""Tell what becomes of each kind of stored item when a service moves.

- ``PLACE``: it belongs to the place, such as the pace of a machine's own addresses, and stays.
- ``WORK``: it is done once, at its time. It is handed over when the source does no more work.
- ``COUNTER``: both sides count. What the source has counted since the last copy is added.
- ``USAGE``: the same for the recipients of an account, which are counted by hours.
- ``MEMBERS``: both sides add to a set. The target gets the members of both.
- ``HIGHEST``: both sides draw numbers from it. The higher one counts.
- ``RECORD``: both sides note which events they have recorded. The target gets the notes of both.
- ``KEY``: an API key. Both sides note when it was last used, and the later hour counts. The rest of
  it is ``PLAIN``.
- ``PLAIN``: one side changes it. Where both did, the target's stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from chalicelib.core.json_types import Json

#: The tables, in the order in which they are copied
TABLES: Final = (
    "config",
    "audit",
    "suppression",
    "transmissions",
    "messages",
    "events",
    "metrics",
    "webhooks",
)
#: The partition of what this tool notes at the target, in ``config``
NOTES: Final = "move"
#: Objects of queue messages: they belong to the queues, which the source empties itself
QUEUE_OBJECTS: Final = "queue/"


class Kind(StrEnum):
    """What becomes of an item."""

    PLACE = "place"
    WORK = "work"
    COUNTER = "counter"
    USAGE = "usage"
    MEMBERS = "members"
    HIGHEST = "highest"
    RECORD = "record"
    KEY = "key"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Rule:
    """The items that a rule is for, by patterns of their whole keys.

    ``numbers`` is the pattern of the attributes that are counted.
    """

    kind: Kind
    table: str
    pk: str
    sk: str = ".*"
    numbers: str = ""

    def fits(self, table: str, pk: str, sk: str) -> bool:
        """Tell whether the rule is for items with this key."""
        return table == self.table and _fits(self.pk, pk) and _fits(self.sk, sk)

    def is_number(self, attribute: str) -> bool:
        """Tell whether an attribute is a count."""
        return bool(self.numbers) and _fits(self.numbers, attribute)


_PLAIN: Final = Rule(Kind.PLAIN, "", "")

# The first rule that fits counts
_RULES: Final = (
    Rule(Kind.PLACE, "config", NOTES),
    # Addresses of the source's hosts, and how far they are warmed up
    Rule(Kind.PLACE, "config", "sending-ip#.*|warmup#.*|due#ip-warmup"),
    # Who is signed in, what was guessed, and which sign-ins were begun
    Rule(Kind.PLACE, "config", "user#.*", "session#.*"),
    Rule(Kind.PLACE, "config", "attempts#.*|resets#.*|used-state#.*"),
    # It is counted anew at the target (administrators)
    Rule(Kind.PLACE, "config", "account#.*/administrators", "count"),
    # What the source reports about its own TLS sessions, and the pace of its own deliveries
    Rule(Kind.PLACE, "config", "due#tls-reports"),
    Rule(Kind.PLACE, "messages", "tls-sessions#.*|pace#.*|shaping|held#.*"),
    # The journal of work units, which are on the source's queues
    Rule(Kind.PLACE, "messages", "transmission#.*", "sent#.*"),
    # The numbers of rollups: the target has its own
    Rule(Kind.PLACE, "metrics", "folds"),
    Rule(Kind.PLACE, "metrics", "pending", ".*#0fold"),
    Rule(Kind.WORK, "metrics", "pending"),
    Rule(Kind.WORK, "config", "due#.*"),
    Rule(Kind.COUNTER, "config", "ab_test#.*", "of#.*#counts#.*", "accepted|clicked|opened"),
    Rule(Kind.COUNTER, "config", "ab_test#.*", "of#.*#sample", "left|taken_.*"),
    Rule(Kind.COUNTER, "config", "usage#.*#sandbox", "usage", "used"),
    Rule(Kind.COUNTER, "config", "account#.*/subaccounts", "counts", ".*"),
    Rule(Kind.COUNTER, "config", "domain#.*", "claim", "below|below_.*"),
    Rule(Kind.COUNTER, "suppression", r"\d+#counts", ".*", ".*"),
    Rule(Kind.COUNTER, "metrics", "inline-seeds#.*", "campaign#.*", "count"),
    Rule(Kind.MEMBERS, "metrics", r"\d+#values#.*"),
    Rule(Kind.COUNTER, "metrics", r"\d+#.*", ".*", "(?!expires$).*"),
    Rule(Kind.HIGHEST, "config", "counter#.*"),
    Rule(Kind.USAGE, "config", r"usage#\d+#\d+"),
    Rule(Kind.RECORD, "messages", ".*", "ledger.*"),
    Rule(Kind.KEY, "config", "key#.*", "key"),
)
_SCHEDULED = re.compile(r"account#\d+/scheduled")

#: The hour in which a key was last used
LAST_USED: Final = "last_used"
#: Attributes that are not compared, by kind: numbers of rollups, which mean nothing at the target,
#: and what has a step of its own
_OF_THE_PLACE: Final = {Kind.COUNTER: "seq", Kind.USAGE: "rollup", Kind.KEY: LAST_USED}


def rule_of(table: str, item: Mapping[str, Any]) -> Rule:
    """Return the rule for an item."""
    pk, sk = item["pk"]["S"], item["sk"]["S"]
    rule = next((rule for rule in _RULES if rule.fits(table, pk, sk)), _PLAIN)
    if table == "transmissions" and _waits(item):
        return Rule(Kind.WORK, table, "")
    return rule


def without_place(kind: Kind, item: Json) -> Json:
    """Return an item without what belongs to the place, as it is compared and counted."""
    dropped = _OF_THE_PLACE.get(kind)
    result = {name: value for name, value in item.items() if name != dropped}
    if kind is Kind.PLAIN and item["pk"]["S"].endswith("/ip-pools"):
        result["ips"] = {"L": []}
    return result


def is_expired(item: Mapping[str, Any], now: float) -> bool:
    """Tell whether an item counts as removed, although the table may still have it."""
    return "expires" in item and float(item["expires"]["N"]) <= now


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _waits(item: Mapping[str, Any]) -> bool:
    """Tell whether a transmission waits for its start."""
    owner, state = (item.get(name, {}).get("S", "") for name in ("owner", "state"))
    return bool(_SCHEDULED.fullmatch(owner)) and state == "submitted"
