"""Read the bodies of POST and PUT /webhooks into a webhook and its credentials (spec 2.10).

The refusal names every faulty field (``core.params``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Final

from chalicelib.core import web_address
from chalicelib.core.errors import bad_request
from chalicelib.core.fields import without_nulls
from chalicelib.core.params import Params
from chalicelib.core.query import Query
from chalicelib.core.scope import PRIMARY
from chalicelib.core.settings import settings
from chalicelib.core.time_zones import time_zone
from chalicelib.events.documentation import type_of
from chalicelib.webhooks import custom_headers, payload
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.custom_headers import AUTHORIZATION
from chalicelib.webhooks.model import ALL, AUTH_TYPES, BASIC, NONE, OAUTH2, Webhook

LONGEST_NAME: Final = 1024
MOST_EXCEPTIONS: Final = 10
#: Most bytes of ``auth_request_details.body`` as JSON
LARGEST_DETAILS: Final = 10_000
_MOST_EVENTS = 100
_LONGEST_TEXT = 2048
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


class _Reader:
    """Reads the fields of one body.

    Null removes custom headers, exceptions and the token; for other fields it counts as absent.
    """

    def __init__(self, body: Any, *, new: bool) -> None:
        self.params = Params(body)
        self._body: Mapping[str, Any] = body
        self._new = new

    def fields(self, webhook: Webhook) -> Webhook:
        """Read the fields that are not secret."""
        params, new = self.params, self._new
        changes = {
            "name": params.text("name", most=LONGEST_NAME, required=new),
            "target": self._url(params, "target", required=new),
            "events": self._events(),
            "active": params.flag("active"),
            "auth_type": params.choice("auth_type", AUTH_TYPES),
            "exceptions": self._exceptions(webhook),
        }
        present = {name: value for name, value in changes.items() if value is not None}
        return replace(webhook, **present)

    def source(self, webhook: Webhook, may_be: MayBeSource) -> Webhook:
        """Read ``subaccount_id``, the source of the events."""
        value = self._body.get("subaccount_id")
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
        webhook, before = draft.webhook, draft.credentials
        secrets = replace(
            before,
            auth_token=self._auth_token(before.auth_token),
            headers=self._headers(webhook.auth_type, before.headers),
        )
        readers = {NONE: self._no_credentials, BASIC: self._basic, OAUTH2: self._oauth2}
        return Draft(webhook, readers[webhook.auth_type](secrets))

    def _url(self, params: Params, name: str, *, required: bool, any_port: bool = False) -> Any:
        url = params.text(name, most=web_address.LONGEST, required=required)
        if url is not None and (fault := _target_fault(url, any_port=any_port)):
            params.refuse(name, f"{name} {fault}", url)
        return url

    def _events(self) -> tuple[str, ...] | None:
        names = self.params.texts("events", most=_MOST_EVENTS, required=self._new)
        if names is None:
            return None
        if not names and not self._new:
            self.params.refuse("events", "events must not be empty", names)
        if unknown := [name for name in names if type_of(name) is None]:
            text = ", ".join(unknown)[:_LONGEST_TEXT]
            self.params.refuse("events", f"events: unknown event types: {text}", unknown)
        return tuple(dict.fromkeys(names))

    def _exceptions(self, webhook: Webhook) -> tuple[int, ...] | None:
        value = self._body.get("exception_subaccounts")
        if value is None:
            return () if self.params.is_null("exception_subaccounts") else None
        if fault := _exceptions_fault(value, webhook, new=self._new):
            self.params.refuse("exception_subaccounts", f"exception_subaccounts {fault}", value)
            return None
        return tuple(value)

    def _headers(self, auth_type: str, before: Mapping[str, str]) -> Mapping[str, str]:
        headers = without_nulls(self._body.get("custom_headers"))
        if headers is None:
            headers = {} if self.params.is_null("custom_headers") else before
        elif fault := custom_headers.fault(headers):
            self.params.refuse("custom_headers", fault, headers)
            return before
        if auth_type != NONE and AUTHORIZATION in (name.lower() for name in headers):
            text = f"custom_headers: Authorization is set by auth_type {auth_type}"
            self.params.refuse("custom_headers", text, list(headers))
        return dict(headers)

    def _no_credentials(self, secrets: Credentials) -> Credentials:
        return replace(secrets, username="", password="", token_url="", token_body={})

    def _basic(self, secrets: Credentials) -> Credentials:
        secrets = replace(secrets, token_url="", token_body={})
        if self._body.get("auth_credentials") is None:
            if not secrets.username:
                text = "auth_credentials is required for auth_type basic"
                self.params.refuse("auth_credentials", text, None)
            return secrets
        inner = self.params.inner("auth_credentials")
        username = inner.text("username", most=_LONGEST_TEXT, required=True) or ""
        if ":" in username:  # RFC 7617 2: it would end there
            inner.refuse("username", "username must not contain a colon", username)
        password = inner.text("password", most=_LONGEST_TEXT, blank=True) or ""
        return replace(secrets, username=username, password=password)

    def _oauth2(self, secrets: Credentials) -> Credentials:
        secrets = replace(secrets, username="", password="")
        if self._body.get("auth_request_details") is None:
            if not secrets.token_url:
                text = "auth_request_details is required for auth_type oauth2"
                self.params.refuse("auth_request_details", text, None)
            return secrets
        inner = self.params.inner("auth_request_details")
        url = self._url(inner, "url", required=True, any_port=True)
        content = self._body["auth_request_details"].get("body") if url else {}
        if not isinstance(content, Mapping):
            inner.refuse("body", "auth_request_details.body must be an object", content)
            content = {}
        if len(payload.message(content)) > LARGEST_DETAILS:
            text = f"auth_request_details.body must be at most {LARGEST_DETAILS} bytes of JSON"
            inner.refuse("body", text, None)
        return replace(secrets, token_url=url or "", token_body=dict(content))

    def _auth_token(self, before: str) -> str:
        text = self.params.text("auth_token", most=_LONGEST_TEXT, blank=True)
        if text and not (text.isascii() and text.isprintable()):
            self.params.refuse("auth_token", "auth_token must be printable ASCII", text)
        return before if text is None else text


def _target_fault(url: str, *, any_port: bool) -> str:
    """Return what is wrong with a target, empty if nothing is (spec 2.10). Looks nothing up."""
    try:
        address = web_address.read(url)
    except web_address.BadUrl as error:
        return f"is not a valid URL: {error}"
    if any_port or settings().webhook_any_port:
        return ""
    usual = web_address.PORTS[address.scheme]
    return "" if address.port == usual else "must use port 80 (http) or 443 (https)"


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
