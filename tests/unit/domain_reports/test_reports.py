"""Reports come by mail, and their figures can be read of each sending domain."""

from __future__ import annotations

import base64
import gzip
import logging
import random
import zipfile
from io import BytesIO
from time import process_time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from chalicelib.core.query import QueryParameters
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.verification import signatures_of
from chalicelib.domain_reports import store
from chalicelib.domain_reports.model import DMARC, DmarcRow, Period
from chalicelib.domain_reports.receipt import NotVerifiable
from chalicelib.domain_reports.request import read_period
from chalicelib.domain_reports.store import DomainReport
from chalicelib.inbound.accept import NO_EVENT, accept, check_recipient
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from relay.backend import SubmittedEnvelope
from relay.errors import PermanentRefusal
from relay.inbound import MailAcceptor
from tests.unit.calling import Client
from tests.unit.domain_reports.samples import (
    END,
    KEY_RECORD,
    REPORTER,
    SELECTOR,
    START,
    dmarc_xml,
    failure,
    message_with,
    record,
    signed,
    tls_json,
    tls_policy,
)
from tests.unit.key_pairs import OTHER, PAIR
from tests.unit.moving_clock import Clock
from tests.unit.people import make_account, make_key
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone

TO = "dmarc@system.test"
DMARC_PATH = "/api/v1/sending-domains/{}/dmarc-reports"
TLS_PATH = "/api/v1/sending-domains/{}/tls-reports"


def receive(report: bytes, to: str = TO) -> None:
    assert accept("", [to], signed(message_with(report))) == NO_EVENT


def dmarc(client: Client, name: str = "example.test", query: str = "") -> dict[str, Any]:
    return dict(client.get(DMARC_PATH.format(name) + query).results)


def messages(client: Client, name: str = "example.test", query: str = "") -> int:
    return int(dmarc(client, name, query)["messages"])


def test_the_figures_tell_who_sends_in_the_name_of_a_domain(client: Client) -> None:
    own = "<dkim><domain>example.test</domain><result>pass</result></dkim>"
    receive(
        dmarc_xml(
            record("192.0.2.1", 90, results=own),
            record("192.0.2.1", 5, spf="fail", results=own),
            record("198.51.100.9", 3, "fail", "fail", "reject"),
            record("198.51.100.9", 2, "fail", "fail", "quarantine"),
        )
    )
    results = dmarc(client)
    figures = {
        **{"messages": 100, "passed": 95, "failed": 5, "dkim_passed": 95, "spf_passed": 90},
        **{"quarantined": 2, "rejected": 3},
    }
    assert {name: results[name] for name in figures} == figures
    assert results["policy"] == {"p": "reject", "sp": "none"}
    assert [
        (each["source_ip"], each["messages"], each["failed"], each["dkim_domains"])
        for each in results["sources"]
    ] == [("192.0.2.1", 95, 0, ["example.test"]), ("198.51.100.9", 5, 5, [])]
    assert results["reporters"] == [
        {"reporter": REPORTER, "organization": "Reporter Inc.", "reports": 1} | figures
    ]


def test_tls_reports_tell_how_others_reach_the_mail_hosts(client: Client) -> None:
    receive(
        tls_json(tls_policy(40, failure(sessions=2)), tls_policy(3, kind="no-policy-found")),
        "tlsrpt@system.test",
    )
    results = client.get(TLS_PATH.format("example.test")).results
    assert (results["sessions_succeeded"], results["sessions_failed"]) == (43, 2)
    assert results["policies"] == [
        {"policy_type": "no-policy-found", "sessions_succeeded": 3, "sessions_failed": 0},
        {"policy_type": "sts", "sessions_succeeded": 40, "sessions_failed": 2},
    ]
    assert results["failures"] == [
        {
            "result_type": "certificate-expired",
            "policy_type": "sts",
            "receiving_host": "mx.example.test",
            "sessions": 2,
        }
    ]
    assert results["reporters"][0]["reports"] == 1
    assert messages(client) == 0


def mail_with(*parts: str, **fields: str) -> bytes:
    """Return a message with these parts, each with its header, not signed."""
    body = "".join(f"--b\n{part}\n" for part in parts)
    head = f"From: r@{REPORTER}\nContent-Type: multipart/mixed; boundary=b\n"
    return f"{head}\n{body}--b--\n".replace("\n", "\r\n").encode()


def in_base64(data: bytes) -> str:
    return base64.encodebytes(data).decode()


