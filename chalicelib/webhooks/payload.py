"""Build the body of a POST to a webhook: a batch of events, or the empty test batch (spec 6).

The body is ASCII, because text from outside may hold half a surrogate pair, which UTF-8 cannot
encode.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event
from chalicelib.events.documentation import documented_fields, wrapper_of
from chalicelib.webhooks.names import names

_TIMES = ("timestamp", "expiration_timestamp")


def public_form(event: Event) -> Json:
    """Return an event as webhooks show it: its type's fields, times in Unix seconds (spec 2.11)."""
    fields: Json = {**documented_fields(event["type"], event)}
    fields |= {name: _seconds(fields[name]) for name in _TIMES if name in fields}
    return fields


def wrapped(event: Event) -> Json:
    """Return an event in its wrapper, as an element of the array."""
    return {names().wrapper: {wrapper_of(event["type"]): public_form(event)}}


def element(event: Event) -> bytes:
    """Return the bytes of an event's element of the array."""
    return _dumps(wrapped(event))


def batch(elements: Iterable[bytes]) -> bytes:
    """Return the array of these elements."""
    return b"[" + b",".join(elements) + b"]"


def ping() -> bytes:
    """Return the batch of a test POST (spec 6.5)."""
    return message([{names().wrapper: {}}])


def message(content: Any) -> bytes:
    """Return the bytes of any JSON value."""
    return _dumps(content)


def _dumps(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _seconds(moment: Any) -> str:
    return str(moment // 1000) if isinstance(moment, int) else str(moment)
