"""Read an aggregate DMARC report (RFC 7489 Appendix C, RFC 9990): XML from strangers.

Reporters differ in the namespace, in the order of elements and in what they leave out, so only the
names of elements count, in any case. Records that make no sense are skipped. A document that is not
well-formed is read once more with its repairable faults repaired (``xml_text``).

Of the document only the part that is being read is in memory, and that part is limited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from xml.etree.ElementTree import Element
from xml.parsers import expat

from chalicelib.core.domain_names import normalize
from chalicelib.domain_reports.model import (
    DISPOSITIONS,
    NONE,
    DmarcReport,
    DmarcRow,
    Period,
    UnreadableReport,
)
from chalicelib.domain_reports.report_text import pieces
from chalicelib.domain_reports.values import address, count, moment, short_text
from chalicelib.domain_reports.xml_text import repaired, without_declaration

MOST_ROWS = 2_000
"""Rows of a report that are kept apart; the smallest ones are summed up."""

_PARTS = ("report_metadata", "policy_published", "record")
_MOST_DEPTH = 20
#: A record has some twenty, and four more for each DKIM signature that a message has
_MOST_ELEMENTS_OF_PART = 1_000
#: The parser keeps each name of an element or attribute; the standards have fewer than a hundred
_MOST_NAMES = 1_000
#: The parser reads a tag with all its attributes at once
_MOST_BYTES_OF_TAG = 65_536
#: Characters of an element of which a value is cut out
_LONGEST_TEXT = 1_000

_POLICY_TAGS = ("p", "sp", "np", "adkim", "aspf", "pct", "testing")
_MOST_DOMAINS = 5
_PASS = "pass"


class _IllFormed(UnreadableReport):
    """The document is no XML."""


def read(content: bytes) -> DmarcReport:
    """Read a report; raises :class:`UnreadableReport`."""
    try:
        return _read(without_declaration(pieces(content)))
    except _IllFormed:
        return _read(repaired(without_declaration(pieces(content))))


def _read(texts: Iterable[str]) -> DmarcReport:
    metadata, policy = Element("report_metadata"), Element("policy_published")
    rows: Counter[DmarcRow] = Counter()
    for part in _parts(texts):
        match part.tag:
            case "report_metadata":
                metadata = part
            case "policy_published":
                policy = part
            case _:
                for row in _rows(part):
                    rows[replace(row, messages=0)] += row.messages
    domain = _domain(_text(policy, "domain"))
    if not domain and not rows:
        raise UnreadableReport("it names no domain")
    return DmarcReport(
        organization=_text(metadata, "org_name"),
        report_id=_text(metadata, "report_id"),
        period=_period(metadata),
        domain=domain,
        policy={tag: text for tag in _POLICY_TAGS if (text := _text(policy, tag).lower())},
        rows=_largest(rows),
    )


def _parts(texts: Iterable[str]) -> Iterator[Element]:
    """Yield the children of the root that matter, each when it has been read."""
    reader = _PartReader()
    for text in texts:
        data = text.encode("utf-8", "replace")
        for start in range(0, len(data), _MOST_BYTES_OF_TAG):
            yield from reader.feed(data[start : start + _MOST_BYTES_OF_TAG])
    yield from reader.feed(b"", is_last=True)


class _PartReader:
    """Reads XML piece by piece and keeps no more of it than the limits allow.

    A document type is refused where it begins, so that it declares no entities. Names are without
    the prefixes of their namespaces.
    """

    def __init__(self) -> None:
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text
        self._bytes = 0
        self._path: list[Element] = []
        self._elements_of_part = 0
        self._parts: list[Element] = []
        self._has_ended = False

    def feed(self, data: bytes, *, is_last: bool = False) -> list[Element]:
        """Return the parts that end in ``data``; raises :class:`UnreadableReport`.

        What follows the root element is ignored.
        """
        self._parts = []
        if self._has_ended:
            return []
        self._bytes += len(data)
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as error:
            if not self._has_ended:
                raise _IllFormed(f"it is no XML: {error}") from error
        # What is not yet read is the beginning of a tag or comment
        if not self._has_ended and self._bytes - self._parser.CurrentByteIndex > _MOST_BYTES_OF_TAG:
            raise UnreadableReport("it has a tag that is too long")
        return self._parts

    def _refuse_document_type(self, *_: object) -> None:
        raise UnreadableReport("it defines a document type")

    def _start(self, tag: str, _: object) -> None:
        if len(self._path) == _MOST_DEPTH:
            raise UnreadableReport("its elements are nested too deeply")
        if len(self._parser.intern) > _MOST_NAMES:
            raise UnreadableReport("it has too many different names")
        element = Element(tag.rpartition(":")[2].lower())
        if len(self._path) == 1:
            self._elements_of_part = 0
        elif self._is_in_part():
            self._add_element(element)
        self._path.append(element)

    def _is_in_part(self) -> bool:
        return len(self._path) > 1 and self._path[1].tag in _PARTS

    def _add_element(self, element: Element) -> None:
        self._elements_of_part += 1
        if self._elements_of_part > _MOST_ELEMENTS_OF_PART:
            raise UnreadableReport(f"a {self._path[1].tag} has too many elements")
        self._path[-1].append(element)

    def _end(self, _: str) -> None:
        element = self._path.pop()
        self._has_ended = not self._path
        if len(self._path) == 1 and element.tag in _PARTS:
            self._parts.append(element)

    def _add_text(self, text: str) -> None:
        element = self._path[-1]
        if not len(element):
            element.text = f"{element.text or ''}{text}"[:_LONGEST_TEXT]


def _rows(record: Element) -> Iterator[DmarcRow]:
    """Yield the row of a record, nothing if the record makes no sense."""
    row, identifiers = _child(record, "row"), _child(record, "identifiers")
    evaluated = _child(row, "policy_evaluated")
    source_ip = address(_text(row, "source_ip"))
    header_from = _domain(_text(identifiers, "header_from"))
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
        if each.tag == kind and _text(each, "result").lower() == _PASS
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
    start, end = moment(_text(dates, "begin")), moment(_text(dates, "end"))
    if not 0 < start <= end:
        raise UnreadableReport("it says no time that it is about")
    return Period(start, end)


def _domain(text: str) -> str:
    return normalize(text.rpartition("@")[2].rstrip(".")) or ""


def _child(element: Element, name: str) -> Element:
    return next((each for each in element if each.tag == name), Element(name))


def _text(element: Element, name: str) -> str:
    return short_text(_child(element, name).text or "")
