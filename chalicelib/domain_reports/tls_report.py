"""Read a TLS report (RFC 8460 4.4): JSON from strangers. What makes no sense is skipped.

Names may be in any case.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from chalicelib.core.domain_names import normalize
from chalicelib.core.tls_results import FAILURES, POLICY_TYPES
from chalicelib.domain_reports.model import (
    Period,
    TlsReport,
    TlsRow,
    UnreadableReport,
)
from chalicelib.domain_reports.report_text import pieces
from chalicelib.domain_reports.values import address, count, moment, short_text

MOST_ROWS = 2_000
"""Rows of a report that are kept, those with the most sessions."""

_OTHER = "validation-failure"

#: Texts may have line breaks
_DECODER = json.JSONDecoder(strict=False)


def read(content: bytes) -> TlsReport:
    """Read a report; raises :class:`UnreadableReport`."""
    report = _object(_parsed("".join(pieces(content)).lstrip()))
    dates = _object(report.get("date-range"))
    period = Period(moment(dates.get("start-datetime")), moment(dates.get("end-datetime")))
    if not 0 < period.start <= period.end:
        raise UnreadableReport("it says no time that it is about")
    rows: Counter[TlsRow] = Counter()
    for row in _rows(report):
        rows[replace(row, sessions=0)] += row.sessions
    return TlsReport(
        organization=short_text(report.get("organization-name")),
        report_id=short_text(report.get("report-id")),
        period=period,
        rows=tuple(replace(row, sessions=most) for row, most in rows.most_common(MOST_ROWS)),
    )


def _rows(report: Any) -> Iterator[TlsRow]:
    for each in _objects(report.get("policies")):
        policy = _object(each.get("policy"))
        kind = short_text(policy.get("policy-type")).lower()
        domain = normalize(short_text(policy.get("policy-domain")).rstrip("."))
        if kind not in POLICY_TYPES or not domain:
            continue
        summary = _object(each.get("summary"))
        successes = count(summary.get("total-successful-session-count", 0))
        if successes:
            yield TlsRow(kind, domain, successes)
        yield from _failures(each, TlsRow(kind, domain, 0))


def _failures(policy: Any, base: TlsRow) -> Iterator[TlsRow]:
    """Yield the failures with their details, and those that the summary counts beyond them."""
    rest = count(_object(policy.get("summary")).get("total-failure-session-count", 0))
    for detail in _objects(policy.get("failure-details")):
        sessions = count(detail.get("failed-session-count", 0))
        if not sessions:
            continue
        rest -= sessions
        result = short_text(detail.get("result-type")).lower()
        yield replace(
            base,
            sessions=sessions,
            result_type=result if result in FAILURES else _OTHER,
            receiving_host=short_text(detail.get("receiving-mx-hostname")).lower().rstrip("."),
            sending_ip=address(short_text(detail.get("sending-mta-ip"))),
        )
    if rest > 0:
        yield replace(base, sessions=rest, result_type=_OTHER)


def _parsed(text: str) -> Any:
    """Return the first JSON value of a text; what follows it is ignored."""
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError) as error:
        raise UnreadableReport(f"it is no JSON: {error}") from error


def _object(value: Any) -> dict[str, Any]:
    """Return an object with its names as RFC 8460 spells them, empty if the value is none."""
    if not isinstance(value, dict):
        return {}
    return {name.strip().lower().replace("_", "-"): each for name, each in value.items()}


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; a single one may stand for it."""
    values = value if isinstance(value, list) else [value]
    return list(filter(None, map(_object, values)))
