"""Make of a message that arrives a copy for each of its inboxes, with the tags that it gets."""

from __future__ import annotations

from dataclasses import replace

from infrastructure.local.mailbox.inboxes import divided
from infrastructure.local.mailbox.tags import TagChoices, tags_at_arrival
from infrastructure.local.mailbox.trace import Trace


def copies_of(
    trace: Trace, message: bytes, inbox_by: str, tags: TagChoices
) -> list[tuple[Trace, bytes]]:
    """Return the copies, each with its recipients; one if nothing divides the mailbox."""
    traces = [trace]
    if inbox_by:
        inboxes = divided(inbox_by, trace.login, trace.recipients)
        traces = [
            replace(trace, inbox=inbox, recipients=tuple(recipients))
            for inbox, recipients in inboxes.items()
        ] or traces
    return [(_tagged(each, message, tags), message) for each in traces]


def _tagged(trace: Trace, message: bytes, choices: TagChoices) -> Trace:
    """Return the trace with further tags, after those that it has."""
    tags = tags_at_arrival(trace, message, choices)
    return replace(trace, tags=tuple(dict.fromkeys([*trace.tags, *tags]))) if tags else trace
