"""Read the logs of a whole journey in the JSON form of the Lambda functions."""

from __future__ import annotations

import json
import smtplib
import ssl
from typing import Any
from urllib.parse import quote

from tests.journey.service import KEY, Service, eventually

RECIPIENTS = [
    "ann.private@inbox.test",
    "bounce-hard+private@inbox.test",
    "defer+private@inbox.test",
    "smtp.private@inbox.test",
    "listed.private@inbox.test",
]


def send_by_smtp(service: Service, recipient: str) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with smtplib.SMTP("127.0.0.1", service.smtp_port, timeout=120) as client:
        client.starttls(context=context)
        client.login("SMTP_Injection", KEY)
        message = f"From: a@example.test\r\nTo: {recipient}\r\nSubject: Hi\r\n\r\nHello\r\n"
        client.sendmail("a@example.test", [recipient], message)


def log_lines(service: Service) -> list[str]:
    files = service.log_files()
    return [line for file in files for line in file.read_text(errors="replace").splitlines()]


def requests(lines: list[str]) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in lines if line.startswith("{")]
    return [line for line in records if line["message"] == "answered"]


def test_log_lines_name_no_recipient_or_key_but_the_account_route_and_transmission(
    own_service: Service,
) -> None:
    service = own_service
    service.start(LOG_FORMAT="json")
    service.send(*RECIPIENTS[:3])
    send_by_smtp(service, RECIPIENTS[3])
    path = f"/api/v1/suppression-list/{quote(RECIPIENTS[4])}"
    assert service.request("PUT", path, {"type": "transactional"}).status == 200
    assert service.request("GET", path, key="not-a-key-of-anybody").status == 401
    assert service.request("POST", "/api/v1/transmissions", b"{").status in (400, 422)
    for recipient in RECIPIENTS[:4]:
        eventually(lambda r=recipient: {"bounce", "delivery"} & set(service.event_types(r)))
    lines = log_lines(service)
    private = [*RECIPIENTS, *(quote(each) for each in RECIPIENTS), KEY, "not-a-key-of-anybody"]
    assert [line for line in lines if any(each in line for each in private)] == []
    response_lines = requests(lines)
    (refusal,) = [line for line in response_lines if line["status"] == 401]
    assert refusal["route"] == "/api/v1/suppression-list/{recipient}"
    transmission_lines = [
        line for line in response_lines if line.get("route") == "/api/v1/transmissions"
    ]
    assert {line["account_id"] for line in transmission_lines} == {1}
    assert all(line["request_id"] for line in response_lines)
    assert any('"transmission_id"' in line for line in lines)


def test_local_log_lines_are_not_json(service: Service) -> None:
    assert requests(log_lines(service)) == []
