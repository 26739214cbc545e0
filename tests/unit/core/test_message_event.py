"""Check that the type of events has the fields that are described, and with the same types."""

from __future__ import annotations

from typing import Any, get_origin, get_type_hints

import pytest

from chalicelib.core.message_event import Event, RouteFields
from chalicelib.events.documentation import TYPES, sample
from chalicelib.events.fields import FIELDS
from chalicelib.metrics.model import COUNTS_IN_USAGE
from chalicelib.tracking.engagement import OBSERVED

#: Fields that are shown in no event
INTERNAL = {"rcpt_index", COUNTS_IN_USAGE, OBSERVED, "list_id"}

HINTS = get_type_hints(Event)


def runtime_type(hint: Any) -> type:
    return get_origin(hint) or hint


def test_the_type_of_events_has_every_field_that_is_described() -> None:
    assert set(HINTS) == set(FIELDS) | INTERNAL


@pytest.mark.parametrize("name", FIELDS)
def test_the_sample_of_a_field_has_its_type(name: str) -> None:
    assert isinstance(FIELDS[name].sample, runtime_type(HINTS[name]))


def test_every_event_says_what_happened_and_when() -> None:
    assert Event.__required_keys__ == {"type", "timestamp", "event_id"}


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_the_sample_of_a_type_is_an_event(kind: str) -> None:
    event = sample(kind)
    for name, value in event.items():
        assert isinstance(value, runtime_type(HINTS[name])), name


def test_the_fields_of_a_route_are_fields_of_an_event() -> None:
    assert get_type_hints(RouteFields).items() <= HINTS.items()
