"""Describe ``/events`` (spec 4.10) and ``/ingest``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.events.documentation import TYPES
from chalicelib.events.fields import FIELDS
from chalicelib.events.filters import FILTERS
from chalicelib.events.ingest_search import TYPES as INGEST_RESULTS
from chalicelib.openapi.operation import (
    Operation,
    Operations,
    comma_list,
    content,
    query,
    results,
    shared_parameter,
)
from chalicelib.openapi.schema import (
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
_KINDS: Final = {bool: "boolean", int: "integer", str: "string", dict: "object"}


def _fields() -> Iterator[tuple[str, Json]]:
    """Yield the schema of each field of an event, with the type of its sample."""
    for name, field in FIELDS.items():
        if name in _TIMES:
            schema = moment()
        elif name == "type":
            schema = one_of(list(dict.fromkeys([*TYPES, *INGEST_RESULTS])))
        elif isinstance(field.sample, list):
            schema = array(text())
        else:
            schema = {"type": _KINDS[type(field.sample)]}
        yield name, schema | {"description": field.description}


_ALWAYS: Final = ("type", "display_name", "event_description")

SCHEMAS: Final[dict[str, Json]] = {
    "Event": obj(*_ALWAYS, display_name=text(), event_description=text(), **dict(_fields()))
}
"""Schemas for the components of the document."""

_EVENTS: Final = array(ref("Event"))
_WINDOW: Final = (
    query("from", moment(), "Only events at this time or later; by default a day ago"),
    query("to", moment(), "Only events before this time; by default a minute ago"),
)
_PAGING: Final = (
    shared_parameter("cursor"),
    shared_parameter("per_page"),
    shared_parameter("delimiter"),
    *_WINDOW,
)
_NUMBERS: Final = ("bounce_classes", "subaccounts", "ab_test_versions")
_OUTCOME_FILTERS: Final = (
    comma_list("events", "Only these results", one_of(INGEST_RESULTS)),
    comma_list("event_ids", "Only results of these events"),
    comma_list("batch_ids", "Only results of these batches"),
    comma_list("error_types", "Only results with these errors"),
    comma_list("subaccounts", "Only results of these subaccounts", integer(0)),
    query(
        "retryable", flag(), "`true`: only events that can be sent again. `false`: only the others"
    ),
)
_FILTERS: Final = (
    comma_list("events", "Only events of these types", one_of(TYPES)),
    *(
        comma_list(
            name,
            "Only events with one of these values",
            integer(0) if name in _NUMBERS else None,
        )
        for name in FILTERS
        if name != "events"
    ),
)
_FIELD: Final = record(description=text(), sampleValue={})

OPERATIONS: Final[Operations] = {
    f"GET {_MESSAGES}": Operation(
        results(_EVENTS, total_count=integer(0), links=ref("NextLink")),
        parameters=(*_PAGING, *_FILTERS),
    ),
    f"GET {_MESSAGES}/counts": Operation(
        results(mapping(integer(0))),
        parameters=(shared_parameter("delimiter"), *_WINDOW, *_FILTERS),
    ),
    f"GET {_MESSAGES}/documentation": Operation(
        results(array(mapping({"anyOf": [_FIELD, text()]})))
    ),
    f"GET {_MESSAGES}/samples": Operation(
        results(_EVENTS),
        parameters=(comma_list("events", "Types of events to show"),),
        refusals=(400,),
    ),
    "GET /api/v1/events/ingest": Operation(
        results(_EVENTS, total_count=integer(0), links=ref("NextLink")),
        parameters=(*_PAGING, *_OUTCOME_FILTERS),
    ),
    "POST /api/v1/ingest/events": Operation(
        results(record(id=text())),
        media={
            "application/x-ndjson": text(about="Events as JSON, one on each line; gzip is allowed"),
            "application/octet-stream": text(about="The same"),
        },
    ),
    "GET /api/v1/ingest/failures/{token}": Operation(
        content("application/x-ndjson", text(), about="The events that were not accepted")
    ),
}
