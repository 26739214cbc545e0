"""Read complaints: reports of a feedback loop (RFC 5965), and forwarded messages.

Feedback loops blank out what would show who complained. The message is therefore identified by any
signed address of ours, or its local part, in the report's fields or in the header of the original
message, and not only by the address that the report was sent to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chalicelib.core.domain_names import spelling
from chalicelib.inbound.mime import ORIGINALS, Mail, header_of

#: Types of feedback that are no complaint of a recipient (RFC 6591, RFC 5965 7.3)
NO_COMPLAINTS = ("not-spam", "auth-failure", "auth-failure-report", "dmarc")

_KIND = re.compile(r"[a-z0-9-]{1,40}")
_HOST = re.compile(r"[a-z0-9.-]{1,255}")


@dataclass(frozen=True, slots=True)
class Feedback:
    """A report: its type in lower case, the host that reports, and texts that may name the message.

    ``kind`` is ``other`` where the report has no usable type.
    """

    kind: str
    reported_by: str
    texts: tuple[str, ...]


def feedback(mail: Mail) -> Feedback | None:
    """Return the report of a feedback loop, ``None`` if it is none."""
    part = mail.part("message/feedback-report")
    if part is None:
        return None
    fields = header_of(part.content().lstrip(b"\n"))
    kind = fields.first("feedback-type").lower()
    return Feedback(
        kind if _KIND.fullmatch(kind) else "other",
        _host(fields.first("reporting-mta")) or _sender_domain(mail),
        (*fields.values(), *_original(mail)),
    )


def forwarded(mail: Mail) -> Feedback | None:
    """Return a forwarded message as a report of abuse: some loops only forward."""
    original = tuple(_original(mail))
    return Feedback("abuse", _sender_domain(mail), original) if original else None


def _original(mail: Mail) -> Iterable[str]:
    part = mail.part(*ORIGINALS)
    return header_of(part.content()).values() if part else []


def _sender_domain(mail: Mail) -> str:
    return _host(mail.fields.first("from").rpartition("@")[2].partition(">")[0])


def _host(field: str) -> str:
    """Return the host of ``dns; mail.example.com`` or ``mail.example.com``."""
    name = spelling(field.rpartition(";")[2].strip())
    return name if _HOST.fullmatch(name) else ""
