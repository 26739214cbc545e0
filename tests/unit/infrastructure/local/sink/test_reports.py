"""Check the format of bounce reports and complaints."""

from collections.abc import Callable
from datetime import UTC, datetime
from email import message_from_bytes

import pytest

from infrastructure.local.sink.reports import Accepted, delivery_status_report, feedback_report

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def accepted(
    recipient: str = "bob@b.test", message: bytes = b"Subject: x\r\n\r\nHi\r\n"
) -> Accepted:
    return Accepted("verp@a.test", recipient, message, NOW)


@pytest.mark.parametrize("build", [delivery_status_report, feedback_report])
@pytest.mark.parametrize(
    "message", [b"", b"\r\n", b"Subject: x", "é\r\n".encode(), b"\r\n--report-\r\n"]
)
def test_reports_on_any_message_have_three_parts(
    build: Callable[[Accepted, datetime], bytes], message: bytes
) -> None:
    report = build(accepted(message=message), NOW)
    parsed = message_from_bytes(report)
    assert len(parsed.get_payload()) == 3
    assert report.count(b"\r\n") == report.count(b"\n") == report.count(b"\r")
    assert parsed["Date"] == "Fri, 02 Jan 2026 03:04:05 +0000"
    assert parsed["To"] == "<verp@a.test>"
    assert parsed["Message-ID"]


def test_a_complaint_contains_the_message_byte_for_byte() -> None:
    message = b"Subject: a\r\n folded\r\nX:no space\r\n\r\n trailing \r\n"
    assert message in feedback_report(accepted(message=message), NOW)


def test_a_recipient_beyond_ascii_is_escaped_in_the_status() -> None:
    report = delivery_status_report(accepted("jürgen@b.test"), NOW)
    assert b"Final-Recipient: utf-8; j\\x{FC}rgen@b.test\r\n" in report


def test_parts_with_eight_bit_text_declare_it() -> None:
    text, feedback, original = message_from_bytes(
        feedback_report(accepted(message="Subject: x\r\n\r\né\r\n".encode()), NOW)
    ).get_payload()
    encodings = [part["Content-Transfer-Encoding"] for part in (text, feedback, original)]
    assert encodings == ["7bit", "7bit", "8bit"]
