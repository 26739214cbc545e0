"""Read an aggregate DMARC report (RFC 7489 Appendix C, RFC 9990): XML from strangers.

Reporters differ in the namespace, in the order of elements and in what they leave out, so only the
names of elements count. Records that make no sense are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from chalicelib.core.domain_names import normalize
from chalicelib.domain_reports.model import (
    DISPOSITIONS,
    NONE,
    DmarcReport,
    DmarcRow,
    Period,
    UnreadableReport,
)
from chalicelib.domain_reports.values import address, count, short_text

MOST_ROWS = 2_000
"""Rows of a report that are kept apart; the smallest ones are summed up."""

_POLICY_TAGS = ("p", "sp", "np", "adkim", "aspf", "pct", "testing")
_MOST_DOMAINS = 5
_PASS = "pass"


def read(content: bytes) -> DmarcReport:
    """Read a report; raises :class:`UnreadableReport`."""
    if b"<!DOCTYPE" in content:
        raise UnreadableReport("it defines a document type")
    metadata, policy = Element("report_metadata"), Element("policy_published")
    rows: Counter[DmarcRow] = Counter()
    try:
        for _, element in ElementTree.iterparse(BytesIO(content)):
            match _name(element):
                case "report_metadata":
                    metadata = element
                case "policy_published":
                    policy = element
                case "record":
                    for row in _rows(element):
                        rows[replace(row, messages=0)] += row.messages
                    element.clear()
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise UnreadableReport(f"it is no XML: {error}") from error
    domain = normalize(_text(policy, "domain").rstrip("."))
    if not domain:
        raise UnreadableReport("it names no domain")
    return DmarcReport(
        organization=_text(metadata, "org_name"),
        report_id=_text(metadata, "report_id"),
        period=_period(metadata),
        domain=domain,
        policy={tag: text for tag in _POLICY_TAGS if (text := _text(policy, tag).lower())},
        rows=_largest(rows),
    )


def _rows(record: Element) -> Iterator[DmarcRow]:
    """Yield the row of a record, nothing if the record makes no sense."""
    row, identifiers = _child(record, "row"), _child(record, "identifiers")
    evaluated = _child(row, "policy_evaluated")
    source_ip = address(_text(row, "source_ip"))
    header_from = normalize(_text(identifiers, "header_from").rstrip("."))
    messages = count(_text(row, "count"))
    if not (source_ip and header_from and messages):
        return
    results = _child(record, "auth_results")
    disposition = _text(evaluated, "disposition").lower()
    yield DmarcRow(
        source_ip,
        header_from,
        messages,
        dkim=_text(evaluated, "dkim").lower() == _PASS,
        spf=_text(evaluated, "spf").lower() == _PASS,
        disposition=disposition if disposition in DISPOSITIONS else NONE,
        dkim_domains=_passing(results, "dkim"),
        spf_domains=_passing(results, "spf"),
    )


def _passing(results: Element, kind: str) -> tuple[str, ...]:
    """Return the domains whose own check passed."""
    domains = {
        _text(each, "domain").lower()
        for each in results
        if _name(each) == kind and _text(each, "result").lower() == _PASS
    }
    return tuple(sorted(filter(None, domains))[:_MOST_DOMAINS])


def _largest(rows: Mapping[DmarcRow, int]) -> tuple[DmarcRow, ...]:
    """Return the rows with their messages, the most first; the smallest are summed by result."""
    ordered = [
        replace(row, messages=messages)
        for row, messages in sorted(rows.items(), key=lambda pair: -pair[1])
    ]
    return (*ordered[:MOST_ROWS], *_summed(ordered[MOST_ROWS:]))


def _summed(rows: Iterable[DmarcRow]) -> Iterator[DmarcRow]:
    sums: Counter[DmarcRow] = Counter()
    for row in rows:
        rest = replace(row, source_ip="", messages=0, dkim_domains=(), spf_domains=())
        sums[rest] += row.messages
    return (replace(row, messages=messages) for row, messages in sums.items())


def _period(metadata: Element) -> Period:
    dates = _child(metadata, "date_range")
    start, end = count(_text(dates, "begin")), count(_text(dates, "end"))
    if not 0 < start <= end:
        raise UnreadableReport("it says no time that it is about")
    return Period(start, end)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _child(element: Element, name: str) -> Element:
    return next((each for each in element if _name(each) == name), Element(name))


def _text(element: Element, name: str) -> str:
    return short_text(_child(element, name).text or "")
