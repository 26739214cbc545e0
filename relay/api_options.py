"""Check the options in the API header of an SMTP message, key by key.

    campaign_id             string, 64 bytes at most
    metadata                object
    tags                    array of strings
    cc, bcc, archive        arrays of addresses, each a string or {"email", "name"}; 1,000 in total
    options                 object: open_tracking, click_tracking, transactional, skip_suppression
                            and inline_css (boolean), ip_pool, dkim_key and reply_domain (string)

An option that is absent or null is None: the account's default applies. Other keys are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chalicelib.core.addresses import Mailbox, is_address
from relay.errors import PermanentRefusal

T = TypeVar("T")

_MAX_CAMPAIGN_ID = 64
_MAX_COPIES = 1_000
_TYPE_NAMES = {str: "a string", bool: "a boolean", dict: "an object", list: "an array"}
# These end a header line, and the values reach headers.
_LINE_BREAKERS = re.compile("[\r\n\0]")


@dataclass(frozen=True, slots=True)
class SendOptions:
    """The `options` of the header; None for an absent one."""

    open_tracking: bool | None = None
    click_tracking: bool | None = None
    transactional: bool | None = None
    skip_suppression: bool | None = None
    inline_css: bool | None = None
    ip_pool: str | None = None
    dkim_key: str | None = None
    reply_domain: str | None = None


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """The content of a valid header."""

    campaign_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    cc: tuple[Mailbox, ...] = ()
    bcc: tuple[Mailbox, ...] = ()
    archive: tuple[Mailbox, ...] = ()
    options: SendOptions = SendOptions()


def read_api_options(fields: Mapping[str, Any]) -> ApiOptions:
    """Return the options of a parsed header; raises Refused (550 5.6.0) naming a bad field."""
    campaign_id = _typed(fields, "campaign_id", str)
    if campaign_id is not None and len(campaign_id.encode()) > _MAX_CAMPAIGN_ID:
        raise refused(f"campaign_id is over {_MAX_CAMPAIGN_ID} bytes")
    copies = {name: _copies(fields, name) for name in ("cc", "bcc", "archive")}
    if sum(map(len, copies.values())) > _MAX_COPIES:
        raise refused(f"cc, bcc and archive have more than {_MAX_COPIES} addresses")
    return ApiOptions(
        campaign_id=campaign_id,
        metadata=_typed(fields, "metadata", dict) or {},
        tags=_tags(fields),
        options=_send_options(_typed(fields, "options", dict) or {}),
        **copies,
    )


def refused(reason: str) -> PermanentRefusal:
    """Return the refusal of a message for its API header."""
    return PermanentRefusal(550, "5.6.0", f"API header: {reason}")


def _typed(fields: Mapping[str, Any], name: str, kind: type[T], label: str = "") -> T | None:
    if fields.get(name) is None:
        return None
    return _checked(fields[name], kind, label or name)


def _checked(value: Any, kind: type[T], label: str) -> T:
    if not isinstance(value, kind):
        raise refused(f"{label} must be {_TYPE_NAMES[kind]}")
    if isinstance(value, str) and _LINE_BREAKERS.search(value):
        raise refused(f"{label} must not have CR, LF or NUL")
    return value


def _tags(fields: Mapping[str, Any]) -> tuple[str, ...]:
    tags = _typed(fields, "tags", list) or []
    return tuple(_checked(tag, str, "each of tags") for tag in tags)


def _copies(fields: Mapping[str, Any], name: str) -> tuple[Mailbox, ...]:
    return tuple(_copy(entry, name) for entry in _typed(fields, name, list) or [])


def _copy(entry: Any, list_name: str) -> Mailbox:
    label = f"each of {list_name}"
    if isinstance(entry, dict):
        if "email" not in entry:
            raise refused(f"{label} must have an email")
        name = _typed(entry, "name", str, f"name in {list_name}") or ""
        copy = Mailbox(_checked(entry["email"], str, f"email in {list_name}"), name)
    elif isinstance(entry, str):
        copy = Mailbox(_checked(entry, str, label))
    else:
        raise refused(f"{label} must be a string or an object")
    if not is_address(copy.email):
        raise refused(f"{list_name} has an address that is not valid")
    return copy


def _send_options(fields: Mapping[str, Any]) -> SendOptions:
    booleans = {
        name: _typed(fields, name, bool, f"options.{name}")
        for name in (
            "open_tracking",
            "click_tracking",
            "transactional",
            "skip_suppression",
            "inline_css",
        )
    }
    return SendOptions(
        **booleans,
        ip_pool=_typed(fields, "ip_pool", str, "options.ip_pool"),
        dkim_key=_typed(fields, "dkim_key", str, "options.dkim_key"),
        reply_domain=_typed(fields, "reply_domain", str, "options.reply_domain"),
    )
