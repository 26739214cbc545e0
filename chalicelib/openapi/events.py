"""``/events`` (spec 4.10) and ``/ingest``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chalicelib.events.documentation import TYPES
from chalicelib.events.fields import FIELDS
from chalicelib.events.filters import FILTERS
from chalicelib.events.ingest_search import TYPES as OUTCOMES
from chalicelib.openapi.operation import (
    Operation,
    Operations,
    content,
    listed,
    query,
    results,
    shared,
)
from chalicelib.openapi.schema import (
    Schema,
    array,
    flag,
    integer,
    mapping,
    moment,
    obj,
    one_of,
    record,
    ref,
    text,
)

_MESSAGES: Final = "/api/v1/events/message"

_TIMES: Final = ("timestamp", "expiration_timestamp")
_KINDS: Final = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}


def _fields() -> Iterator[tuple[str, Schema]]:
    """Yield what a search shows of each field, as its sample has it."""
    for name, field in FIELDS.items():
        if name in _TIMES:
            schema = moment()
        elif name == "type":
            schema = one_of([*TYPES, *OUTCOMES])
        else:
            schema = {"type": _KINDS[type(field.sample)]}
        yield name, schema | {"description": field.description}


_ALWAYS: Final = ("type", "display_name", "event_description")

SCHEMAS: Final[dict[str, Schema]] = {
    "Event": obj(*_ALWAYS, display_name=text(), event_description=text(), **dict(_fields()))
}
"""What is described once, for the components of the document."""

_EVENTS: Final = array(ref("Event"))
_PAGING: Final = (
    shared("cursor"),
    shared("per_page"),
    shared("delimiter"),
    query("from", moment(), "From this time on; by default, a day ago"),
    query("to", moment(), "Before this time; by default, a minute ago"),
)
_NUMBERS: Final = ("bounce_classes", "subaccounts", "ab_test_versions")
_OUTCOME_FILTERS: Final = (
    listed("events", "`success`, `error`", one_of(OUTCOMES)),
    listed("event_ids", "Of these events"),
    listed("batch_ids", "Of these batches"),
    listed("error_types", "With these errors"),
    listed("subaccounts", "Of these subaccounts", integer(0)),
    query("retryable", flag(), "Those that can be sent again, or not"),
)
_FIELD: Final = record(description=text(), sampleValue={})

OPERATIONS: Final[Operations] = {
    f"GET {_MESSAGES}": Operation(
        results(_EVENTS, total_count=integer(0), links=ref("NextLink")),
        takes=(
            *_PAGING,
            listed("events", "Events of these types", one_of(TYPES)),
            *(
                listed(name, "Events with one of these", integer(0) if name in _NUMBERS else None)
                for name in FILTERS
                if name != "events"
            ),
        ),
    ),
    f"GET {_MESSAGES}/documentation": Operation(
        results(array(mapping({"anyOf": [_FIELD, text()]})))
    ),
    f"GET {_MESSAGES}/samples": Operation(
        results(_EVENTS), takes=(listed("events", "Types of events"),), refusals=(400,)
    ),
    "GET /api/v1/events/ingest": Operation(
        results(_EVENTS, total_count=integer(0), links=ref("NextLink")),
        takes=(*_PAGING, *_OUTCOME_FILTERS),
    ),
    "POST /api/v1/ingest/events": Operation(
        results(record(id=text())),
        media={
            "application/x-ndjson": text(about="Events, one a line; gzipped or plain"),
            "application/octet-stream": text(about="The same"),
        },
    ),
    "GET /api/v1/ingest/failures/{token}": Operation(
        content("application/x-ndjson", text(), about="The events that could not be taken")
    ),
}
