"""Show events and event types as the search of message events does (spec 2.11 and 4.10)."""

from __future__ import annotations

from typing import Any

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event
from chalicelib.events import documentation
from chalicelib.events.documentation import TYPES
from chalicelib.events.fields import FIELDS

_TIMES = ("timestamp", "expiration_timestamp")


def event_view(event: Event) -> Json:
    """Return an event as searches show it: the fields that are documented for its type.

    With its type's label and description, and times as ISO 8601.
    """
    event_type = TYPES[event["type"]]
    fields = documentation.documented_fields(event["type"], event)
    return {name: _value_view(name, value) for name, value in fields.items()} | {
        "display_name": event_type.label,
        "event_description": event_type.description,
    }


def event_type_view(kind: str) -> Json:
    """Return a type's fields, each with a description and a sample value, and its label."""
    example = event_view(documentation.sample(kind))
    fields = {
        name: {"description": field.description, "sampleValue": example[name]}
        for name, field in documentation.described(kind)
    }
    labels = {name: example[name] for name in ("display_name", "event_description")}
    return {**fields, **labels}


def _value_view(name: str, value: Any) -> Any:
    if name in _TIMES:
        return clock.iso_ms(value)
    kind = type(FIELDS[name].sample)
    return value if isinstance(value, kind) or kind is not str else str(value)
