"""Describe reports about a domain: aggregate DMARC reports and TLS reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DMARC: Final = "dmarc"
TLS: Final = "tls"

TLS_LOCAL_PART: Final = "tlsrpt"

NONE: Final = "none"
QUARANTINE: Final = "quarantine"
REJECT: Final = "reject"
DISPOSITIONS: Final = (NONE, QUARANTINE, REJECT)


class UnreadableReport(ValueError):
    """The content is no report of its kind; the text says why."""


@dataclass(frozen=True, slots=True)
class Period:
    """The time that a report is about, in seconds since the epoch."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DmarcRow:
    """Messages from one address that fared alike.

    ``dkim`` and ``spf`` tell whether a signature or the envelope sender confirmed the From domain.
    ``dkim_domains`` and ``spf_domains`` passed their own checks, whether or not they match it. An
    empty ``source_ip`` stands for the addresses of rows that were too small to be kept apart.
    """

    source_ip: str
    header_from: str
    messages: int
    dkim: bool
    spf: bool
    disposition: str
    dkim_domains: tuple[str, ...] = ()
    spf_domains: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Tell whether DMARC passed: one of the two is enough (RFC 7489 3.1)."""
        return self.dkim or self.spf


@dataclass(frozen=True, slots=True)
class TlsRow:
    """Sessions with one host that ended alike; an empty ``result_type`` is success."""

    policy_type: str
    policy_domain: str
    sessions: int
    result_type: str = ""
    receiving_host: str = ""
    sending_ip: str = ""


@dataclass(frozen=True, slots=True)
class DmarcReport:
    """An aggregate report (RFC 7489 7.2, RFC 9990).

    ``policy`` holds the tags of the record that the reporter applied.
    """

    organization: str
    report_id: str
    period: Period
    domain: str
    policy: Mapping[str, str]
    rows: tuple[DmarcRow, ...]


@dataclass(frozen=True, slots=True)
class TlsReport:
    """A report of sessions with the mail hosts of a domain (RFC 8460 4.4)."""

    organization: str
    report_id: str
    period: Period
    rows: tuple[TlsRow, ...]
