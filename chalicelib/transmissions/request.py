"""The body of ``POST /transmissions``, checked field by field (spec 2.1, 2.2)."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from chalicelib.core.addresses import Mailbox, read_mailbox
from chalicelib.core.errors import ApiError, ServiceError, bad_format, missing_field
from chalicelib.core.fields import Body

Json = dict[str, Any]

METADATA_BYTES = 10 * 1024
SUBSTITUTION_BYTES = 100_000
CAMPAIGN_BYTES = 64
DESCRIPTION_BYTES = 1024

# Headers that the service writes itself (spec 2.2)
_OWN_HEADERS = frozenset(
    {"subject", "from", "to", "reply-to", "content-type", "content-transfer-encoding"}
)


class Options(Body):
    """Transmission options; unset ones take the account's default."""

    open_tracking: bool | None = None
    click_tracking: bool | None = None
    initial_open: bool | None = None
    transactional: bool | None = None
    ip_pool: str | None = None


class FromAddress(Body):
    """``content.from`` in its object form."""

    email: str
    name: str | None = None


class Content(Body):
    """Inline content."""

    from_: str | FromAddress | None = Field(default=None, alias="from")
    subject: str | None = None
    html: str | None = None
    text: str | None = None
    amp_html: str | None = None
    reply_to: str | None = None
    headers: dict[str, str] | None = None


class TransmissionRequest(Body):
    """The whole body. Recipients are checked one by one, as some of them may be refused."""

    content: Content | None = None
    recipients: list[Any] | None = None
    options: Options | None = None
    campaign_id: str | None = None
    description: str | None = None
    metadata: Json | None = None
    substitution_data: Json | None = None


def read_request(data: Any) -> TransmissionRequest:
    """Check the body; raises 4xx errors in the spec's shape."""
    request = TransmissionRequest.parse(data)
    if request.recipients is None:
        raise missing_field("recipients or list_id required")
    if request.content is None:
        raise missing_field("content object or template_id required")
    check_length("campaign_id", request.campaign_id, CAMPAIGN_BYTES)
    check_length("description", request.description, DESCRIPTION_BYTES)
    if error := too_large_data(request.metadata, request.substitution_data):
        raise error
    _check_content(request.content)
    return request


def check_length(name: str, text: str | None, most: int) -> None:
    """Raise 1300 if ``text`` has more than ``most`` bytes."""
    if text is not None and (length := len(text.encode("utf-8", "surrogatepass"))) > most:
        raise bad_format(f"field '{name}' has length '{length}', but max length is '{most}'")


def too_large_data(metadata: Json | None, substitution_data: Json | None) -> ServiceError | None:
    """Return the error for data over its limit at one level, if it is."""
    if metadata and len(json.dumps(metadata)) > METADATA_BYTES:
        text = f"metadata exceeds the maximum of {METADATA_BYTES} bytes"
        return ApiError(422, "metadata is too large", code="2007", description=text)
    if substitution_data and len(json.dumps(substitution_data)) > SUBSTITUTION_BYTES:
        text = f"substitution_data exceeds the maximum of {SUBSTITUTION_BYTES} bytes"
        return ApiError(422, "substitution data is too large", code="2002", description=text)
    return None


def _check_content(content: Content) -> None:
    if content.from_ is None:
        raise missing_field("content.from is a required field")
    if not content.subject:
        raise missing_field("content.subject is a required field")
    if not content.html and not content.text:
        raise missing_field("At least one of 'text' or 'html' needs to exist in 'content'")
    for name in content.headers or {}:
        check_header_name(name)


def check_header_name(name: str) -> None:
    """Raise 3002 for a header that is malformed or that the service writes itself."""
    if name.lower() in _OWN_HEADERS:
        raise _bad_header(f"header '{name}' may not be set in content.headers")
    if not name or not all(33 <= ord(character) <= 126 and character != ":" for character in name):
        raise _bad_header(f"'{name}' is not a valid header name")


def _bad_header(description: str) -> ApiError:
    return ApiError(422, "invalid header name", code="3002", description=description)


def sender_of(content: Json) -> Mailbox | None:
    """Return the From mailbox of stored content, ``None`` if it is not a valid one."""
    given = content["from"]
    if isinstance(given, str):
        return read_mailbox(given)
    mailbox = read_mailbox(given["email"])
    return Mailbox(mailbox.email, given.get("name") or mailbox.name) if mailbox else None
