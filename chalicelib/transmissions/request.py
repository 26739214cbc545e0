"""Read the body of ``POST /transmissions`` and check it field by field (spec 2.1, 2.2)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Annotated, Any

import pydantic
from pydantic import FailFast, Field

from chalicelib.core import clock
from chalicelib.core.errors import (
    bad_format,
    invalid_combination,
    mime_build_error,
    missing_field,
)
from chalicelib.core.fields import Body
from chalicelib.core.json_types import Json
from chalicelib.mail_format.files import Attachment, InlineImage, MimeError
from chalicelib.recipient_lists.limits import check_length, too_large_data
from chalicelib.templates import content as parts
from chalicelib.templates.content import FromAddress
from chalicelib.transmissions.content_size import (
    check_encoded_size,
    check_message_size,
    check_size,
    source_size,
)
from chalicelib.transmissions.model import LONGEST_AHEAD_MS

CAMPAIGN_BYTES = 64
DESCRIPTION_BYTES = 1024
FILE_NAME_BYTES = 255
LONGEST_LIST_ID = 255

#: The fields of ``content`` that name what is stored
STORED_CONTENT = ("template_id", "use_draft_template", "ab_test_id")

_INLINE_TEXTS = ("subject", "text", "html", "amp_html")
_IGNORED_BESIDE_STORED = ("from", "reply_to", "headers", "attachments", "inline_images")
_BESIDE_MESSAGE = (*STORED_CONTENT, *_INLINE_TEXTS, *_IGNORED_BESIDE_STORED)
_BODIES = ("text", "html", "amp_html")
_TEXTS = (*_INLINE_TEXTS, "email_rfc822")
_LIST_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")


class Options(Body):
    """Transmission options (spec 2.1); an unset one takes the template's or account's choice."""

    open_tracking: bool | None = None
    click_tracking: bool | None = None
    initial_open: bool | None = None
    transactional: bool | None = None
    ip_pool: str | None = None
    inline_css: bool | None = None
    perform_substitutions: bool | None = None
    dkim_key: str | None = None
    reply_domain: str | None = None
    sandbox: bool | None = None
    skip_suppression: bool | None = None
    start_time: str | None = None


class Override(Body):
    """Values that replace the content's own; nothing is substituted in them."""

    from_: str | FromAddress | None = Field(default=None, alias="from")
    reply_to: str | None = None
    list_id: str | None = None


class AttachmentField(Body):
    """One file: its name, its MIME type as sent, its data in base64 without line ends."""

    name: str
    type: str
    data: str


class InlineImageField(AttachmentField):
    """One picture that the html shows as ``cid:<name>``."""


class Content(parts.Content):
    """Content in any of its four forms (spec 2.2)."""

    template_id: str | None = None
    use_draft_template: bool | None = None
    ab_test_id: str | None = None
    email_rfc822: str | None = None
    attachments: Annotated[list[AttachmentField], FailFast()] = Field(default_factory=list)
    inline_images: Annotated[list[InlineImageField], FailFast()] = Field(default_factory=list)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _in_one_form(cls, data: Any) -> Any:
        """Refuse two forms at once, and leave out what is ignored, whatever its type is."""
        if not isinstance(data, dict):
            return data
        _check_forms(data)
        if data.get("template_id") or data.get("ab_test_id"):
            return _without(data, _IGNORED_BESIDE_STORED)
        return _without(data, _BESIDE_MESSAGE) if data.get("email_rfc822") else data

    @property
    def stored_id(self) -> str | None:
        """Return the id of the template or A/B test that holds the content, if it is stored."""
        return self.template_id or self.ab_test_id


class StoredList(Body):
    """``recipients`` that name a stored list."""

    list_id: str


class TransmissionRequest(Body):
    """The whole body. Recipients are checked one by one, as some of them may be refused."""

    content: Content
    recipients: list[Any] | StoredList
    options: Options = Field(default_factory=Options)
    override: Override = Field(default_factory=Override)
    campaign_id: str = ""
    description: str = ""
    metadata: Json = Field(default_factory=dict)
    substitution_data: Json = Field(default_factory=dict)
    return_path: str | None = None
    tracking_domain: str | None = None


