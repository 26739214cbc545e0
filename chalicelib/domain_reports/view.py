"""Sum up reports, as the API shows them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import cast

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.domain_reports.model import QUARANTINE, REJECT, DmarcRow, Period, TlsRow
from chalicelib.domain_reports.store import DomainReport

MOST_SOURCES = 1_000
"""Sources, or kinds of failure, that a reply has, those with the most messages or sessions."""


def dmarc_view(domain: str, period: Period, reports: Iterable[DomainReport]) -> Json:
    """Return the figures of DMARC reports, the newest first: in all, by source and by reporter."""
    totals: Counter[str] = Counter()
    sources: defaultdict[tuple[str, str], _Source] = defaultdict(_Source)
    reporters: defaultdict[str, Counter[str]] = defaultdict(Counter)
    policy: Mapping[str, str] = {}
    names: dict[str, str] = {}
    for report in reports:
        policy = policy or report.policy
        names.setdefault(report.reporter, report.organization)
        reporters[report.reporter]["reports"] += 1
        for row in cast(list[DmarcRow], report.rows):
            figures = _figures(row)
            totals.update(figures)
            reporters[report.reporter].update(figures)
            sources[row.source_ip, row.header_from].add(row, figures)
    ordered = sorted(sources.items(), key=lambda pair: -pair[1].figures["messages"])
    return {
        **_head(domain, period),
        **_dmarc_figures(totals),
        "policy": dict(policy),
        "sources": [
            {"source_ip": source_ip, "header_from": header_from} | source.view()
            for (source_ip, header_from), source in ordered[:MOST_SOURCES]
        ],
        "reporters": _reporters(reporters, names, _DMARC_FIGURES),
    }


def tls_view(domain: str, period: Period, reports: Iterable[DomainReport]) -> Json:
    """Return the figures of TLS reports: in all, by policy, by kind of failure and by reporter."""
    totals: Counter[str] = Counter()
    policies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    failures: Counter[tuple[str, str, str]] = Counter()
    reporters: defaultdict[str, Counter[str]] = defaultdict(Counter)
    names: dict[str, str] = {}
    for report in reports:
        names.setdefault(report.reporter, report.organization)
        reporters[report.reporter]["reports"] += 1
        for row in cast(list[TlsRow], report.rows):
            kind = "sessions_failed" if row.result_type else "sessions_succeeded"
            for figures in (totals, policies[row.policy_type], reporters[report.reporter]):
                figures[kind] += row.sessions
            if row.result_type:
                failures[row.result_type, row.policy_type, row.receiving_host] += row.sessions
    return {
        **_head(domain, period),
        **_tls_figures(totals),
        "policies": [
            {"policy_type": name} | _tls_figures(figures)
            for name, figures in sorted(policies.items())
        ],
        "failures": [
            {
                "result_type": result_type,
                "policy_type": policy_type,
                "receiving_host": host,
                "sessions": sessions,
            }
            for (result_type, policy_type, host), sessions in failures.most_common(MOST_SOURCES)
        ],
        "reporters": _reporters(reporters, names, _TLS_FIGURES),
    }


_DMARC_FIGURES = (
    *("messages", "passed", "failed", "dkim_passed", "spf_passed", "quarantined", "rejected"),
)
_TLS_FIGURES = ("sessions_succeeded", "sessions_failed")


class _Source:
    """The figures of one address, and the domains that its mail was authenticated by."""

    def __init__(self) -> None:
        self.figures: Counter[str] = Counter()
        self.dkim_domains: set[str] = set()
        self.spf_domains: set[str] = set()

    def add(self, row: DmarcRow, figures: Mapping[str, int]) -> None:
        self.figures.update(figures)
        self.dkim_domains.update(row.dkim_domains)
        self.spf_domains.update(row.spf_domains)

    def view(self) -> Json:
        return _dmarc_figures(self.figures) | {
            "dkim_domains": sorted(self.dkim_domains),
            "spf_domains": sorted(self.spf_domains),
        }


def _figures(row: DmarcRow) -> dict[str, int]:
    return {
        "messages": row.messages,
        "passed": row.messages * row.passed,
        "failed": row.messages * (not row.passed),
        "dkim_passed": row.messages * row.dkim,
        "spf_passed": row.messages * row.spf,
        "quarantined": row.messages * (row.disposition == QUARANTINE),
        "rejected": row.messages * (row.disposition == REJECT),
    }


def _head(domain: str, period: Period) -> Json:
    return {
        "domain": domain,
        "from": clock.iso_offset(period.start),
        "to": clock.iso_offset(period.end),
    }


def _dmarc_figures(figures: Counter[str]) -> Json:
    return {name: figures[name] for name in _DMARC_FIGURES}


def _tls_figures(figures: Counter[str]) -> Json:
    return {name: figures[name] for name in _TLS_FIGURES}


def _reporters(
    reporters: Mapping[str, Counter[str]], names: Mapping[str, str], figures: tuple[str, ...]
) -> list[Json]:
    first = figures[0]
    return [
        {"reporter": reporter, "organization": names[reporter]}
        | {name: counts[name] for name in ("reports", *figures)}
        for reporter, counts in sorted(reporters.items(), key=lambda pair: -pair[1][first])
    ]
