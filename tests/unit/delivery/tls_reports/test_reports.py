"""Sessions are counted, and reported once in the night after their day."""

from __future__ import annotations

import email
import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from chalicelib.core import due, packing, queues, web_fetch
from chalicelib.core.tls_results import (
    EXPIRED,
    NO_POLICY,
    NO_STARTTLS,
    STS,
    STS_FETCH_ERROR,
    SUCCESS,
    TLSA,
)
from chalicelib.core.web_fetch import FetchFailed, Response
from chalicelib.delivery.tls_reports import store
from chalicelib.delivery.tls_reports.counting import CONCERN, SessionCounts, due_entry
from chalicelib.delivery.tls_reports.report import is_carried_by
from chalicelib.delivery.tls_reports.sending import send_due
from chalicelib.delivery.tls_reports.session_result import SessionResult
from chalicelib.domain_reports import tls_report
from chalicelib.domain_reports.model import Period, TlsRow
from chalicelib.sending_domains import store as domains
from chalicelib.transmissions.model import unpack
from chalicelib.transmissions.system_mail import send_message
from tests.fake_cloud import queued
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone, served_zone

DAY = "2026-01-31"
NOON = 1_769_860_800  # of that day
NIGHT = 16 * 3_600  # until the next day, and the four hours over which reports are spread
EXAMPLE = "example.test"
POLICY = ("version: STSv1", "mode: enforce", "mx: mx.example.test", "max_age: 86400")
FAILED = SessionResult(
    EXAMPLE, STS, EXPIRED, "mx.example.test", "192.0.2.1", POLICY, ("mx.example.test",)
)
DONE = SessionResult(
    EXAMPLE, STS, SUCCESS, "mx.example.test", "192.0.2.1", POLICY, ("mx.example.test",)
)

Sent = list[tuple[str, bytes, str]]


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    monkeypatch.setenv("SYSTEM_DOMAIN", "system.test")
    for zone in served_zone(monkeypatch):
        want(zone, "mailto:tls@example.test")
        yield zone


@pytest.fixture
def time(cloud: None, zone: Zone) -> Iterator[Clock]:
    with moving_clock(NOON) as moving:
        yield moving


def want(zone: Zone, *destinations: str, name: str = EXAMPLE) -> None:
    zone.set(f"_smtp._tls.{name}", ("TXT", f"v=TLSRPTv1; rua={','.join(destinations)}"))


def count(*results: SessionResult) -> SessionCounts:
    counts = SessionCounts()
    for result in results:
        counts.count(result)
    counts.flush()
    return counts


def mails_of_the_night(time: Clock) -> Sent:
    mails: Sent = []
    time.passes(NIGHT)
    send_due(time.now_ms, lambda *mail: mails.append(mail))
    return mails


def report_in(message: bytes) -> dict[str, Any]:
    (attachment,) = parsed(message).iter_attachments()
    return dict(json.loads(gzip.decompress(attachment.get_content())))


def parsed(message: bytes) -> EmailMessage:
    result = email.message_from_bytes(message, policy=default)
    assert isinstance(result, EmailMessage)
    return result


def test_sessions_of_all_processes_are_one_report(time: Clock) -> None:
    count(DONE, DONE, FAILED)
    count(DONE)
    ((to, message, _),) = mails_of_the_night(time)
    assert to == "tls@example.test"
    assert report_in(message) == {
        "organization-name": "system.test",
        "date-range": {
            "start-datetime": "2026-01-31T00:00:00Z",
            "end-datetime": "2026-01-31T23:59:59Z",
        },
        "contact-info": "http://localhost:8080",
        "report-id": "2026-01-31.example.test@system.test",
        "policies": [
            {
                "policy": {
                    "policy-type": "sts",
                    "policy-string": list(POLICY),
                    "policy-domain": EXAMPLE,
                    "mx-host": ["mx.example.test"],
                },
                "summary": {
                    "total-successful-session-count": 3,
                    "total-failure-session-count": 1,
                },
                "failure-details": [
                    {
                        "result-type": "certificate-expired",
                        "sending-mta-ip": "192.0.2.1",
                        "receiving-mx-hostname": "mx.example.test",
                        "failed-session-count": 1,
                    }
                ],
            }
        ],
    }


