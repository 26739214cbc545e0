"""Write the report of a day (RFC 8460 4.4), and the message that carries it (RFC 8460 5.3)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.core.tls_results import (
    SUCCESS,
)
from chalicelib.delivery.tls_reports.session_result import SessionResult

_FIELD: Final = "TLS-Report-Submitter"
_FIELD_IN_HEADER: Final = f"\r\n{_FIELD}: ".encode()
_END_OF_HEADER: Final = b"\r\n\r\n"

MEDIA_TYPE: Final = "application/tlsrpt+gzip"
LOCAL_PART: Final = "tls-reports"


#: Some readers do not put a file name together that is folded (RFC 2231)
_UNFOLDED = SMTP.clone(max_line_length=900)


@dataclass(frozen=True, slots=True)
class TlsReport:
    """The report of a day about a domain, compressed."""

    domain: str
    report_id: str
    file_name: str
    content: bytes


def make_report(day: str, domain: str, sessions: Iterable[tuple[SessionResult, int]]) -> TlsReport:
    """Return the report of a day (``2026-01-31``, UTC); the same sessions make the same report."""
    submitter = settings().system_domain
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    end = start + timedelta(days=1, seconds=-1)
    report_id = f"{day}.{domain}@{submitter}"
    report = {
        "organization-name": submitter,
        "date-range": {"start-datetime": _time(start), "end-datetime": _time(end)},
        "contact-info": settings().public_url,
        "report-id": report_id,
        "policies": _policies(domain, sessions),
    }
    name = f"{submitter}!{domain}!{int(start.timestamp())}!{int(end.timestamp())}!1.json.gz"
    content = gzip.compress(json.dumps(report).encode(), mtime=0)
    return TlsReport(domain, report_id, name, content)


def message_with(report: TlsReport, to: str) -> bytes:
    """Return the message that carries a report; whoever sends it signs it."""
    submitter = settings().system_domain
    message = EmailMessage(_UNFOLDED)
    message["From"] = f"{LOCAL_PART}@{submitter}"
    message["To"] = to
    message["Date"] = format_datetime(datetime.fromtimestamp(clock.now(), UTC))
    message["Subject"] = (
        f"Report Domain: {report.domain} Submitter: {submitter} Report-ID: <{report.report_id}>"
    )
    message["TLS-Report-Domain"] = report.domain
    message[_FIELD] = submitter
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"This is an aggregate TLS report from {submitter}.\n")
    maintype, _, subtype = MEDIA_TYPE.partition("/")
    message.add_attachment(
        report.content, maintype=maintype, subtype=subtype, filename=report.file_name
    )
    message.replace_header("Content-Type", 'multipart/report; report-type="tlsrpt"')
    return message.as_bytes()


def is_carried_by(message: bytes) -> bool:
    """Tell whether a message of this service carries a report."""
    return _FIELD_IN_HEADER in message.partition(_END_OF_HEADER)[0]


def _policies(domain: str, sessions: Iterable[tuple[SessionResult, int]]) -> list[Json]:
    """Return what a report says of each policy that was in force, in a fixed order."""
    policies: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Json] = {}
    for result, count in sorted(sessions, key=lambda pair: repr(pair[0])):
        key = (result.policy_type, result.policy, result.hosts)
        policy = policies.setdefault(key, _policy(domain, result))
        is_success = result.kind == SUCCESS
        name = f"total-{'successful' if is_success else 'failure'}-session-count"
        policy["summary"][name] += count
        if not is_success:
            policy.setdefault("failure-details", []).append(_failure(result, count))
    return list(policies.values())


def _policy(domain: str, result: SessionResult) -> Json:
    policy: Json = {"policy-type": result.policy_type, "policy-domain": domain}
    if result.policy:
        policy["policy-string"] = list(result.policy)
    if result.hosts:
        policy["mx-host"] = list(result.hosts)
    summary = {"total-successful-session-count": 0, "total-failure-session-count": 0}
    return {"policy": policy, "summary": summary}


def _failure(result: SessionResult, count: int) -> Json:
    details = {
        "result-type": result.kind,
        "sending-mta-ip": result.sending_ip,
        "receiving-mx-hostname": result.host,
    }
    return {name: text for name, text in details.items() if text} | {"failed-session-count": count}


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
