"""What webhooks are told of: the pages that describe the events and show a sample of each.

Built of ``events.documentation``, in the form in which real events are posted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.core.errors import bad_request
from chalicelib.core.fields import comma_list
from chalicelib.events.documentation import TYPES, WRAPPERS, EventType, described, sample
from chalicelib.webhooks.model import type_of
from chalicelib.webhooks.payload import public_form, wrapped

Json = dict[str, Any]


def documentation() -> Json:
    """Return every wrapper with its types, and every type with its fields."""
    return {
        wrapper.key: {
            "display_name": wrapper.label,
            "description": wrapper.description,
            "events": {each.name: _described(each) for each in wrapper.types},
        }
        for wrapper in WRAPPERS
    }


def samples(query: Mapping[str, str]) -> list[Json]:
    """Return a sample of each type that ``events`` names, of all by default; raises 400."""
    return [wrapped(sample(kind)) for kind in dict.fromkeys(_wanted(query))]


def _described(about: EventType) -> Json:
    values = public_form(sample(about.name))
    return {
        "display_name": about.label,
        "description": about.description,
        "event": {
            name: {"description": field.description, "sampleValue": values[name]}
            for name, field in described(about.name)
        },
    }


def _wanted(query: Mapping[str, str]) -> Iterator[str]:
    for name in comma_list(query, "events") or TYPES:
        kind = type_of(name)
        if kind is None:
            text = f"unknown event type: {name[:100]}"
            raise bad_request(text, param="events", value=name[:100])
        yield kind