def test_the_message_has_the_form_of_a_report(time: Clock) -> None:
    count(DONE)
    ((_, message, _),) = mails_of_the_night(time)
    mail = parsed(message)
    assert mail.get_content_type() == "multipart/report"
    assert mail.get_param("report-type") == "tlsrpt"
    assert mail["TLS-Report-Domain"] == EXAMPLE
    assert mail["TLS-Report-Submitter"] == "system.test"
    report_id = "<2026-01-31.example.test@system.test>"
    assert (
        mail["Subject"] == f"Report Domain: {EXAMPLE} Submitter: system.test Report-ID: {report_id}"
    )
    text, report = mail.iter_parts()
    assert text.get_content_type() == "text/plain"
    assert report.get_content_type() == "application/tlsrpt+gzip"
    name = "system.test!example.test!1769817600!1769903999!1.json.gz"
    assert report.get_filename() == name
    assert all(len(line) <= 998 for line in message.split(b"\r\n"))
    assert is_carried_by(b"DKIM-Signature: v=1\r\n" + message)
    assert not is_carried_by(b"Subject: x\r\n\r\n" + message)


def test_what_is_sent_is_what_is_read_of_others(time: Clock) -> None:
    tlsa = SessionResult(EXAMPLE, TLSA, SUCCESS, "mx2.example.test", "", ("3 1 1 00",))
    count(DONE, FAILED, tlsa, SessionResult(EXAMPLE, NO_POLICY, NO_STARTTLS, "mx3.example.test"))
    ((_, message, _),) = mails_of_the_night(time)
    report = tls_report.read(json.dumps(report_in(message)).encode())
    assert report.period == Period(1_769_817_600, 1_769_903_999)
    assert set(report.rows) == {
        TlsRow("sts", EXAMPLE, 1),
        TlsRow("sts", EXAMPLE, 1, "certificate-expired", "mx.example.test", "192.0.2.1"),
        TlsRow("tlsa", EXAMPLE, 1),
        TlsRow("no-policy-found", EXAMPLE, 1, "starttls-not-supported", "mx3.example.test"),
    }


def test_a_policy_that_could_not_be_had_is_reported_without_its_text(time: Clock) -> None:
    count(SessionResult(EXAMPLE, STS, STS_FETCH_ERROR, "mx.example.test", "192.0.2.1"))
    ((_, message, _),) = mails_of_the_night(time)
    (policy,) = report_in(message)["policies"]
    assert policy["policy"] == {"policy-type": "sts", "policy-domain": EXAMPLE}
    (row,) = tls_report.read(json.dumps(report_in(message)).encode()).rows
    assert row == TlsRow("sts", EXAMPLE, 1, STS_FETCH_ERROR, "mx.example.test", "192.0.2.1")


def test_a_domain_that_asks_for_no_report_costs_nothing(time: Clock, zone: Zone) -> None:
    count(SessionResult("silent.test", NO_POLICY, SUCCESS))
    assert list(store.sessions_of(DAY, "silent.test")) == []
    assert mails_of_the_night(time) == []


def test_a_domain_is_not_taken_for_one_whose_name_begins_alike(time: Clock, zone: Zone) -> None:
    want(zone, "mailto:a@b.test", name="example.test.evil.test")
    count(DONE, SessionResult("example.test.evil.test", NO_POLICY, SUCCESS))
    reports = [report_in(message) for _, message, _ in mails_of_the_night(time)]
    assert [len(report["policies"]) for report in reports] == [1, 1]


