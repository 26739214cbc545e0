"""Reports about example.test as other hosts write them, and the signed messages that carry them."""

from __future__ import annotations

import gzip
import json
from email.message import EmailMessage
from typing import Any

import dkim

from chalicelib.core.json_types import Json
from tests.unit.key_pairs import PAIR

START, END = 1_769_731_200, 1_769_817_599  # 2026-01-30, a day before the time of the tests
REPORTER = "reporter.test"
SELECTOR = "r1"
KEY_RECORD = f"{SELECTOR}._domainkey.{REPORTER}"


def record(
    source_ip: str = "192.0.2.1",
    messages: object = 10,
    dkim: str = "pass",
    spf: str = "pass",
    disposition: str = "none",
    header_from: str = "example.test",
    results: str = "",
) -> str:
    """Return a record of an aggregate report."""
    return (
        f"<record><row><source_ip>{source_ip}</source_ip><count>{messages}</count>"
        f"<policy_evaluated><disposition>{disposition}</disposition><dkim>{dkim}</dkim>"
        f"<spf>{spf}</spf></policy_evaluated></row>"
        f"<identifiers><header_from>{header_from}</header_from></identifiers>"
        f"<auth_results>{results}</auth_results></record>"
    )


def dmarc_xml(
    *records: str, domain: str = "example.test", report_id: str = "1", end: int = END
) -> bytes:
    """Return an aggregate report of the day before ``end``."""
    return (
        '<?xml version="1.0"?><feedback><report_metadata>'
        f"<org_name>Reporter Inc.</org_name><report_id>{report_id}</report_id>"
        f"<date_range><begin>{end - 86_399}</begin><end>{end}</end></date_range></report_metadata>"
        f"<policy_published><domain>{domain}</domain><p>reject</p><sp>none</sp>"
        f"</policy_published>{''.join(records or [record()])}</feedback>"
    ).encode()


def tls_policy(
    successes: int, *failures: Json, kind: str = "sts", domain: str = "example.test"
) -> Json:
    """Return what a TLS report says of one policy."""
    total = sum(each["failed-session-count"] for each in failures)
    return {
        "policy": {"policy-type": kind, "policy-domain": domain},
        "summary": {
            "total-successful-session-count": successes,
            "total-failure-session-count": total,
        },
        "failure-details": list(failures),
    }


def failure(result: str = "certificate-expired", sessions: int = 3, **more: Any) -> Json:
    """Return a failure in a TLS report."""
    return {
        "result-type": result,
        "failed-session-count": sessions,
        "receiving-mx-hostname": "MX.example.test",
        "sending-mta-ip": "2001:DB8::1",
    } | more


def tls_json(*policies: Json, **more: Any) -> bytes:
    """Return a TLS report."""
    report = {
        "organization-name": "Reporter Inc.",
        "date-range": {
            "start-datetime": "2026-01-30T00:00:00Z",
            "end-datetime": "2026-01-30T23:59:59Z",
        },
        "report-id": "t1",
        "policies": list(policies or [tls_policy(5)]),
    }
    return json.dumps(report | more).encode()


def message_with(report: bytes, author: str = f"dmarc@{REPORTER}", **fields: str) -> bytes:
    """Return a message with a compressed report, not signed."""
    message = EmailMessage()
    message["From"] = author
    message["To"] = "dmarc@system.test"
    message["Subject"] = "Report domain: example.test"
    for name, value in fields.items():
        message[name] = value
    message.set_content("This is an aggregate report.")
    message.add_attachment(
        gzip.compress(report), maintype="application", subtype="gzip", filename="report.xml.gz"
    )
    return message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def signed(
    message: bytes, domain: str = REPORTER, selector: str = SELECTOR, **options: Any
) -> bytes:
    """Sign a message with the tests' key."""
    signature = dkim.sign(
        message, selector.encode(), domain.encode(), PAIR.private_pem.encode(), **options
    )
    return bytes(signature) + message
