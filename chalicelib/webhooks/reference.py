"""Build the public pages that describe all events and show a sample of each.

They come from ``events.documentation``, in the form in which real events are posted.
"""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.core.errors import bad_request
from chalicelib.core.json_types import Json
from chalicelib.core.query import Query, comma_list
from chalicelib.events.documentation import (
    TYPES,
    UNPRODUCED,
    WRAPPERS,
    EventType,
    described,
    sample,
    type_of,
)
from chalicelib.webhooks.payload import public_form, wrapped


def documentation() -> Json:
    """Return every wrapper with its types, and every type with its fields."""
    return {
        wrapper.key: {
            "display_name": wrapper.label,
            "description": wrapper.description,
            "events": {
                event_type.name: _type_documentation(event_type) for event_type in wrapper.types
            },
        }
        for wrapper in WRAPPERS
    }


def samples(query: Query) -> list[Json]:
    """Return a sample of each type in ``events``, of all types by default; raises 400."""
    return [wrapped(sample(name)) for name in dict.fromkeys(_requested_types(query))]


def _type_documentation(event_type: EventType) -> Json:
    values = public_form(sample(event_type.name))
    return {
        "display_name": event_type.label,
        "description": event_type.description,
        "produced": event_type.name not in UNPRODUCED,
        "event": {
            name: {"description": field.description, "sampleValue": values[name]}
            for name, field in described(event_type.name)
        },
    }


def _requested_types(query: Query) -> Iterator[str]:
    for name in comma_list(query, "events") or TYPES:
        event_type = type_of(name)
        if event_type is None:
            text = f"unknown event type: {name[:100]}"
            raise bad_request(text, param="events", value=name[:100])
        yield event_type
