"""Describe ``/delivery-queue``."""

from __future__ import annotations

from typing import Final

from chalicelib.openapi.operation import Operation, Operations, results
from chalicelib.openapi.schema import Maybe, array, integer, moment, number, record, text

_ENTRY: Final = record(
    group=text() | {"description": "The provider: a name, or the domain of its mail hosts"},
    source_address=Maybe(text()),
    waiting=integer(0) | {"description": "Messages of the account that wait"},
    waiting_since=Maybe(moment()),
    reason=Maybe(text()),
    messages_per_second=Maybe(number() | {"description": "The rate in force, if there is a limit"}),
    connections=integer(1),
    messages_per_connection=integer(1),
    paused_until=Maybe(moment()),
    last_answers=array(text()),
)

OPERATIONS: Final[Operations] = {
    "GET /api/v1/delivery-queue": Operation(results(array(_ENTRY))),
}
