"""Complaints: reports of a feedback loop (RFC 5965), and messages that are passed on whole.

Feedback loops blank out what would tell who complained, so the message is not only known by the
address that the report was sent to: every signed address of ours counts that stands in the report's
fields or in the header of the message that it is about, and so does its local part alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chalicelib.inbound.mime import Mail, header_of

#: Types of feedback that no recipient gives (RFC 6591), or that praise (RFC 5965 7.3)
NO_COMPLAINTS = ("not-spam", "auth-failure", "auth-failure-report", "dmarc")

_ORIGINALS = ("message/rfc822", "message/global", "text/rfc822-headers", "message/rfc822-headers")
_KIND = re.compile(r"[a-z0-9-]{1,40}")
_HOST = re.compile(r"[a-z0-9.-]{1,255}")


@dataclass(frozen=True, slots=True)
class Feedback:
    """A report: its type in lower case, the host that reports, and texts that may name the message.

    ``kind`` is ``other`` where the report does not say it in a usable form.
    """

    kind: str
    reported_by: str
    texts: tuple[str, ...]


def feedback(mail: Mail) -> Feedback | None:
    """Return the report of a feedback loop, ``None`` if it is none."""
    part = mail.part("message/feedback-report")
    if part is None:
        return None
    told = header_of(part.content().lstrip(b"\n"))
    kind = told.first("feedback-type").lower()
    return Feedback(
        kind if _KIND.fullmatch(kind) else "other",
        _host(told.first("reporting-mta")) or _sender_domain(mail),
        (*told.values(), *_original(mail)),
    )


def forwarded(mail: Mail) -> Feedback | None:
    """Return a message that was passed on as it is, as some loops do, as a report of abuse."""
    original = tuple(_original(mail))
    return Feedback("abuse", _sender_domain(mail), original) if original else None


def _original(mail: Mail) -> Iterable[str]:
    part = mail.part(*_ORIGINALS)
    return header_of(part.content()).values() if part else []


def _sender_domain(mail: Mail) -> str:
    return _host(mail.fields.first("from").rpartition("@")[2].partition(">")[0])


def _host(given: str) -> str:
    """Return the host of ``dns; mail.example.com`` or ``mail.example.com``."""
    name = given.rpartition(";")[2].strip().lower()
    return name if _HOST.fullmatch(name) else ""