ENCODED = "Content-Transfer-Encoding: base64\n\n"
PACKED = gzip.compress(dmarc_xml())
UNNAMED = f"Content-Type: application/octet-stream\n{ENCODED}{in_base64(PACKED)}"


@pytest.mark.parametrize(
    "part",
    [
        UNNAMED,
        f"{ENCODED}{in_base64(PACKED)}",
        f"Content-Type: text/plain; name=r.xml\n\n{dmarc_xml().decode()}",
        f"Content-Type: application/json; name=r.json\n{ENCODED}{in_base64(dmarc_xml())}",
        f"Content-Type: application/zip\n{ENCODED}{in_base64(PACKED)}",
        f"Content-Type: image/png\n\n{in_base64(PACKED)}",
        f"Content-Type: text/xml\n\n{in_base64(dmarc_xml())}",
        f"{ENCODED}!!\n{in_base64(PACKED).replace('A', 'A*')}",
        f"{ENCODED}{in_base64(PACKED[:100])}{in_base64(PACKED[100:])}",
        f"{ENCODED}{in_base64(PACKED)}\n-- \nA mailing list added this.\n",
        f"Content-Transfer-Encoding: BASE64;\n\n{in_base64(PACKED)}",
        f"Content-Type: message/rfc822\n\nSubject: forwarded\n{UNNAMED}",
        "Content-Type: message/rfc822\n\nContent-Type: multipart/mixed; boundary=c\n\n"
        f"--c\nContent-Type: text/plain\n\nHello\n--c\n{UNNAMED}\n--c--",
    ],
)
def test_a_report_may_be_anywhere_in_a_message(client: Client, part: str) -> None:
    hello = "Content-Type: text/html\n\n<html><p>A report & more</html>"
    assert accept("", [TO], signed(mail_with(hello, part))) == NO_EVENT
    assert messages(client) == 10


def test_a_message_may_have_several_reports(client: Client) -> None:
    reports = [dmarc_xml(report_id=str(number)) for number in range(4)]
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for number, report in enumerate(reports[2:]):
            target.writestr(f"reports/{number}.xml", report)
        target.writestr("tls.json", tls_json())
    parts = [in_base64(data) for data in (reports[0], b"<feedback", reports[1], file.getvalue())]
    accept("", [TO], signed(mail_with(*(ENCODED + part for part in parts))))
    assert messages(client) == 40
    assert dmarc(client)["reporters"][0]["reports"] == 4
    assert client.get(TLS_PATH.format("example.test")).results["sessions_succeeded"] == 5


def test_reports_without_an_id_are_told_apart_by_their_content(client: Client) -> None:
    for report in (dmarc_xml(record(messages=2)), dmarc_xml(record(messages=3))):
        for _ in range(2):
            receive(report.replace(b"<report_id>1</report_id>", b""))
    assert messages(client) == 5


def test_a_report_that_comes_again_counts_once(client: Client) -> None:
    for _ in range(2):
        receive(dmarc_xml())
    assert messages(client) == 10
    receive(dmarc_xml(report_id="2"))
    assert messages(client) == 20
    assert dmarc(client)["reporters"][0]["reports"] == 2


def test_each_domain_has_the_rows_about_it(client: Client) -> None:
    domains.create(domain("news.example.test"))
    receive(
        dmarc_xml(
            record(messages=1),
            record(messages=2, header_from="news.example.test"),
            record(messages=4, header_from="a.news.example.test"),
            record(messages=8, header_from="other.example.test"),
        )
    )
    assert messages(client) == 9
    assert messages(client, "news.example.test") == 6


def test_other_accounts_and_domains_that_are_not_verified_have_none(client: Client) -> None:
    make_account(2)
    domains.create(domain("elsewhere.test", account=2, status=DomainStatus()))
    receive(dmarc_xml(record(header_from="elsewhere.test"), domain="elsewhere.test"))
    other = make_key(2)
    assert messages(other, "elsewhere.test") == 0
    assert other.get(DMARC_PATH.format("example.test")).status == 404
    receive(dmarc_xml())
    domains.delete(domains.get("example.test") or domain())
    domains.create(domain("example.test", account=2))
    assert messages(other) == 0


