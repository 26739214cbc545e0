"""Take reports about sending domains out of inbound mail, and have them stored."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from chalicelib.domain_reports import receipt
from chalicelib.domain_reports.model import UnreadableReport
from chalicelib.inbound import mime
from chalicelib.inbound.mime import Mail
from chalicelib.mail_format.address_list import read_addresses

_MESSAGES = ("message/rfc822", "message/global")

_log = logging.getLogger(__name__)


def store(data: bytes) -> None:
    """Store the report that a message carries, if it is one and its signature is valid.

    Raises ``receipt.NotVerifiable`` when the DNS does not give the key of the signature. Anything
    else that is wrong is logged: the reporter could do nothing about a refusal.
    """
    mail = mime.read(data, receipt.MOST_BYTES)
    authors = read_addresses(mail.fields.all("from"))
    author = authors[0][1] if len(authors) == 1 else ""
    message = receipt.ReportMail(
        content=data,
        author_domain=author.rpartition("@")[2],
        attachments=list(_attachments(mail)),
    )
    try:
        domains = receipt.receive(message)
    except receipt.NotSigned:
        _log.info("dropped a report without a valid signature of its author's domain")
    except UnreadableReport as error:
        _log.info("dropped a report that cannot be read: %s", error)
    else:
        _log.info("stored a report about %d sending domains", len(domains))


def _attachments(mail: Mail, depth: int = 1) -> Iterator[bytes]:
    """Yield the contents of all parts, also of messages that the message carries."""
    for part in mail.parts:
        if part.content_type in _MESSAGES and depth < mime.DEEPEST:
            yield from _attachments(mime.read(part.data(), receipt.MOST_BYTES), depth + 1)
        else:
            yield part.data()
