"""Check an event of a batch, and read it as an event of the account.

An event has the form of webhooks, with or without its wrapper. It keeps the documented fields of
its type. Other fields are ignored, so that nobody can set the fields that only the service sets.
Its id is derived from the one in the batch, because other accounts may use the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from chalicelib.core import ids
from chalicelib.core.addresses import is_address
from chalicelib.core.domain_names import spelling
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event, EventFields
from chalicelib.events.documentation import INGESTED, TYPES, wrapper_of
from chalicelib.events.fields import FIELDS
from chalicelib.events.model import recipient_fields
from chalicelib.ingest.model import NEWEST_MS, OLDEST_MS, IngestBatch
from chalicelib.webhooks.names import NEUTRAL, VENDOR

LONGEST: Final = 4096
LONGEST_NAME: Final = 128
LONGEST_OBJECT: Final = 10_240

_OUTER_KEYS = (NEUTRAL.wrapper, VENDOR.wrapper)
#: Short fields, most of which are parts of keys
_NAMES = frozenset(
    (
        "campaign_id",
        "delv_method",
        "event_id",
        "ip_address",
        "ip_pool",
        "mailbox_provider",
        "mailbox_provider_region",
        "message_id",
        "rcpt_type",
        "recv_method",
        "routing_domain",
        "sending_domain",
        "sending_ip",
        "template_id",
        "transmission_id",
    )
)
_DOMAINS = ("routing_domain", "sending_domain")
_NUMBERS = ("bounce_class", "num_retries", "msg_size", "queue_time")
_BOUNCE_TYPES = ("bounce", "out_of_band")
#: Fields that the service sets itself, and those by which its own A/B tests are counted
_IGNORED = frozenset(
    (
        "ab_test_id",
        "ab_test_version",
        "customer_id",
        "event_id",
        "rcpt_hash",
        "rcpt_to",
        "recipient_domain",
        "subaccount_id",
        "timestamp",
        "type",
    )
)
_DIGITS = re.compile(r"[0-9]{1,15}", re.ASCII)
_MILLISECONDS_DIGITS = 13


class Unusable(ValueError):
    """An event that cannot be ingested; its text says why."""


def read(data: Any, batch: IngestBatch) -> Event:
    """Return the event of the account that ``data`` describes; raises :class:`Unusable`."""
    fields = _unwrapped(data)
    kind = fields["type"]
    event: Event = {
        "type": kind,
        "timestamp": _moment(fields.get("timestamp"), batch.taken_ms),
        "event_id": _event_id(fields, batch),
        **_owner(fields, batch),
        **_recipient(fields),
        **_others(fields),
    }
    if "message_id" in TYPES[kind].fields and "message_id" not in event:
        raise Unusable("message_id is a required field")
    if kind in _BOUNCE_TYPES and "bounce_class" not in event:
        raise Unusable("bounce_class is a required field")
    if _is_ours(event):
        raise Unusable("message_id and transmission_id are those of a message of this service")
    return event


def _unwrapped(data: Any) -> Mapping[str, Any]:
    fields, wrapper = data, ""
    if isinstance(data, dict) and len(data) == 1:
        ((name, inner),) = data.items()
        if name in _OUTER_KEYS and isinstance(inner, dict) and len(inner) == 1:
            ((wrapper, fields),) = inner.items()
    if not isinstance(fields, dict):
        raise Unusable("an event must be an object")
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in INGESTED:
        raise Unusable(f"type must be a type of message events, which {_quoted(kind)} is not")
    if wrapper and wrapper != wrapper_of(kind):
        raise Unusable(f"an event of type {kind} belongs in a {wrapper_of(kind)}")
    return fields


def _moment(value: Any, taken_ms: int) -> int:
    if value is None:
        raise Unusable("timestamp is a required field")
    moment = _read_moment(value)
    if moment is None:
        raise Unusable(f"timestamp must be a time in Unix seconds, which {_quoted(value)} is not")
    if moment <= taken_ms - OLDEST_MS:
        raise Unusable("timestamp is more than 24 hours ago")
    if moment > taken_ms + NEWEST_MS:
        raise Unusable("timestamp is in the future")
    return moment


def _read_moment(value: Any) -> int | None:
    """Read Unix seconds, Unix milliseconds or ISO 8601."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    if _DIGITS.fullmatch(text):
        return int(text) if len(text) >= _MILLISECONDS_DIGITS else int(text) * 1000
    if isinstance(value, float):
        return int(value * 1000)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


def _event_id(fields: Mapping[str, Any], batch: IngestBatch) -> str:
    event_id = fields.get("event_id")
    if event_id is None and "event_id" not in TYPES[fields["type"]].fields:
        event_id = ids.recipient_hash(json.dumps(fields, sort_keys=True))
    if event_id is None:
        raise Unusable("event_id is a required field")
    return ids.event_id(f"{batch.account_id}/{_text('event_id', event_id)}", "ingested")


def _owner(fields: Mapping[str, Any], batch: IngestBatch) -> EventFields:
    """Return the owner's fields; an event may have them, but must not name another owner."""
    own: EventFields = {"customer_id": str(batch.account_id)}
    if batch.subaccount_id is not None:
        own["subaccount_id"] = str(batch.subaccount_id)
    for name in ("customer_id", "subaccount_id"):
        owner = fields.get(name)
        if owner is not None and str(owner) not in ("", own.get(name, "0")):
            raise Unusable(f"{name} is {_quoted(owner)}, which is not the owner of this batch")
    return own


def _recipient(fields: Mapping[str, Any]) -> EventFields:
    address = fields.get("rcpt_to")
    if address is None and "rcpt_hash" not in TYPES[fields["type"]].fields:
        return {}
    if not isinstance(address, str) or not is_address(address):
        text = "is a required field" if address is None else "must be an email address"
        raise Unusable(f"rcpt_to {text}")
    return recipient_fields(address, metadata={}, tags=[])


def _others(fields: Mapping[str, Any]) -> EventFields:
    others: Json = {}
    for name in TYPES[fields["type"]].fields:
        value = fields.get(name)
        if value is not None and name not in _IGNORED:
            others[name] = _value(name, value)
    return cast(EventFields, others)


def _value(name: str, value: Any) -> Any:
    """Return a field's value in the type that events have (spec 2.11)."""
    kind = type(FIELDS[name].sample)
    if kind is str:
        return _text(name, value)
    if kind is bool and value in ("true", "false"):
        return value == "true"
    if not isinstance(value, kind):
        raise Unusable(f"{name} must be {_KINDS[kind]}")
    if kind is list and not all(isinstance(each, str) for each in value):
        raise Unusable(f"{name} must be an array of strings")
    if len(json.dumps(value)) > LONGEST_OBJECT:
        raise Unusable(f"{name} has more than {LONGEST_OBJECT} bytes")
    return value


_KINDS = {bool: "a boolean", dict: "an object", list: "an array of strings", int: "a number"}


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Unusable(f"{name} must be a string")
    text = str(value)
    most = LONGEST_NAME if name in _NAMES else LONGEST
    if len(text) > most:
        raise Unusable(f"{name} has more than {most} characters")
    if name in _DOMAINS:
        return spelling(text)
    if name not in _NUMBERS:
        return text
    if not _DIGITS.fullmatch(text):
        raise Unusable(f"{name} must be a whole number")
    return str(int(text))


def _is_ours(event: Event) -> bool:
    try:
        return ids.transmission_of(event.get("message_id", ""))[0] == event.get("transmission_id")
    except ValueError:
        return False


def _quoted(value: Any) -> str:
    return repr(value)[:100]
