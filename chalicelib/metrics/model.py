"""Define dimensions, counters, and metrics as sums of counters (spec 2.13)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from chalicelib.core import domain_names
from chalicelib.core.message_event import Event

Counts = dict[str, int]
"""Numbers by the codes of counters."""

Values = tuple[str, ...]
"""The value of each of ``DIMENSIONS``, empty where a message has none."""

LONGEST: Final = 256
"""Characters of a value or a label that count; the rest is cut off."""


class Dimension(NamedTuple):
    """A property by which mail is counted.

    ``name`` is its path, ``filter_key`` its filter, ``field`` the event's field and ``key`` its key
    in results.
    """

    name: str
    filter_key: str
    field: str
    key: str

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics of mail that is divided by it: only placements have a subject (spec 4.11)."""
        return PLACEMENT_METRICS if self is SUBJECT else METRICS

    @property
    def list_path(self) -> str:
        """The last part of the path that lists its values."""
        return self.filter_key.replace("_", "-")

    def canonical(self, text: str) -> str:
        """Return a value, or a text to compare values with, in the form that is counted.

        Domains have one spelling. JSON may hold half a surrogate pair, tables may not.
        """
        text = text.encode("utf-8", "replace").decode()
        return domain_names.spelling(text) if self.is_domain else text

    def part(self, text: str) -> str:
        """Return a part of a value in the form in which it is looked for in :meth:`forms`."""
        text = text.encode("utf-8", "replace").decode()
        return domain_names.mapped(text) if self.is_domain else text

    def forms(self, value: str) -> tuple[str, ...]:
        """Return the form of a value that is counted, and any other that parts are looked for in.

        A domain is found by a part of what people read, too. A value may be as version 0.1.0
        counted it, which is kept for six months (goes with the first version after them).
        """
        if not self.is_domain or (value.isascii() and _A_LABEL not in value):
            return (value,)
        name = domain_names.spelling(value)
        return (name, domain_names.in_u_labels(name))

    @property
    def is_domain(self) -> bool:
        """Whether its values are names of domains."""
        return self.field in _DOMAINS


_A_LABEL: Final = "xn--"
_DOMAINS: Final = frozenset(("recipient_domain", "sending_domain"))

DIMENSIONS: Final = (
    Dimension("domain", "domains", "recipient_domain", "domain"),
    Dimension("campaign", "campaigns", "campaign_id", "campaign_id"),
    Dimension("template", "templates", "template_id", "template_id"),
    Dimension("sending-ip", "sending_ips", "sending_ip", "sending_ip"),
    Dimension("ip-pool", "ip_pools", "ip_pool", "ip_pool"),
    Dimension("sending-domain", "sending_domains", "sending_domain", "sending_domain"),
    Dimension("subaccount", "subaccounts", "subaccount_id", "subaccount_id"),
    Dimension("mailbox-provider", "mailbox_providers", "mailbox_provider", "mailbox_provider"),
    Dimension(
        "mailbox-provider-region",
        "mailbox_provider_regions",
        "mailbox_provider_region",
        "mailbox_provider_region",
    ),
    Dimension("subject-campaign", "subject_campaigns", "subject", "subject_campaign"),
)
"""Stored values are in this order: add at the end only."""

POSITION: Final = {dimension.name: i for i, dimension in enumerate(DIMENSIONS)}
BY_FILTER_KEY: Final = {dimension.filter_key: dimension for dimension in DIMENSIONS}
CAMPAIGN: Final = DIMENSIONS[POSITION["campaign"]]
DOMAIN: Final = DIMENSIONS[POSITION["domain"]]
SUBACCOUNT: Final = DIMENSIONS[POSITION["subaccount"]]
SUBJECT: Final = DIMENSIONS[POSITION["subject-campaign"]]
PRIMARY: Final = "0"
_SUBACCOUNT = POSITION[SUBACCOUNT.name]
_SUBACCOUNT_ID = re.compile("[0-9]+")

LISTED: Final = tuple(each for each in DIMENSIONS if each is not SUBACCOUNT)
"""Dimensions whose values can be listed."""

COUNTS_IN_USAGE: Final = "counts_in_usage"
"""The field of a recipient's first event that says: it counts in the account's usage."""

EVENT_COUNTERS: Final = {
    "injection": "i",
    "delivery": "d",
    "delay": "y",
    "bounce": "b",
    "out_of_band": "ob",
    "spam_complaint": "sc",
    "policy_rejection": "pr",
    "generation_failure": "gf",
    "generation_rejection": "gr",
    "open": "o",
    "initial_open": "io",
    "click": "c",
    "amp_open": "ao",
    "amp_initial_open": "aio",
    "amp_click": "ac",
    "list_unsubscribe": "lu",
    "link_unsubscribe": "ku",
    "sms_status": "ss",
    "relay_injection": "ri",
    "relay_rejection": "rr",
    "relay_delivery": "rd",
    "relay_tempfail": "rt",
    "relay_permfail": "rp",
}
"""The counter of each type of event that searches find."""

RELAY_COUNTERS: Final = frozenset(
    code for kind, code in EVENT_COUNTERS.items() if kind.startswith("relay_")
)
"""The counters of received mail, which is in no metric: only searches need their number."""