def read_request(data: Any) -> TransmissionRequest:
    """Check the body; raises 4xx errors in the spec's shape."""
    if isinstance(data, dict):
        if data.get("recipients") is None:
            raise missing_field("recipients or list_id required")
        if data.get("content") is None:
            raise missing_field("content object or template_id required")
    request = TransmissionRequest.parse(data)
    check_length("campaign_id", request.campaign_id, CAMPAIGN_BYTES)
    check_length("description", request.description, DESCRIPTION_BYTES)
    if error := too_large_data(request.metadata, request.substitution_data):
        raise error
    if request.override.list_id:
        check_list_id(request.override.list_id)
    if request.override.reply_to:
        parts.check_reply_to(request.override.reply_to, "override.reply_to")
    _check_content(request.content, request.options.perform_substitutions is not False)
    if request.content.stored_id and request.options.perform_substitutions is False:
        raise invalid_combination(
            "options.perform_substitutions may be false only with inline content"
        )
    return request


def read_start_time(text: str | None) -> int | None:
    """Return ``options.start_time`` in milliseconds; ``None`` means now, or a time that has passed.

    Raises 1300 unless it is an ISO 8601 time with an offset and at most three days ahead (spec 2.1,
    8).
    """
    if text is None or text == "now":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or "T" not in text.upper():
        raise bad_format(
            "Error parsing scheduled start_time: it must be like 2026-01-31T09:05:00+00:00"
        )
    start_ms = int(moment.timestamp() * 1000)
    now_ms = clock.now_ms()
    if start_ms > now_ms + LONGEST_AHEAD_MS:
        raise bad_format("options.start_time may be at most 3 days ahead")
    return start_ms if start_ms > now_ms else None


def check_list_id(list_id: str) -> None:
    """Raise 1300 unless ``override.list_id`` is a list id (spec 2.9, RFC 2919)."""
    if len(list_id) > LONGEST_LIST_ID or not _LIST_ID.fullmatch(list_id):
        raise bad_format("field 'override.list_id' is not a valid list id")


def check_files(
    attachments: Sequence[AttachmentField], inline_images: Sequence[InlineImageField]
) -> int:
    """Return the bytes that files fill in a message; raises 422 for a bad one (spec 2.2)."""
    files_of = {"content.attachments": attachments, "content.inline_images": inline_images}
    for path, files in files_of.items():
        for number, file in enumerate(files):
            check_length(f"{path}[{number}].name", file.name, FILE_NAME_BYTES)
    names = [image.name for image in inline_images]
    if len(set(names)) != len(names):
        raise bad_format("the names of content.inline_images must be unique")
    size = 0
    try:
        for kind, files in ((Attachment, attachments), (InlineImage, inline_images)):
            for file in files:
                size += sum(map(len, kind(file.name, file.type, file.data).encoded))
    except MimeError as fault:
        raise mime_build_error(str(fault)) from None
    return size


def _check_content(content: Content, substitutes: bool) -> None:
    if content.stored_id:
        return
    _check_source_size(content)
    if content.email_rfc822:
        check_message_size(content.email_rfc822, substitutes=substitutes)
        return
    parts.check_complete(content)
    parts.check_header_names(content.headers or {})
    parts.check_fixed_headers(content)
    files_size = check_files(content.attachments, content.inline_images)
    bodies = (getattr(content, name) or "" for name in _BODIES)
    check_encoded_size(bodies, files_size, substitutes=substitutes)


def _check_source_size(content: Content) -> None:
    """Refuse content that would fill more than a message, before anything else reads it."""
    texts = [*(getattr(content, name) for name in _TEXTS), *(content.headers or {}).values()]
    files = (*content.attachments, *content.inline_images)
    check_size(source_size(filter(None, texts)) + sum(len(file.data) for file in files))


def _check_forms(content: Json) -> None:
    """Refuse content in two forms at once; a template's From and the like are ignored instead."""
    if content.get("template_id") and content.get("ab_test_id"):
        raise invalid_combination("You may not specify both template_id and ab_test_id")
    if content.get("email_rfc822") and any(map(content.get, _BESIDE_MESSAGE)):
        raise invalid_combination("content.email_rfc822 excludes all other fields of content")
    is_stored = content.get("template_id") or content.get("ab_test_id")
    if is_stored and any(map(content.get, _INLINE_TEXTS)):
        raise invalid_combination("Both content object and template_id are specified")


def _without(content: Json, names: Collection[str]) -> Json:
    return {name: value for name, value in content.items() if name not in names}
