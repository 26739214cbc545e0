"""Read what `POST /send` asks for, and build the message (RFC 5322).

Names of keys are taken in any case, as Go does. The texts of refusals are those of Mailpit.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from typing import Any

from chalicelib.core import clock
from chalicelib.core.addresses import domain_of, is_address
from infrastructure.local.mailbox.header_fields import only_address

_RESTRICTED = ("To", "From", "Cc", "Bcc", "Reply-To", "Date", "Subject", "Content-Type")
_RESTRICTED_NAMES = {name.lower() for name in (*_RESTRICTED, "Mime-Version")}
_HEADER_NAME = re.compile(r"[!-9;-~]{1,100}")
_MEDIA_TYPE = re.compile(r"([\w.+-]{1,80})/([\w.+-]{1,80})", re.ASCII)
_LINE_BREAK = re.compile(r"[\r\n\0]")
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


_AS_IT_IS: Any = {"cte": "quoted-printable", "params": {"charset": "utf-8"}}


class BadMessage(ValueError):
    """The request cannot be made a message; the text says why."""


@dataclass(frozen=True, slots=True)
class BuiltMessage:
    """A message with its envelope."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes


def build(document: Any) -> BuiltMessage:
    """Return the message that a request's JSON asks for; raises :class:`BadMessage`."""
    body = _object(document, "the body")
    sender = _address(_object(body.get("from"), "From"), "From")
    to, cc, reply_to = (_addresses(body, name) for name in ("To", "Cc", "ReplyTo"))
    bcc = [_plain_address(each, "Bcc") for each in _list(body, "Bcc")]
    recipients = tuple(each.addr_spec for each in (*to, *cc)) + tuple(bcc)
    if not recipients:
        raise BadMessage("error building message: no recipients (to, cc, bcc) set")
    is_ascii = all(each.isascii() for each in (sender.addr_spec, *recipients))
    # In ASCII any server takes it
    message = EmailMessage(policy=SMTP.clone(cte_type="7bit", utf8=not is_ascii))
    message["From"] = sender
    for name, addresses in (("To", to), ("Cc", cc), ("Reply-To", reply_to)):
        if addresses:
            message[name] = addresses
    message["Subject"] = _line(body, "Subject")
    message["Date"] = format_datetime(datetime.fromtimestamp(clock.now(), UTC))
    _add_headers(message, body)
    if "Message-ID" not in message:
        message["Message-ID"] = make_msgid(domain=domain_of(sender.addr_spec))
    _add_content(message, body)
    try:
        return BuiltMessage(sender.addr_spec, recipients, message.as_bytes())
    except (ValueError, LookupError) as error:
        raise BadMessage(f"error building message: {error}") from None


def _add_headers(message: EmailMessage, body: dict[str, Any]) -> None:
    restricted = set(_RESTRICTED_NAMES)
    if tags := _list(body, "Tags"):
        message["X-Tags"] = ", ".join(_checked_line(tag, "Tags") for tag in tags)
        restricted.add("x-tags")
    headers = body.get("headers") or {}
    if not isinstance(headers, dict):
        raise BadMessage("Headers must be an object")
    for name, value in headers.items():
        if name.lower() in restricted:
            raise BadMessage(f'cannot overwrite header: "{name}"')
        if not _HEADER_NAME.fullmatch(name):
            raise BadMessage(f'invalid header: "{name}"')
        try:
            message[name] = _checked_line(value, name)
        except ValueError as error:
            raise BadMessage(f'invalid header "{name}": {error}') from None


def _add_content(message: EmailMessage, body: dict[str, Any]) -> None:
    text, html = _text(body, "Text"), _text(body, "HTML")
    inline: list[dict[str, Any]] = []
    attached: list[dict[str, Any]] = []
    for each in _list(body, "Attachments"):
        attachment = _object(each, "Attachments")
        (inline if _line(attachment, "ContentID") else attached).append(attachment)
    html_part = message
    if text or not html:
        message.set_content(*_text_part(text, "plain"), **_AS_IT_IS)
        if html:
            message.add_alternative(*_text_part(html, "html"), **_AS_IT_IS)
            html_part = list(message.iter_parts())[-1]  # type: ignore[assignment]
    else:
        message.set_content(*_text_part(html, "html"), **_AS_IT_IS)
    for attachment in inline:
        content_id = f"<{_line(attachment, 'ContentID').strip('<>')}>"
        content, main, sub, name = _attachment(attachment)
        html_part.add_related(
            content, main, sub, cid=content_id, filename=name or None, disposition="inline"
        )
    for attachment in attached:
        content, main, sub, name = _attachment(attachment)
        message.add_attachment(content, main, sub, filename=name or None)


def _text_part(text: str, subtype: str) -> tuple[bytes, str, str]:
    """Return a text as content: as a `str`, it would get another line end at its end."""
    return text.encode(), "text", subtype


def _attachment(attachment: dict[str, Any]) -> tuple[bytes, str, str, str]:
    """Return content, media type and name of an attachment."""
    name = _line(attachment, "Filename")
    # A browser's data URL has its media type before the comma
    encoded = _text(attachment, "Content").rpartition(",")[2]
    try:
        content = base64.b64decode(re.sub(r"[\r\n]", "", encoded), validate=True)
    except binascii.Error as error:
        raise BadMessage(f'error decoding base64 attachment "{name}": {error}') from None
    kind = _line(attachment, "ContentType").partition(";")[0].strip() or _kind(name, content)
    match = _MEDIA_TYPE.fullmatch(kind)
    if match is None or match[1].lower() in ("multipart", "message"):
        return content, "application", "octet-stream", name
    return content, match[1], match[2], name


def _kind(name: str, content: bytes) -> str:
    by_content = next((kind for magic, kind in _MAGIC if content.startswith(magic)), "")
    return by_content or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _addresses(body: dict[str, Any], name: str) -> list[Address]:
    shown_name = "Reply-To" if name == "ReplyTo" else name
    return [_address(_object(each, name), shown_name) for each in _list(body, name)]


def _address(value: dict[str, Any], name: str) -> Address:
    email = _plain_address(value.get("email"), name)
    try:
        return Address(_line(value, "Name"), addr_spec=email)
    except (ValueError, IndexError) as error:
        raise BadMessage(f"invalid {name} address: {email}: {error}") from None


def _plain_address(value: Any, name: str) -> str:
    if value is None and name == "From":
        raise BadMessage("error building message: from not set")
    address = only_address(value) if isinstance(value, str) else ""
    if not is_address(address):
        raise BadMessage(f"invalid {name} address: {value}")
    return address


def _object(value: Any, name: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadMessage(f"{name} must be an object")
    return {key.lower(): each for key, each in value.items()}


def _list(body: dict[str, Any], name: str) -> list[Any]:
    value = body.get(name.lower())
    if value is not None and not isinstance(value, list):
        raise BadMessage(f"{name} must be a list")
    return value or []


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name.lower())
    if value is not None and not isinstance(value, str):
        raise BadMessage(f"{name} must be a text")
    # What is no character cannot be written
    return (value or "").encode("utf-8", "replace").decode()


def _line(body: dict[str, Any], name: str) -> str:
    return _checked_line(_text(body, name), name)


def _checked_line(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadMessage(f"{name} must be a text")
    return _LINE_BREAK.sub(" ", value.encode("utf-8", "replace").decode())
