"""Read what a received message says, however broken it is, in linear time.

The message may be a mapped file of 20 MB: parts are spans of it, and only texts to be read (at most
``MOST_TEXT`` octets each) and header sections are copied. Nothing here raises. What is beyond the
limits is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chalicelib.core.spool import Octets
from chalicelib.mail_format import auto_reply, received_body, received_tree
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.received_addresses import bare_addresses
from chalicelib.mail_format.received_fields import Fields
from chalicelib.mail_format.received_parameters import parameters_of
from chalicelib.mail_format.received_tree import PartSpan, TreeLimits
from chalicelib.received_mail.model import Attachment, ParsedMessage

#: Octets of the text and of the html that are read
MOST_TEXT: Final = 1024 * 1024
LIMITS: Final = TreeLimits(parts=500, depth=20, header_bytes=256 * 1024, fields=1000)
MOST_REFERENCES: Final = 50

_MOST_NAME: Final = 255
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,998})>")
# Controls, line ends, and marks that change the direction of a text
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
_FOLDERS: Final = (".", "..")
_TEXTS: Final = ("text/plain", "text/html")
_NAMES: Final = {"message/rfc822": "message.eml", "message/global": "message.eml"}


def read(octets: Octets) -> ParsedMessage:
    """Return what a raw message says."""
    fields, parts = received_tree.read(octets, LIMITS)
    last: dict[str, PartSpan] = {}
    attachments: list[Attachment] = []
    for number, part in enumerate(parts):
        disposition = part.fields.first("content-disposition")
        if part.content_type in _TEXTS and not _is_file(disposition):
            last[part.content_type] = part
        else:
            attachments.append(_attachment(octets, number, part, disposition))
    texts = {kind: _text(octets, part) for kind, part in last.items()}
    return ParsedMessage(
        headers=tuple((name, readable(value)) for name, value in fields.as_written),
        subject=fields.words("subject"),
        friendly_from=next(iter(bare_addresses(fields.all("from")[:1])), ""),
        to=bare_addresses(fields.all("to")),
        cc=bare_addresses(fields.all("cc")),
        text=texts.get("text/plain"),
        html=texts.get("text/html"),
        attachments=tuple(attachments),
        references=_references(fields),
        is_automatic=auto_reply.is_automatic(fields) or "list-id" in fields,
        hops=len(fields.all("received")),
    )


def content_of(octets: Octets, attachment: Attachment) -> Iterator[bytes]:
    """Yield the decoded content of an attachment of this message, in pieces."""
    return received_body.decoded(octets, attachment.start, attachment.end, attachment.encoding)


def _is_file(disposition: str) -> bool:
    """Tell whether a text is a file: mail programs show files with a name as such (RFC 2183)."""
    return bool(disposition) and (
        disposition[:10].lower() == "attachment" or bool(parameters_of(disposition).get("filename"))
    )


def _text(octets: Octets, part: PartSpan) -> str:
    content_type = part.fields.first("content-type")
    label = parameters_of(content_type).get("charset", "utf-8") if ";" in content_type else "utf-8"
    encoding = _encoding(part.fields)
    return received_body.text_of(octets, part.start, part.end, encoding, label, MOST_TEXT)


def _attachment(octets: Octets, number: int, part: PartSpan, disposition: str) -> Attachment:
    encoding = _encoding(part.fields)
    return Attachment(
        number=number,
        name=_name(part, disposition),
        type=part.content_type,
        size=received_body.decoded_size(octets, part.start, part.end, encoding),
        content_id=part.fields.first("content-id").strip("<> ")[:_MOST_NAME],
        is_inline=disposition.partition(";")[0].strip().lower() == "inline",
        start=part.start,
        end=part.end,
        encoding=encoding,
    )


def _name(part: PartSpan, disposition: str) -> str:
    """Return the name of a file, without folders (RFC 2183 2.3) and characters that mislead."""
    name = (
        parameters_of(disposition).get("filename")
        or parameters_of(part.fields.first("content-type")).get("name")
        or _NAMES.get(part.content_type, "")
    )
    base = name.replace("\\", "/").rpartition("/")[2]
    printable = _UNPRINTABLE.sub(" ", base).strip()[:_MOST_NAME]
    return "" if printable in _FOLDERS else printable


def _encoding(fields: Fields) -> str:
    return received_body.transfer_encoding(fields.first("content-transfer-encoding"))


def _references(fields: Fields) -> tuple[str, ...]:
    """Return the message ids that the message answers, the nearest first."""
    nearest = _MESSAGE_ID.findall(fields.first("in-reply-to"))
    further = _MESSAGE_ID.findall(fields.first("references"))
    return tuple(dict.fromkeys([*nearest, *reversed(further)]))[:MOST_REFERENCES]