def test_nothing_is_sent_before_the_night(time: Clock) -> None:
    count(DONE)
    time.passes(12 * 3_600 - 1)
    mails: Sent = []
    send_due(time.now_ms, lambda *mail: mails.append(mail))
    assert mails == []
    at = datetime.fromtimestamp(due_entry(DAY, EXAMPLE).at_ms / 1000, UTC)
    assert (at.day, at.hour < 4) == (1, True)


def test_days_are_reported_apart(time: Clock) -> None:
    count(DONE)
    time.passes(86_400)
    count(DONE)
    mails = mails_of_the_night(time)
    days = [report_in(message)["report-id"][:10] for _, message, _ in mails]
    assert days == ["2026-01-31", "2026-02-01"]
    assert len({transmission_id for _, _, transmission_id in mails}) == 2


def test_a_page_takes_a_report(time: Clock, zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    posts: list[tuple[str, bytes, Any]] = []

    def post(url: str, body: bytes, headers: Any) -> Response:
        posts.append((url, body, headers))
        return Response(201, b"")

    monkeypatch.setattr(web_fetch, "post", post)
    want(zone, "https://reports.test/tls")
    count(DONE)
    assert mails_of_the_night(time) == []
    ((url, body, headers),) = posts
    assert (url, headers) == (
        "https://reports.test/tls",
        {"Content-Type": "application/tlsrpt+gzip"},
    )
    assert json.loads(gzip.decompress(body))["organization-name"] == "system.test"


@pytest.mark.parametrize("answer", [Response(500, b""), FetchFailed("ETIMEDOUT", "no answer")])
def test_a_page_that_takes_none_is_tried_again_for_a_day(
    time: Clock, zone: Zone, monkeypatch: pytest.MonkeyPatch, answer: Response | FetchFailed
) -> None:
    tries = []

    def post(url: str, *_: Any) -> Response:
        tries.append(url)
        if isinstance(answer, FetchFailed):
            raise answer
        return answer

    monkeypatch.setattr(web_fetch, "post", post)
    want(zone, "https://reports.test/tls")
    count(DONE)
    mails_of_the_night(time)
    assert len(tries) == 1
    time.passes(3_601)
    send_due(time.now_ms, lambda *_: None)
    assert len(tries) == 2
    time.passes(90_000)
    send_due(time.now_ms, lambda *_: None)
    assert len(tries) == 3
    assert due.find(CONCERN, time.now_ms + 10**9) == []


def test_the_report_waits_for_the_dns(time: Clock, zone: Zone) -> None:
    count(DONE)
    zone.failing.add(f"_smtp._tls.{EXAMPLE}")
    assert mails_of_the_night(time) == []
    zone.failing.clear()
    assert len(mails_of_the_night(time)) == 1


def test_a_domain_that_no_longer_asks_gets_none(time: Clock, zone: Zone) -> None:
    count(DONE)
    zone.clear(f"_smtp._tls.{EXAMPLE}")
    assert mails_of_the_night(time) == []
    assert due.find(CONCERN, time.now_ms + 10**9) == []


def test_a_cloud_that_is_out_of_reach_stops_no_delivery(
    time: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise EndpointConnectionError(endpoint_url="http://cloud.test")

    monkeypatch.setattr(store, "add", fail)
    count(DONE)
    assert "were not counted" in caplog.text


def test_a_report_is_one_transmission_however_often_it_is_sent(time: Clock) -> None:
    make_account(0)
    domains.create(domain("system.test", account=0))
    count(DONE)
    time.passes(NIGHT)
    for _ in range(2):
        send_due(time.now_ms, send_message)
        due.add(due_entry(DAY, EXAMPLE))
    messages = [queues.read(body) for body in queued("small-sends")]
    assert len({message.head["transmission"] for message in messages}) == 1
    _, (*_, data) = packing.unpack(messages[0].payload())
    transmission = unpack(data)
    assert transmission.account_id == 0
    assert report_in(transmission.raw)["policies"]
