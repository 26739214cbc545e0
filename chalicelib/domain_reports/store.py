"""Store reports about sending domains. A report that comes again replaces itself.

Access patterns of ``messages``:

- the reports about a domain of an account, by the end of their time →
  ``domain-reports#<account>#<domain>`` / ``<kind>#<s>#<reporter>#<digest of the report's id>``
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import islice
from typing import Any

from chalicelib.core import clock, compact_json, compression
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.core.settings import settings
from chalicelib.domain_reports.model import DMARC, TLS, DmarcRow, Period, TlsRow

MOST_READ = 2_000
"""Reports that are read for one page of figures, the newest ones."""

MOST_ROWS_READ = 200_000
"""Rows of reports after which no other report is read: a reply must not take too long."""

_MOST_BYTES = 300_000
"""Bytes of rows in an item: DynamoDB takes 400 KB."""


class DomainReportItem(Keyed):
    """A report about a domain; the sort key has the rest of ``DomainReport``."""

    report_id: str
    organization: str
    #: The start of its period, in seconds
    start: int
    #: The values of each row, as compressed JSON
    rows: bytes
    policy: dict[str, str]
    expires: int


_messages: Table[DomainReportItem] = Table("messages")


@dataclass(frozen=True, slots=True)
class DomainReport:
    """What a report says about one sending domain.

    ``reporter`` is the domain that signed it, ``organization`` the name that it gives itself.
    """

    kind: str
    reporter: str
    report_id: str
    organization: str
    period: Period
    rows: Sequence[DmarcRow] | Sequence[TlsRow]
    policy: dict[str, str] = field(default_factory=dict)


def save(account_id: int, domain: str, report: DomainReport) -> None:
    """Store a report about a domain of the account."""
    _messages.put(
        {
            "pk": _partition(account_id, domain),
            "sk": _sort_key(report),
            "report_id": report.report_id,
            "organization": report.organization,
            "start": report.period.start,
            "rows": _packed(report.rows),
            "policy": report.policy,
            "expires": int(clock.now()) + settings().domain_reports_retention,
        }
    )


def dmarc_reports(account_id: int, domain: str, period: Period) -> Iterator[DomainReport]:
    """Yield the DMARC reports whose time ends in the period, the newest first."""
    return _reports(account_id, domain, DMARC, period)


def tls_reports(account_id: int, domain: str, period: Period) -> Iterator[DomainReport]:
    """Yield the TLS reports whose time ends in the period, the newest first."""
    return _reports(account_id, domain, TLS, period)


def _reports(account_id: int, domain: str, kind: str, period: Period) -> Iterator[DomainReport]:
    items = _messages.query_all(
        "#pk = :pk AND #sk BETWEEN :first AND :last",
        {
            "pk": _partition(account_id, domain),
            "first": f"{kind}#{period.start:012d}#",
            "last": f"{kind}#{period.end:012d}#",
        },
        newest_first=True,
    )
    rows = 0
    for report in map(_from_item, islice(items, MOST_READ)):
        yield report
        rows += len(report.rows)
        if rows >= MOST_ROWS_READ:
            return


def _partition(account_id: int, domain: str) -> str:
    return f"domain-reports#{account_id}#{domain}"


def _sort_key(report: DomainReport) -> str:
    """Return a key that a report shares only with itself; without an id, its content decides."""
    identity = report.report_id or repr((report.organization, report.rows))
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{report.kind}#{report.period.end:012d}#{report.reporter}#{digest}"


def _packed(rows: Sequence[DmarcRow] | Sequence[TlsRow]) -> bytes:
    """Return the rows, the first of them if they are too many for an item."""
    packed = compression.compress(compact_json.dumps([astuple(row) for row in rows]))
    return packed if len(packed) <= _MOST_BYTES else _packed(rows[: len(rows) // 2])


def _from_item(item: DomainReportItem) -> DomainReport:
    kind, end, reporter, _ = item["sk"].split("#")
    rows = compact_json.loads(compression.decompress(bytes(item["rows"])))
    return DomainReport(
        kind=kind,
        reporter=reporter,
        report_id=item["report_id"],
        organization=item["organization"],
        period=Period(int(item["start"]), int(end)),
        rows=list(map(_dmarc_row, rows)) if kind == DMARC else [TlsRow(*row) for row in rows],
        policy=item["policy"],
    )


def _dmarc_row(values: list[Any]) -> DmarcRow:
    row = DmarcRow(*values)
    return replace(row, dkim_domains=tuple(row.dkim_domains), spf_domains=tuple(row.spf_domains))