@pytest.mark.parametrize(
    "mail",
    [
        message_with(dmarc_xml()),
        signed(message_with(dmarc_xml()), domain="stranger.test"),
        signed(message_with(dmarc_xml())).replace(b"aggregate report", b"aggregate Report"),
        signed(message_with(dmarc_xml(), author="dmarc@google.test")),
        signed(message_with(dmarc_xml(), author="")),
    ],
)
def test_a_report_that_its_author_did_not_sign_is_dropped(
    client: Client, zone: Zone, mail: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert accept("", [TO], mail) == NO_EVENT
    assert "dropped a report without a valid signature" in caplog.text
    assert messages(client) == 0


@pytest.mark.parametrize("blank", ["\x1c", "\x1f", "\x85", "\xa0", " ", "\t"])
def test_a_signature_counts_for_the_domain_that_it_was_verified_for(
    client: Client, blank: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Readers differ in what they take for a blank, and so in which tags they see."""
    caplog.set_level(logging.INFO)
    message = message_with(dmarc_xml(), author="noreply@google.test")
    mail = signed(message, selector=f"{SELECTOR}; d{blank}=google.test")
    assert accept("", [TO], mail) == NO_EVENT
    assert "without a valid signature" in caplog.text
    assert messages(client) == 0


@pytest.mark.parametrize(
    "head",
    [b" begins with a blank\r\n", f"DKIM-Signature: d={REPORTER}; i={REPORTER}; ".encode()],
)
def test_a_message_that_is_not_as_it_should_be_has_no_valid_signature(
    client: Client, head: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tags = b"v=1; a=rsa-sha256; d=x.test; s=r1; h=from; bh=AAAA; b=AAAA\r\n"
    head += tags.replace(b"d=x.test; ", b"") if b"DKIM" in head else b"DKIM-Signature: " + tags
    assert accept("", [TO], head + message_with(dmarc_xml())) == NO_EVENT
    assert "without a valid signature" in caplog.text


@pytest.mark.parametrize("blanks", [b" " * 100_000, b"\t " * 50_000, (b" " * 200 + b"\r\n") * 999])
def test_a_message_that_would_take_long_to_verify_is_dropped_at_once(
    client: Client, blanks: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    message = message_with(dmarc_xml()).replace(b"aggregate report", blanks + b"x")
    tags = "v=1; a=rsa-sha256; c=relaxed/relaxed; d=reporter.test; s=r1; h=from; bh=AAAA; b=AAAA"
    mail = f"DKIM-Signature: {tags}\r\n".encode() + message
    started = process_time()
    assert accept("", [TO], mail) == NO_EVENT
    assert process_time() - started < 2, "a verifier must not take long for blanks"
    assert "without a valid signature" in caplog.text


def test_a_key_that_would_take_long_to_use_is_none() -> None:
    """Who signs may publish any key; the time to use it grows with the cube of its length."""
    numbers = rsa.RSAPublicNumbers(e=2**50_000 - 1, n=2**50_001 - 1)
    sequence = b"".join(_der(number) for number in (numbers.n, numbers.e))
    key = b"\x30\x83" + len(sequence).to_bytes(3, "big") + sequence
    record = f"v=DKIM1; k=rsa; p={base64.b64encode(key).decode()}"
    message = signed(message_with(dmarc_xml()))
    started = process_time()
    (signature,) = signatures_of(message, lambda _: [record], is_report=True)
    assert process_time() - started < 2
    assert signature.problem


def _der(number: int) -> bytes:
    data = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return b"\x02\x83" + len(data).to_bytes(3, "big") + data


@pytest.mark.parametrize(
    "field",
    [
        *("(" * 50_000, "<" * 50_000, '"' * 50_000, "a@" * 30_000, "\\" * 50_000),
        f"a@{REPORTER}, b@{REPORTER}",
    ],
)
def test_a_from_field_without_one_author_is_that_of_nobody(client: Client, field: str) -> None:
    mail = signed(message_with(dmarc_xml(), author="x@y.test"))
    mail = mail.replace(b"From: x@y.test", f"From: {field}".encode())
    assert accept("", [TO], mail) == NO_EVENT
    assert messages(client) == 0


@settings_of_hypothesis(max_examples=150, deadline=None)
@given(
    st.sampled_from(["a", "c", "d", "s", "h", "bh", "b", "l", "t", "x", "v", "q", "i"]),
    st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=20),
)
def test_any_signature_is_valid_or_not(name: str, value: str) -> None:
    message = message_with(dmarc_xml())
    valid = f"v=1; a=rsa-sha256; d={REPORTER}; s=r1; h=from; bh=AA==; b=AA=="
    tags = dict(tag.split("=", 1) for tag in valid.split("; ")) | {name: value}
    text = "; ".join(f"{key}={each}" for key, each in tags.items())
    mail = f"DKIM-Signature: {text}\r\n".encode() + message
    record = txt_record(PAIR.public_b64)
    (signature,) = signatures_of(mail, lambda _: [record], is_report=True)
    assert signature.problem


def test_another_key_than_the_published_one_does_not_count(client: Client, zone: Zone) -> None:
    zone.set(KEY_RECORD, ("TXT", txt_record(OTHER.public_b64)))
    receive(dmarc_xml())
    assert messages(client) == 0


def test_a_key_may_be_for_tls_reports_alone(client: Client, zone: Zone) -> None:
    (_, value), *_ = zone.records[KEY_RECORD]
    zone.set(KEY_RECORD, ("TXT", f"{value}; s=tlsrpt"))
    receive(tls_json(), "tlsrpt@system.test")
    assert client.get(TLS_PATH.format("example.test")).results["sessions_succeeded"] == 5


def test_a_subdomain_of_the_author_may_sign(client: Client, zone: Zone) -> None:
    zone.set(f"r1._domainkey.mail.{REPORTER}", *zone.records[KEY_RECORD])
    accept("", [TO], signed(message_with(dmarc_xml()), domain=f"mail.{REPORTER}"))
    assert dmarc(client)["reporters"][0]["reporter"] == f"mail.{REPORTER}"


def test_the_reporter_tries_again_when_the_dns_has_no_answer(client: Client, zone: Zone) -> None:
    zone.failing.add(KEY_RECORD)
    mail = signed(message_with(dmarc_xml()))
    with pytest.raises(NotVerifiable):
        accept("", [TO], mail)
    with pytest.raises(PermanentRefusal) as refusal:
        MailAcceptor().accept(SubmittedEnvelope("", (TO,), mail, "192.0.2.1", False))
    assert refusal.value.reply.code == 451


@pytest.mark.parametrize("content", [b"no report", b"\x1f\x8b damaged", b"<feedback/>"])
def test_what_cannot_be_read_is_dropped(
    client: Client, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    receive(content)
    assert "cannot be read" in caplog.text


def test_reports_are_taken_at_every_name_that_takes_bounces(client: Client) -> None:
    for address in (TO, "TLSRPT@System.test", "dmarc@example.test"):
        check_recipient(address)


def test_the_period_is_that_of_the_end_of_reports(client: Client, time: Clock) -> None:
    receive(dmarc_xml())
    assert messages(client, query="?from=2026-01-30&to=2026-01-31") == 10
    assert messages(client, query="?from=2026-01-30T23:59&to=2026-01-31T00:00") == 10
    assert messages(client, query="?from=2026-01-31") == 0
    assert messages(client, query="?to=2026-01-30T23:59") == 0
    assert messages(client, query="?from=1968-01-01&to=1969-01-01") == 0
    # DynamoDB refuses a period that ends before it begins, and moto does not
    period = read_period(QueryParameters({"from": ["1968-01-01"], "to": ["1969-01-01"]}))
    assert period.start <= period.end
    time.passes(8 * 86_400)
    assert messages(client) == 0
    assert messages(client, query="?from=2026-01-01") == 10
    time.passes(settings().domain_reports_retention)
    assert messages(client, query="?from=2026-01-01") == 0


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("?from=yesterday", "from"),
        ("?to=2026-02-30", "to"),
        ("?from=2026-01-30T25:00", "from"),
        ("?from=2026-02-02&to=2026-02-01", "from"),
    ],
)
def test_a_bad_time_is_refused(client: Client, query: str, param: str) -> None:
    response = client.get(DMARC_PATH.format("example.test") + query)
    assert (response.status, response.error["param"]) == (400, param)


def test_a_report_with_long_rows_still_fits(client: Client) -> None:
    numbers = random.Random(7)
    names = [f"{numbers.randbytes(100).hex()}.test" for _ in range(9_000)]
    rows = [DmarcRow("192.0.2.1", name, 1, True, True, "none", (name,)) for name in names]
    report = DomainReport(DMARC, REPORTER, "1", "", Period(START, END), rows)
    store.save(1, "example.test", report)
    (kept_report,) = store.dmarc_reports(1, "example.test", Period(START, END + 1))
    assert 500 < len(kept_report.rows) < len(rows)


def test_figures_end_with_the_report_that_has_one_row_too_many(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        receive(dmarc_xml(record(), record(spf="fail"), report_id=str(number)))
    monkeypatch.setattr(store, "MOST_ROWS_READ", 3)
    assert dmarc(client)["reporters"][0]["reports"] == 2
