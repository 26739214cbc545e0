"""Make transmissions and request bodies for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chalicelib.accounts.plan import Limits
from chalicelib.accounts.store.meter import Meter
from chalicelib.accounts.store.usage_items import Counter, Share
from chalicelib.recipient_lists.stored_form import decode, encode
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.recipients import Recipients, RequestRecipients

CREATED = 1_769_850_000_000
OPTIONS = {
    "open_tracking": True,
    "click_tracking": True,
    "initial_open": True,
    "transactional": False,
    "ip_pool": "default",
    "inline_css": False,
}
#: What an account that chose nothing leaves to the service (``Sender.defaults``)
DEFAULTS = {
    "tracking": True,
    "tracks_opens": True,
    "tracks_clicks": True,
    "initial_open": True,
    "transactional": False,
    "ip_pool": "default",
    "enterprise": False,
}


def body(**fields: Any) -> dict[str, Any]:
    """Return the smallest good request body, changed by ``fields``."""
    content = {"from": "a@mail.example.test", "subject": "Hi", "text": "Hello"}
    return {"content": content, "recipients": [{"address": "r@example.test"}]} | fields


def content(**fields: Any) -> dict[str, Any]:
    """Return a body whose content has ``fields``; ``None`` removes a field."""
    content = body()["content"] | fields
    return body(content={name: value for name, value in content.items() if value is not None})


def make_transmission(**fields: Any) -> Transmission:
    """Return a transmission as acceptance makes it, ready to be generated."""
    details: dict[str, Any] = {
        "id": "191930000000000001",
        "account_id": 1,
        "subaccount_id": None,
        "created_ms": CREATED,
        "recv_method": "rest",
        "options": OPTIONS,
        "defaults": DEFAULTS,
        "resolved": True,
        "content": body()["content"],
    }
    return Transmission(**(details | fields))


def recipients(count: int) -> RequestRecipients:
    """Return the recipients of a request."""
    return request_recipients({"email": f"r{number}@example.test"} for number in range(count))


def request_recipients(records: Iterable[dict[str, Any]]) -> RequestRecipients:
    """Return these records as the recipients of a request."""
    return RequestRecipients([encode(record) for record in records])


def records(recipients: Recipients) -> list[dict[str, Any]]:
    """Return recipients as they were before they were encoded."""
    return [decode(each) for each in recipients]


def meter() -> Meter:
    """Return the meter of an account without limits that has not counted yet."""
    return Meter(1, 0, Limits(), Share(), Counter())
