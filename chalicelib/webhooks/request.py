"""Read the bodies of POST and PUT /webhooks into a webhook and its credentials (spec 2.10).

The refusal names every faulty field (``core.params``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Final

from chalicelib.core.errors import bad_request
from chalicelib.core.query import Query
from chalicelib.core.scope import PRIMARY
from chalicelib.core.time_zones import time_zone
from chalicelib.events.documentation import type_of
from chalicelib.webhooks import payload
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.endpoint_request import LONGEST_TEXT, EndpointReader
from chalicelib.webhooks.model import ALL, Webhook

MOST_EXCEPTIONS: Final = 10
_MOST_EVENTS = 100
_LARGEST = 2**31 - 1

#: Tells whether a webhook may get the events of a source
MayBeSource = Callable[[Webhook, int], bool]


@dataclass(frozen=True, slots=True)
class Draft:
    """A webhook whose credentials are not sealed yet."""

    webhook: Webhook
    credentials: Credentials


def read_new(body: Any, blank: Webhook) -> Draft:
    """Return ``blank``, a webhook of the caller's part, with the fields of ``body``; raises 400."""
    reader = _Reader(body, new=True)
    webhook = reader.fields(blank)
    draft = reader.authentication(Draft(webhook, Credentials()))
    reader.params.check()
    return draft


def read_changes(body: Any, before: Draft, may_be: MayBeSource) -> Draft:
    """Return a webhook with the changes in ``body``; raises 400."""
    reader = _Reader(body, new=False)
    webhook = reader.fields(reader.source(before.webhook, may_be))
    draft = reader.authentication(Draft(webhook, before.credentials))
    reader.params.check()
    return draft


def read_test_batch(body: Any) -> bytes:
    """Return the batch to post for a validation: the body or its ``message``.

    Either is an array of events or one event. Nothing, or an empty object, stands for the batch of
    the test POST. Raises 400 for anything else.
    """
    content = body["message"] if isinstance(body, dict) and "message" in body else body
    if content is None or content == {}:
        return payload.ping()
    if not isinstance(content, list | dict):
        raise bad_request("message must be an array of events", param="message")
    return payload.message(content if isinstance(content, list) else [content])


def read_time_zone(query: Query) -> tzinfo:
    """Read ``timezone``, UTC by default; raises 400."""
    name = query.get("timezone") or "UTC"
    zone = time_zone(name)
    if zone is None:
        text = "timezone must be the name of a time zone, such as Europe/Oslo"
        raise bad_request(text, param="timezone", value=name[:100])
    return zone


class _Reader(EndpointReader):
    """Reads the fields of one body; null also removes exceptions."""

    def fields(self, webhook: Webhook) -> Webhook:
        """Read the fields that are not secret."""
        changes = {
            **self.endpoint_fields(name_required=self.new),
            "events": self._events(),
            "active": self.params.flag("active"),
            "exceptions": self._exceptions(webhook),
        }
        present = {name: value for name, value in changes.items() if value is not None}
        return replace(webhook, **present)

    def source(self, webhook: Webhook, may_be: MayBeSource) -> Webhook:
        """Read ``subaccount_id``, the source of the events."""
        value = self.body.get("subaccount_id")
        if value is None or value == webhook.source:
            return webhook
        if not _is_integer(value) or value < ALL or not may_be(webhook, value):
            text = "subaccount_id must be -1, 0 or the id of a subaccount"
            if webhook.subaccount_id is not None:
                text = f"subaccount_id must be {webhook.subaccount_id}, which owns the webhook"
            self.params.refuse("subaccount_id", text, value)
            return webhook
        return replace(webhook, source=value, exceptions=())

    def authentication(self, draft: Draft) -> Draft:
        """Read the secret fields."""
        webhook = draft.webhook
        return Draft(webhook, self.credentials(webhook.auth_type, draft.credentials))

    def _events(self) -> tuple[str, ...] | None:
        names = self.params.texts("events", most=_MOST_EVENTS, required=self.new)
        if names is None:
            return None
        if not names and not self.new:
            self.params.refuse("events", "events must not be empty", names)
        if unknown := [name for name in names if type_of(name) is None]:
            text = ", ".join(unknown)[:LONGEST_TEXT]
            self.params.refuse("events", f"events: unknown event types: {text}", unknown)
        return tuple(dict.fromkeys(names))

    def _exceptions(self, webhook: Webhook) -> tuple[int, ...] | None:
        value = self.body.get("exception_subaccounts")
        if value is None:
            return () if self.params.is_null("exception_subaccounts") else None
        if fault := _exceptions_fault(value, webhook, new=self.new):
            self.params.refuse("exception_subaccounts", f"exception_subaccounts {fault}", value)
            return None
        return tuple(value)


def _exceptions_fault(value: Any, webhook: Webhook, *, new: bool) -> str:
    """Return the rule for ``exception_subaccounts`` that a value breaks, empty if none."""
    if not isinstance(value, list):
        return "must be an array"
    if not all(map(_is_integer, value)):
        return "must hold integers only"
    if any(number <= PRIMARY for number in value):
        return "must hold the ids of subaccounts"
    if len(set(value)) < len(value):
        return "must not hold duplicates"
    if len(value) > MOST_EXCEPTIONS:
        return f"must have at most {MOST_EXCEPTIONS} entries"
    if new and not value:
        return "must not be empty"
    if value and webhook.source != ALL:
        return "is only for webhooks of the primary account and all subaccounts"
    return ""


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST
