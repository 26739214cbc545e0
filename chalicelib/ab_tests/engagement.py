"""Count how many messages of A/B tests were accepted, clicked and opened, from their events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from chalicelib.ab_tests.store import counts
from chalicelib.ab_tests.store.counts import Engagement, TestVersion
from chalicelib.core.message_event import Event

#: event type → the kinds of engagement it means for its message. A click shows that the message was
#: opened; a message that bounces out of band was not accepted after all (spec 2.13).
KINDS = {
    "delivery": ("accepted",),
    "out_of_band": ("returned",),
    "open": ("opened",),
    "initial_open": ("opened",),
    "amp_open": ("opened",),
    "amp_initial_open": ("opened",),
    "click": ("clicked", "opened"),
    "amp_click": ("clicked", "opened"),
}
_NAMING = ("ab_test_id", "ab_test_version", "template_id", "message_id")


def count_events(events: Iterable[Event]) -> None:
    """Count the events of messages that an A/B test tried: those that name the test."""
    engagements: dict[TestVersion, dict[Engagement, None]] = defaultdict(dict)
    for event in events:
        if all(event.get(name) for name in _NAMING):
            version = TestVersion(
                int(event["customer_id"]), event["ab_test_id"], int(event["ab_test_version"])
            )
            for kind in KINDS.get(event["type"], ()):
                engagement = Engagement(event["template_id"], kind, event["message_id"])
                engagements[version][engagement] = None
    for version, of_version in engagements.items():
        counts.add(version, list(of_version))
