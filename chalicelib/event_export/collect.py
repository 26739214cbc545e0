"""Queue events for the targets that they are to be sent on to (``event-exports``).

Recording calls this. It costs nothing where there are no targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chalicelib.core import queues
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Work
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.event_export.targets import event_types, targets
from chalicelib.webhooks import payload

QUEUE: Final = "event-exports"
_MOST_IN_MESSAGE: Final = 400


class ExportHead(TypedDict):
    """The head of a message with events for a target, which its ARN names."""

    target: str
    count: int


def collect(events: Sequence[Event]) -> None:
    """Queue events for each target; returns when the queue holds them all."""
    if not targets():
        return
    types = event_types()
    lines = [
        payload.message(payload.public_form(event))
        for event in events
        if not types or event["type"] in types
    ]
    if works := [work for arn in targets() for work in works_of(arn, lines)]:
        queues.send(QUEUE, works)


def works_of(arn: str, lines: Sequence[bytes]) -> Iterator[Work[ExportHead]]:
    """Yield the queue messages with these events, each a line of JSON, for one target."""
    for start in range(0, len(lines), _MOST_IN_MESSAGE):
        part = lines[start : start + _MOST_IN_MESSAGE]
        head: ExportHead = {"target": arn, "count": len(part)}
        yield Work(head, b"\n".join(part))
