"""Store when mail first reported an event, and whether the event is queued.

A report may come again, because our answer was lost or because somebody wants to do harm. The same
report therefore makes the same event, with the time of the first report, and the event is queued
once.

Access patterns of ``messages``:

- one reported event of a message → ``transmission#<transmission>`` / ``reported#<event id>``
"""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.core import clock
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.settings import settings

_messages = Table("messages")


@dataclass(frozen=True, slots=True)
class FirstReport:
    """The time of an event's first report, and whether the event is already queued."""

    at_ms: int
    queued: bool


def record(transmission_id: str, event_id: str, at_ms: int) -> FirstReport:
    """Record that an event was reported at ``at_ms``; return its first report."""
    item: Item = {
        **_key(transmission_id, event_id),
        "at": at_ms,
        "expires": int(clock.now()) + settings().messages_retention,
    }
    try:
        _messages.create(item)
    except ConditionFailed as conflict:
        first = conflict.item or {}
        return FirstReport(first.get("at", at_ms), bool(first.get("queued")))
    return FirstReport(at_ms, queued=False)


def mark_queued(transmission_id: str, event_id: str) -> None:
    """Record that the event is on the queue."""
    key = _key(transmission_id, event_id)
    _messages.update(key["pk"], key["sk"], "SET #queued = :yes", values={"yes": True})


def _key(transmission_id: str, event_id: str) -> dict[str, str]:
    return {"pk": f"transmission#{transmission_id}", "sk": f"reported#{event_id}"}