PLACEMENTS: Final = {
    "inbox_panel": "x0",
    "spam_panel": "x1",
    "inbox_seed": "x2",
    "spam_seed": "x3",
    "inbox_seed_private": "x4",
    "spam_seed_private": "x5",
    "inbox_seed_virtual": "x6",
    "spam_seed_virtual": "x7",
    "moved_to_inbox": "x8",
    "moved_to_spam": "x9",
}
"""Events of seed addresses and panels about where messages arrive. An event of such a type counts
once, in the metric of its name, and is not stored."""

#: Opens and clicks that are the first of their kind for their message
UNIQUE_OPEN: Final = "uo"
UNIQUE_INITIAL_OPEN: Final = "ui"
UNIQUE_CONFIRMED: Final = "uc"
UNIQUE_CLICK: Final = "uk"
#: The first click on a link of a message
RAW_CLICK: Final = "rk"
#: Prefix of a counter of opens: the same without prefetches by machines
NONPREFETCHED: Final = "n"
#: Deliveries and delays of the first attempt
FIRST_DELIVERY: Final = "d1"
FIRST_DELAY: Final = "y1"
VOLUME: Final = "vol"
FIRST_DELIVERY_TIME: Final = "t1"
LATER_DELIVERY_TIME: Final = "t2"

CATEGORY_COUNTERS: Final = {
    "Undetermined": "bu",
    "Hard": "bh",
    "Soft": "bs",
    "Block": "bb",
    "Admin": "ba",
}

_PLACEMENT_SUMS: Final = {f"count_{name}": code for name, code in PLACEMENTS.items()}
_SUMS: Final = {
    "count_targeted": "i pr gf gr",
    "count_injected": "i",
    "count_sent": "d b",
    "count_accepted": "d -ob",
    "count_delivered": "d",
    "count_delivered_first": "d1",
    "count_delivered_subsequent": "d -d1",
    "count_rendered": "o",
    "count_nonprefetched_rendered": "no",
    "count_initial_rendered": "io",
    "count_nonprefetched_initial_rendered": "nio",
    "count_unique_rendered": "uo",
    "count_nonprefetched_unique_rendered": "nuo",
    "count_unique_initial_rendered": "ui",
    "count_nonprefetched_unique_initial_rendered": "nui",
    "count_unique_confirmed_opened": "uc",
    "count_nonprefetched_unique_confirmed_opened": "nuc",
    "count_clicked": "c ac",
    "count_unique_clicked": "uk",
    "count_unsubscribe": "lu ku",
    "count_bounce": "b ob",
    "count_hard_bounce": "bh",
    "count_soft_bounce": "bs",
    "count_block_bounce": "bb",
    "count_admin_bounce": "ba",
    "count_undetermined_bounce": "bu",
    "count_inband_bounce": "b",
    "count_outofband_bounce": "ob",
    "count_rejected": "pr gf gr",
    "count_policy_rejection": "pr",
    "count_generation_failed": "gf",
    "count_generation_rejection": "gr",
    "count_delayed": "y",
    "count_delayed_first": "y1",
    "total_msg_volume": "vol",
    "total_delivery_time_first": "t1",
    "total_delivery_time_subsequent": "t2",
    "count_spam_complaint": "sc",
    **_PLACEMENT_SUMS,
}

METRICS: Final = frozenset(_SUMS)
"""The metrics of spec 2.13."""
PLACEMENT_METRICS: Final = frozenset(_PLACEMENT_SUMS)
"""The metrics of the deliverability add-on, which alone can be filtered by subject."""

RAW_CLICKED: Final = "count_raw_clicked"

#: The metrics of reports about bounces, links and attempts
BOUNCE_METRICS: Final = frozenset(
    ("count_bounce", "count_inband_bounce", "count_outofband_bounce", "count_admin_bounce")
)
CLICK_METRICS: Final = frozenset(("count_clicked", RAW_CLICKED))
ATTEMPT_METRICS: Final = frozenset(("count_delivered",))


def _terms(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((term.lstrip("-"), -1 if term[0] == "-" else 1) for term in text.split())


_TERMS: Final = {name: _terms(text) for name, text in (_SUMS | {RAW_CLICKED: RAW_CLICK}).items()}


def metric(name: str, counts: Mapping[str, int]) -> int:
    """Return the metric ``name``, a sum of counts."""
    return sum(sign * counts.get(code, 0) for code, sign in _TERMS[name])


def add(counts: Counts, more: Mapping[str, int]) -> None:
    """Add ``more`` to ``counts``."""
    for code, number in more.items():
        counts[code] = counts.get(code, 0) + number


def values_of(event: Event) -> Values:
    """Return an event's value in each dimension.

    The primary account is subaccount 0. Only placements have a subject, because only they can be
    filtered by subject (spec 4.11). Received mail is counted for its subaccount alone: nobody sent
    to its domain. Values of ingested events may be of any length.
    """
    values = [each.canonical(str(event.get(each.field) or "")[:LONGEST]) for each in DIMENSIONS]
    if EVENT_COUNTERS.get(event["type"]) in RELAY_COUNTERS:
        values = [value if i == _SUBACCOUNT else "" for i, value in enumerate(values)]
    subaccount = values[_SUBACCOUNT]
    values[_SUBACCOUNT] = subaccount if _SUBACCOUNT_ID.fullmatch(subaccount) else PRIMARY
    if event["type"] not in PLACEMENTS:
        values[POSITION["subject-campaign"]] = ""
    return tuple(values)
