"""Read a content object: its fields and the rules for them (spec 2.2, 2.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field

from chalicelib.core.errors import (
    ApiError,
    ApiErrors,
    bad_format,
    invalid_combination,
    invalid_header_name,
    message_parsing_error,
    missing_field,
)
from chalicelib.core.fields import Body, Texts
from chalicelib.core.json_types import Json
from chalicelib.mail_format import header_rules
from chalicelib.mail_format.address_list import read_mailboxes
from chalicelib.mail_format.headers import HeaderError, encode_header
from chalicelib.mail_format.rfc822 import MessageError

if TYPE_CHECKING:
    from chalicelib.template_language import TemplateError, TemplatePart


CONTENT_BYTES = 5 * 1024 * 1024
LONGEST_HEADER_NAME = 255
FROM, REPLY_TO = "From", "Reply-To"
MOST_TAGS = 50_000  # in all parts together: a few seconds of compiling, within one request

_FIELD_NAME = re.compile(r"[!-9;-~]+")
_LINE_END = re.compile(r"[\r\n]")


class FromAddress(Body):
    """``content.from`` in its object form."""

    email: str
    name: str | None = None


class Content(Body):
    """The fields of content that transmissions and templates have in common."""

    from_: str | FromAddress | None = Field(default=None, alias="from")
    subject: str | None = None
    reply_to: str | None = None
    text: str | None = None
    html: str | None = None
    amp_html: str | None = None
    headers: Texts | None = None

    @property
    def has_body(self) -> bool:
        """Whether there is a text or HTML part."""
        return bool(self.html or self.text)


class StorableContent(Content):
    """Content of a template or of a preview; its attachments are read only to be refused.

    ``html`` is compiled from ``mjml`` where there is that.
    """

    mjml: str | None = None
    email_rfc822: str | None = None
    attachments: Any = None
    inline_images: Any = None

    @property
    def has_body(self) -> bool:
        """Whether there is a text or HTML part, or MJML that becomes one."""
        return super().has_body or bool(self.mjml)


def read_content(body: StorableContent) -> Json:
    """Return the content of a template in its stored form; raises 422 for a broken rule.

    Faults of the template language are reported all at once (code 3000).
    """
    content = read_fields(body)
    if "email_rfc822" not in content:
        check_complete(body)
    add_html(content)
    _check_parts(content)
    return content


def read_fields(body: StorableContent) -> Json:
    """Return the content of a template in its stored form, its parts unchecked; raises 422."""
    if body.attachments or body.inline_images:
        raise invalid_combination("a template may not have attachments or inline images")
    content = _to_json(body)
    if (size := len(json.dumps(content, ensure_ascii=False).encode())) > CONTENT_BYTES:
        raise bad_format(f"field 'content' has length '{size}', max length is '{CONTENT_BYTES}'")
    return content


def read_preview_content(body: StorableContent) -> Json:
    """Return content that is only previewed: any of its parts may be missing."""
    content = _to_json(body)
    add_html(content)
    _check_parts(content)
    return content


def add_html(content: Json) -> None:
    """Compile ``content.mjml``, if there is that, to ``content.html``; raises 422 with all faults.

    HTML beside MJML must be what it compiles to, as in content that was read and is stored again.
    """
    if "mjml" not in content:
        return
    # The template language is slow to import, and few requests need it.
    from chalicelib.templates.mjml import Compilation

    compilation = Compilation(content["mjml"])
    if compilation.errors:
        raise ApiErrors(422, [located.as_dict() for located in compilation.errors])
    if content.setdefault("html", compilation.html) != compilation.html:
        raise html_beside_mjml()


def html_beside_mjml() -> ApiError:
    """Return 422: content has HTML that its MJML does not compile to."""
    text = "content.html must be left out, because it is compiled from content.mjml"
    return invalid_combination(text)


def check_complete(content: Content) -> None:
    """Raise 1400 for the first missing part that every message needs."""
    for fault in missing_parts(content):
        raise fault


def missing_parts(content: Content) -> Iterator[ApiError]:
    """Yield an error (1400) for each missing part that every message needs."""
    sender = content.from_
    if not (sender.email if isinstance(sender, FromAddress) else sender):
        yield missing_field("content.from is a required field")
    if not content.subject:
        yield missing_field("content.subject is a required field")
    if not content.has_body:
        yield missing_field("At least one of 'text' or 'html' needs to exist in 'content'")


def check_header_names(names: Collection[str]) -> None:
    """Raise 3002 for a header that no sender writes, or for one too many of a kind (RFC 5322)."""
    for fault in _name_faults(names):
        raise fault


def header_faults(headers: Mapping[str, str]) -> Iterator[ApiError]:
    """Yield an error (3002) for each bad name in ``headers``, and for each that has no content."""
    yield from _name_faults(headers)
    for name, value in headers.items():
        if not value.strip():
            yield invalid_header_name(f"header '{name}' has no content")


def _name_faults(names: Collection[str]) -> Iterator[ApiError]:
    for name in names:
        if text := _name_fault(name):
            yield invalid_header_name(text)
    for name in header_rules.repeated(names):
        yield invalid_header_name(f"header '{name}' may occur only once in content.headers")


def _name_fault(name: str) -> str:
    if not header_rules.is_senders(name):
        return f"header '{name}' may not be set in content.headers"
    if len(name) > LONGEST_HEADER_NAME:
        return f"header name '{name[:40]}...' is over {LONGEST_HEADER_NAME} characters"
    return "" if _is_field_name(name) else f"'{name}' is not a valid header name"


def _is_field_name(name: str) -> bool:
    return _FIELD_NAME.fullmatch(name) is not None


def _to_json(body: StorableContent) -> Json:
    refused_fields = {"attachments", "inline_images"}
    content = body.model_dump(by_alias=True, exclude_none=True, exclude=refused_fields)
    if "email_rfc822" in content and len(content) > 1:
        raise invalid_combination("content.email_rfc822 excludes all other fields of content")
    return content


def _check_parts(content: Json) -> None:
    for fault in header_faults(content.get("headers", {})):
        raise fault
    if faults := _syntax_faults(content):
        raise ApiErrors(422, [fault.as_dict() for fault in faults])


def _syntax_faults(content: Json) -> list[TemplateError]:
    # The template language is slow to import, and few requests need it.
    from chalicelib.template_language import TemplateSyntaxError, analyse, compile_part
    from chalicelib.templates.parts import fill_parts

    faults: list[TemplateError] = []
    limit = limit_tags()

    def compiled(source: str, part: TemplatePart) -> str:
        limit(source)
        if bad_header := unreadable_header(source, part):
            raise bad_header
        try:
            compile_part(source, part)
        except TemplateSyntaxError:
            faults.extend(located.error for located in analyse(source, part).errors)
        return ""

    try:
        fill_parts(content, compiled)
    except MessageError as fault:
        raise bad_message(fault) from None
    return faults


def limit_tags() -> Callable[[str], None]:
    """Return a function that counts the tags of sources; it raises 422 when they are too many."""
    tags = 0

    def count(source: str) -> None:
        nonlocal tags
        tags += source.count("{{")
        if tags > MOST_TAGS:
            raise bad_format(f"field 'content' has more than {MOST_TAGS} substitutions")

    return count


def unreadable_header(source: str, part: TemplatePart) -> ApiError | None:
    """Return the error (1300) of a header field that no message can hold, whatever the data is."""
    return _fixed_header_fault(part.header, source) if part.kind == "header" else None


def check_fixed_headers(content: Content) -> None:
    """Raise 1300 for a header that no message can hold, unless a template makes its value."""
    reply_to = {REPLY_TO: content.reply_to} if content.reply_to else {}
    for name, value in (reply_to | (content.headers or {})).items():
        if fault := _fixed_header_fault(name, value):
            raise fault


def check_reply_to(value: str, path: str) -> None:
    """Raise 1300 unless a value without templates is a list of addresses; ``path`` names it."""
    if fault := _reply_to_fault(value, path):
        raise fault


def _fixed_header_fault(name: str, source: str) -> ApiError | None:
    if "{{" in source:
        return None
    if _LINE_END.search(source):
        return bad_format(f"the {name} header must be one line")
    if name == REPLY_TO:
        return _reply_to_fault(source, "content.reply_to")
    if name == FROM or not _is_field_name(name):  # From is checked when the content is sent
        return None
    try:
        encode_header(name, source)
    except HeaderError as fault:
        return bad_format(str(fault))
    return None


def _reply_to_fault(value: str, path: str) -> ApiError | None:
    if not value.strip() or read_mailboxes(value):
        return None
    return bad_format(f"field '{path}' is not a list of email addresses")


def bad_message(fault: MessageError) -> ApiError:
    """Return 422 with code 3020: ``email_rfc822`` is not a message that may be sent."""
    text = f"Error in content.email_rfc822: {fault}"
    return message_parsing_error(text)
