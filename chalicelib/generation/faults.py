"""Why a message does not come to be: told by the one event that its recipient then has."""

from __future__ import annotations

from chalicelib.events.model import Event
from chalicelib.transmissions.model import Json


class NotGenerated(Exception):
    """No message came to be; ``event`` tells of it."""

    def __init__(self, event: Event) -> None:
        super().__init__(event["reason"])
        self.event = event


class Ungenerated(Exception):
    """No message comes to be: an event of type ``kind`` with these fields does."""

    def __init__(self, kind: str, fields: Event) -> None:
        super().__init__(fields["reason"])
        self.kind = kind
        self.fields = {name: value for name, value in fields.items() if name != "type"}


def failed(text: str, recipient: Json) -> Ungenerated:
    """Return the fault of a message that could not be made of what was given."""
    return _ungenerated("generation_failure", f"554 5.3.3 {text}", recipient)


def rejected(text: str, recipient: Json) -> Ungenerated:
    """Return the fault of a message that may not be sent."""
    found = _ungenerated("generation_rejection", f"550 5.7.1 {text}", recipient)
    found.fields["bounce_class"] = "25"
    return found


def _ungenerated(kind: str, reason: str, recipient: Json) -> Ungenerated:
    fields = {
        "error_code": reason[:3],
        "reason": reason,
        "raw_reason": reason,
        "rcpt_subs": recipient.get("substitution_data") or {},
    }
    return Ungenerated(kind, fields)
