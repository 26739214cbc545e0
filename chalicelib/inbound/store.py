"""When each event that was reported by mail was first reported, and whether it is recorded.

Who sends a report may do so again: because our answer was lost, or to do harm. The same report
therefore has the same event, with the time of the first, and once that is on its way it is not
told again.

Access patterns (table ``messages``):

- one event of a message → ``pk = transmission#<id>``, ``sk = reported#<event id>``
"""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.core import clock
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.settings import settings

_messages = Table("messages")


@dataclass(frozen=True, slots=True)
class Reported:
    """``at_ms`` is the time that counts; ``queued`` says that the event is on its way."""

    at_ms: int
    queued: bool


def note(transmission_id: str, event_id: str, at_ms: int) -> Reported:
    """Note that an event was reported at ``at_ms``; return what holds of its first report."""
    item: Item = {
        **_key(transmission_id, event_id),
        "at": at_ms,
        "expires": int(clock.now()) + settings().messages_retention,
    }
    try:
        _messages.create(item)
    except ConditionFailed as found:
        first = found.item or {}
        return Reported(first.get("at", at_ms), bool(first.get("queued")))
    return Reported(at_ms, queued=False)


def note_queued(transmission_id: str, event_id: str) -> None:
    """Note that the event is on the queue, which loses nothing."""
    key = _key(transmission_id, event_id)
    _messages.update(key["pk"], key["sk"], "SET #queued = :yes", values={"yes": True})


def _key(transmission_id: str, event_id: str) -> dict[str, str]:
    return {"pk": f"transmission#{transmission_id}", "sk": f"reported#{event_id}"}
