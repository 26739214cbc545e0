"""TLS reports are read, and what strangers make up does no harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.domain_reports.model import Period, TlsRow, UnreadableReport
from chalicelib.domain_reports.tls_report import MOST_ROWS, read
from tests.unit.domain_reports.samples import END, START, failure, tls_json, tls_policy

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=9), each, max_size=3)
    ),
    max_leaves=8,
)


def test_a_report_has_its_origin_and_its_time() -> None:
    report = read(tls_json())
    assert (report.organization, report.report_id) == ("Reporter Inc.", "t1")
    assert report.period == Period(START, END)


def test_successes_and_failures_are_rows() -> None:
    report = read(tls_json(tls_policy(5, failure(), failure("validation-failure", 1))))
    assert set(report.rows) == {
        TlsRow("sts", "example.test", 5),
        TlsRow("sts", "example.test", 3, "certificate-expired", "mx.example.test", "2001:db8::1"),
        TlsRow("sts", "example.test", 1, "validation-failure", "mx.example.test", "2001:db8::1"),
    }


def test_failures_without_details_count_as_well() -> None:
    policy = tls_policy(0, failure(sessions=2))
    policy["summary"]["total-failure-session-count"] = 9
    rows = {row.result_type: row.sessions for row in read(tls_json(policy)).rows}
    assert rows == {"certificate-expired": 2, "validation-failure": 7}


def test_an_unknown_kind_of_failure_is_one_of_validation() -> None:
    (row,) = read(tls_json(tls_policy(0, failure("made-up")))).rows
    assert row.result_type == "validation-failure"


@pytest.mark.parametrize("policy", [tls_policy(5, kind="other"), tls_policy(5, domain=""), 7, None])
def test_a_policy_that_makes_no_sense_is_skipped(policy: Any) -> None:
    assert [row.sessions for row in read(tls_json(policy, tls_policy(4))).rows] == [4]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"\r\n\xef\xbb\xbf"[2:] + text,
        lambda text: b"\n\t" + text,
        lambda text: text + b"\0\r\n-- \nfooter",
        lambda text: text.decode().encode("utf-16"),
        lambda text: text.replace(b"Reporter Inc.", b"Reporter Inc. \x91\n"),
        lambda text: text.replace(b'"policies"', b'"Policies"').replace(b'-type"', b'_Type"'),
        lambda text: text.replace(b'"sts"', b'"STS"'),
        lambda text: text.replace(b": 5,", b': " 5.0 ",'),
        lambda text: text.replace(b"T00:00:00Z", b" 00:00:00.0000z"),
        lambda text: text.replace(b'"2026-01-30T00:00:00Z"', b"%d.5" % START),
        lambda text: text.replace(b'"policies": [', b'"policies": ').replace(b"}]}", b"}}"),
        lambda text: text.replace(b'"policies"', b'"x-extra": [null, {"a": 1}], "policies"'),
    ],
)
def test_what_reporters_get_wrong_does_no_harm(damage: Callable[[bytes], bytes]) -> None:
    report, intact = read(damage(tls_json())), read(tls_json())
    assert (report.period, report.rows) == (intact.period, intact.rows)
    assert report.organization.startswith("Reporter Inc.")


def test_of_many_rows_the_largest_are_kept() -> None:
    failures = [
        failure(sessions=1, **{"receiving-mx-hostname": f"mx{n}"}) for n in range(MOST_ROWS)
    ]
    report = read(tls_json(tls_policy(9, *failures)))
    assert (len(report.rows), report.rows[0].sessions) == (MOST_ROWS, 9)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no time"),
        (b"{}", "no time"),
        (tls_json(**{"date-range": {"start-datetime": "x", "end-datetime": 7}}), "no time"),
    ],
)
def test_what_is_no_report_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableReport, match=reason):
        read(content)


@settings(max_examples=200)
@given(st.sampled_from(["policies", "organization-name", "report-id", "date-range"]), VALUES)
def test_any_value_of_any_field_is_refused_or_read(name: str, value: Any) -> None:
    with suppress(UnreadableReport):
        assert all(row.sessions > 0 for row in read(tls_json(**{name: value})).rows)


@settings(max_examples=200)
@given(
    st.sampled_from(["policy", "summary", "failure-details"]),
    VALUES | st.lists(st.dictionaries(st.sampled_from(list(failure())), VALUES), max_size=2),
)
def test_any_value_inside_a_policy_is_read(name: str, value: Any) -> None:
    report = read(
        json.dumps(json.loads(tls_json(tls_policy(2, failure()) | {name: value}))).encode()
    )
    assert all(row.sessions > 0 for row in report.rows)
