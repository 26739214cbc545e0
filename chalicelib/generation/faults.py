"""Define why a message cannot be generated; its recipient gets an event with the reason instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chalicelib.events.model import Event
from chalicelib.template_language import TemplateError
from chalicelib.transmissions.model import Json


class RenderFault(Exception):
    """The content cannot be rendered for a recipient; the text says where and why."""


class NotGenerated(Exception):
    """There is no message; ``event`` says why."""

    def __init__(self, event: Event) -> None:
        super().__init__(event["reason"])
        self.event = event


class Ungenerated(Exception):
    """There is no message, but an event of type ``kind`` with these fields."""

    def __init__(self, kind: str, fields: Event) -> None:
        super().__init__(fields["reason"])
        self.kind = kind
        self.fields = {name: value for name, value in fields.items() if name != "type"}


@contextmanager
def template_errors_as_faults() -> Iterator[None]:
    """Turn the template language's errors into :class:`RenderFault`."""
    try:
        yield
    except TemplateError as error:
        raise RenderFault(f"[internal] {error.description}") from None


def failure(text: str, recipient: Json) -> Ungenerated:
    """Return the fault of a message that cannot be made from its content and data."""
    return _ungenerated("generation_failure", f"554 5.3.3 {text}", recipient)


def rejection(text: str, recipient: Json) -> Ungenerated:
    """Return the fault of a message that may not be sent."""
    fault = _ungenerated("generation_rejection", f"550 5.7.1 {text}", recipient)
    fault.fields["bounce_class"] = "25"
    return fault


def _ungenerated(kind: str, reason: str, recipient: Json) -> Ungenerated:
    fields = {
        "error_code": reason[:3],
        "reason": reason,
        "raw_reason": reason,
        "rcpt_subs": recipient.get("substitution_data") or {},
    }
    return Ungenerated(kind, fields)
