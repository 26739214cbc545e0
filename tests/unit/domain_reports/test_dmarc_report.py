"""Aggregate reports of many hosts are read, and what strangers make up does no harm."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.domain_reports.dmarc_report import MOST_ROWS, read
from chalicelib.domain_reports.model import DmarcRow, Period, UnreadableReport
from tests.unit.domain_reports.samples import END, START, dmarc_xml, record
from tests.unit.linear_time import assert_growth, assert_linear

RESULTS = (
    "<dkim><domain>Example.test</domain><selector>s</selector><result>pass</result></dkim>"
    "<dkim><domain>list.test</domain><result>fail</result></dkim>"
    "<spf><domain>bounces.example.test</domain><result>Pass</result></spf>"
)


def test_a_report_has_its_origin_its_time_and_its_policy() -> None:
    report = read(dmarc_xml(report_id="17"))
    assert (report.organization, report.report_id) == ("Reporter Inc.", "17")
    assert report.period == Period(START, END)
    assert (report.domain, report.policy) == ("example.test", {"p": "reject", "sp": "none"})


def test_a_row_has_what_was_confirmed_and_what_became_of_the_mail() -> None:
    text = record("192.0.2.7", 12, "pass", "fail", "none", "News.Example.test", RESULTS)
    assert read(dmarc_xml(text)).rows == (
        DmarcRow(
            *("192.0.2.7", "news.example.test", 12, True, False, "none"),
            ("example.test",),
            ("bounces.example.test",),
        ),
    )


@pytest.mark.parametrize(
    ("dkim", "spf", "passed"),
    [("pass", "pass", True), ("fail", "pass", True), ("pass", "fail", True), ("fail", "", False)],
)
def test_one_confirmation_is_enough(dkim: str, spf: str, passed: bool) -> None:
    (row,) = read(dmarc_xml(record(dkim=dkim, spf=spf))).rows
    assert row.passed is passed


def test_rows_that_fared_alike_are_one() -> None:
    report = read(dmarc_xml(record(messages=2), record(messages=3), record(spf="fail")))
    assert [row.messages for row in report.rows] == [10, 5]


def test_the_namespace_of_the_later_standard_is_read() -> None:
    text = dmarc_xml().replace(
        b"<feedback>", b'<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">'
    )
    assert read(text) == read(dmarc_xml())


@pytest.mark.parametrize(
    "text",
    [
        record(source_ip="localhost"),
        record(messages=-1),
        record(messages=0),
        record(messages="many"),
        record(messages=10**30),
        record(header_from=""),
    ],
)
def test_a_record_that_makes_no_sense_is_skipped(text: str) -> None:
    assert [row.messages for row in read(dmarc_xml(text, record(messages=4))).rows] == [4]


def test_the_smallest_rows_of_a_large_report_are_summed() -> None:
    addresses = (f"10.{each >> 16}.{each >> 8 & 255}.{each & 255}" for each in range(MOST_ROWS + 9))
    report = read(dmarc_xml(record(messages=99), *(record(each, 1) for each in addresses)))
    assert len(report.rows) == MOST_ROWS + 1
    assert report.rows[0].messages == 99
    assert (report.rows[-1].source_ip, report.rows[-1].messages) == ("", 10)
    assert sum(row.messages for row in report.rows) == 99 + MOST_ROWS + 9


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no XML"),
        (b"<feedback>", "no XML"),
        (b"<feedback/>", "no domain"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><feedback/>', "document type"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><feedback/>'.encode("utf-16"), "document type"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><feedback/>'.encode("utf-16-le"), "document type"),
        (b"<feedback></record></feedback>", "no XML"),
        (b"<a>" * 21, "too deeply"),
        (dmarc_xml(record(results="<dkim/>" * 1_000)), "too many elements"),
        (dmarc_xml().replace(str(END).encode(), b"soon"), "no time"),
        (dmarc_xml().replace(str(END).encode(), b"1"), "no time"),
    ],
)
def test_what_is_no_report_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableReport, match=reason):
        read(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"\r\n " + text,
        lambda text: b"\xef\xbb\xbf\n" + text,
        lambda text: text + b"\0\0 end -->",
        lambda text: text + text,
        lambda text: text.replace(b"</org_name>", b" &T\x91\x00<3</org_name>"),
        lambda text: text.replace(b"</org_name>", b"&nbsp;&#0;</org_name>"),
        lambda text: text.replace(b'"1.0"', b'"1.1" encoding="no-such"'),
        lambda text: text.decode().encode("utf-16"),
        lambda text: text.decode().encode("utf-16-be"),
        lambda text: b"\n" + text.decode().replace('"?>', '" encoding="UTF-8"?>').encode(),
        lambda text: text.replace(b"feedback>", b"Feedback>").replace(b"record>", b"RECORD>"),
        lambda text: text.replace(b"<row>", b"<!-- <row> --><row><?x y?>"),
        lambda text: text.replace(b"</row>", b"<extra a='b'><c>9</c></extra></row>"),
        lambda text: text.replace(b"10</count>", b"\n 10.0 </count>"),
        lambda text: text.replace(str(START).encode(), b" %d.75 " % START),
        lambda text: text.replace(str(START).encode(), b"%d000" % START),
        lambda text: text.replace(str(START).encode(), b"2026-01-30T00:00:00Z"),
        lambda text: text.replace(b"192.0.2.1", b"[::FFFF:192.0.2.1]"),
        lambda text: text.replace(b"<header_from>", b"<header_from>x@"),
    ],
)
def test_what_reporters_get_wrong_does_no_harm(damage: Callable[[bytes], bytes]) -> None:
    report, intact = read(damage(dmarc_xml())), read(dmarc_xml())
    assert replace(report, organization=intact.organization) == intact
    assert report.organization.startswith(intact.organization)


def test_a_well_formed_document_is_read_as_it_is() -> None:
    text = dmarc_xml().replace(b"Reporter Inc.", b"<![CDATA[A&amp;B < C]]>")
    assert read(text).organization == "A&amp;B < C"


@pytest.mark.parametrize(
    "element", ["org_name", "report_id", "policy_published", "policy_evaluated", "auth_results"]
)
def test_elements_may_be_missing(element: str) -> None:
    text = re.sub(f"<{element}>.*?</{element}>".encode(), b"", dmarc_xml())
    (row,) = read(text).rows
    assert (row.header_from, row.messages) == ("example.test", 10)
    assert row.passed == (element != "policy_evaluated")


def test_elements_may_have_a_prefix() -> None:
    text = dmarc_xml().replace(b"</", b"</d:").replace(b"<", b"<d:")
    text = text.replace(b"<d:/d:", b"</d:").replace(b"<d:?", b"<?")
    text = text.replace(b"<d:feedback>", b'<d:feedback xmlns:d="urn:ietf:params:xml:ns:dmarc-2.0">')
    assert read(text) == read(dmarc_xml())


def test_only_children_of_the_root_count() -> None:
    extension = f"<extension>{record(messages=7)}</extension>"
    assert [row.messages for row in read(dmarc_xml(extension, record(messages=4))).rows] == [4]


def test_a_text_may_be_long_and_in_pieces() -> None:
    text = dmarc_xml().replace(b"Reporter Inc.", b"Reporter &amp; Sons&#33;" + b"\nx" * 40_000)
    assert read(text).organization.startswith("Reporter & Sons!")


@pytest.mark.parametrize(
    "content",
    [
        b"<a>" * 500_000,
        b"<a>" + b'<a b=""/>' * 200_000 + b"</a>",
        b"<a><record>" + b"<a/>" * 300_000 + b"</record></a>",
        b"<a>%b</a>" % b"".join(b"<a%d/>" % number for number in range(100_000)),
        b"<a%b/>" % b"".join(b' a%d=""' % number for number in range(100_000)),
        b"<a><record><b>" + b"x\n" * 500_000 + b"</b></record></a>",
        b"<a>" + b"&x;" * 500_000,
        ("<a>" + "<b c=''/>" * 100_000 + "</a>").encode("utf-16"),
    ],
    ids=["deep", "attributes", "in a record", "names", "in a tag", "text", "repair", "UTF-16"],
)
def test_reading_takes_little_memory_whatever_the_report_has(content: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableReport):
            read(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


@settings(max_examples=200)
@given(st.binary(max_size=300), st.integers(0, len(dmarc_xml())), st.integers(0, 40))
def test_a_damaged_report_is_refused_or_read(noise: bytes, at: int, length: int) -> None:
    text = dmarc_xml()
    with suppress(UnreadableReport):
        report = read(text[:at] + noise + text[at + length :])
        assert report.domain or report.rows
        assert all(row.messages > 0 for row in report.rows)


@pytest.mark.parametrize("piece", [b"&", b"<a>&</a>", b"<", b"\0", b"\xff"])
def test_repairing_takes_time_in_proportion_to_the_length(piece: bytes) -> None:
    def attempt(content: bytes) -> None:
        with suppress(UnreadableReport):
            read(content)

    assert_linear(attempt, b"<a>" + piece * 100_000)


def test_reading_takes_time_in_proportion_to_the_length() -> None:
    assert_growth(read, dmarc_xml(*[record()] * 500), dmarc_xml(*[record()] * 4000))
