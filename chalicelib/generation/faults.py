"""Define why a message cannot be generated; its recipient gets an event with the reason instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from chalicelib.core.message_event import Event, EventFields, Refusal
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.template_language import TemplateError


class RenderFault(Exception):
    """The content cannot be rendered for a recipient; the text says where and why."""


class NotGenerated(Exception):
    """There is no message; ``event`` says why."""

    def __init__(self, event: Event) -> None:
        super().__init__(event["reason"])
        self.event = event


class Ungenerated(Exception):
    """There is no message, but an event of type ``kind`` with these fields."""

    def __init__(self, kind: str, fields: EventFields) -> None:
        super().__init__(fields["reason"])
        self.kind = kind
        self.fields = fields


def refused(refusal: Refusal) -> Ungenerated:
    """Return the fault of every message of a transmission that was refused as a whole."""
    fields = {name: value for name, value in refusal.items() if name != "type"}
    return Ungenerated(refusal["type"], cast(EventFields, fields))


@contextmanager
def template_errors_as_faults() -> Iterator[None]:
    """Turn the template language's errors into :class:`RenderFault`."""
    try:
        yield
    except TemplateError as error:
        raise RenderFault(f"[internal] {error.description}") from None


def failure(text: str, recipient: StoredRecipient) -> Ungenerated:
    """Return the fault of a message that cannot be made from its content and data."""
    return _ungenerated("generation_failure", f"554 5.3.3 {text}", recipient)


def rejection(text: str, recipient: StoredRecipient) -> Ungenerated:
    """Return the fault of a message that may not be sent."""
    fault = _ungenerated("generation_rejection", f"550 5.7.1 {text}", recipient)
    fault.fields["bounce_class"] = "25"
    return fault


def _ungenerated(kind: str, reason: str, recipient: StoredRecipient) -> Ungenerated:
    fields: EventFields = {
        "error_code": reason[:3],
        "reason": reason,
        "raw_reason": reason,
        "rcpt_subs": recipient.get("substitution_data") or {},
    }
    return Ungenerated(kind, fields)
