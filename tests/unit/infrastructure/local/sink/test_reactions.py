"""Send mail to `oob`, `complain`, `open`, `click` and `unsubscribe`, and see the sink react."""

import smtplib
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from pathlib import Path

import pytest

from infrastructure.local.sink.server import SinkOptions
from tests.unit.infrastructure.local.running import RunningSink, Web, eventually, running_sink

RETURN_PATH = "verp+123@bounces.a.test"


def send(sink: RunningSink, recipient: str, content: bytes, sender: str = RETURN_PATH) -> None:
    with smtplib.SMTP("127.0.0.1", sink.port, "client.test", timeout=120) as client:
        client.sendmail(sender, [recipient], content, ["BODY=8BITMIME"])


def newsletter(web: Web, **headers: str) -> bytes:
    base = f"http://localhost:{web.port}"
    message = EmailMessage()
    message["From"], message["To"], message["Message-ID"] = "ann@a.test", "b@b.test", "<1@a.test>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content("See the web version.")
    message.add_alternative(
        f'<a href="mailto:a@a.test">x</a><a href="https://example.com/">untracked</a>'
        f'<img src="http://192.0.2.1/a.png"><IMG alt="" SRC="{base}/open?a=1&amp;b=2">'
        f'<a href="{base}/click/1#top">one</a><a href="{base}/click/2">two</a>'
        f'<img src="http://127.0.0.1:{web.port}/bottom">',
        subtype="html",
    )
    return message.as_bytes(policy=policy.SMTP)


def report_to(inbound: RunningSink, sender: str) -> Message:
    """Return the report to the return path; its envelope sender must be empty."""
    (entry,) = eventually(inbound.mailbox.list)
    assert entry["to"] == sender
    raw = inbound.mailbox.read(entry["id"])
    assert raw is not None
    report = message_from_bytes(raw)
    assert report["Return-Path"] == "<>"
    assert not report.defects
    return report


def test_oob_mails_a_delivery_status_report_to_the_return_path(
    sink: RunningSink, inbound: RunningSink
) -> None:
    send(sink, "oob+x@b.test", b"Message-ID: <1@a.test>\r\nSubject: Hi\r\n\r\nsecret\r\n")
    assert len(sink.mailbox.list(to="oob+x@b.test")) == 1
    report = report_to(inbound, RETURN_PATH)
    assert report.get_content_type() == "multipart/report"
    assert report.get_param("report-type") == "delivery-status"
    assert report["Auto-Submitted"] == "auto-replied"
    _, status, original_part = report.get_payload()
    assert status.get_content_type() == "message/delivery-status"
    per_message, per_recipient = status.get_payload()
    assert per_message["Reporting-MTA"] == "dns; mx.b.test"
    assert per_recipient["Final-Recipient"] == "rfc822; oob+x@b.test"
    assert per_recipient["Action"] == "failed"
    assert per_recipient["Status"] == "5.1.1"
    assert per_recipient["Diagnostic-Code"].startswith("smtp; 550 5.1.1 ")
    assert original_part.get_content_type() == "text/rfc822-headers"
    assert "Message-ID: <1@a.test>" in original_part.get_payload()
    assert "secret" not in report.as_string()


def test_complain_mails_a_feedback_report_with_the_whole_message(
    sink: RunningSink, inbound: RunningSink
) -> None:
    send(sink, "Complain@b.test", "Message-ID: <1@a.test>\r\n\r\n.é\r\n".encode())
    report = report_to(inbound, RETURN_PATH)
    assert report.get_param("report-type") == "feedback-report"
    _, feedback, original_part = report.get_payload()
    assert feedback.get_content_type() == "message/feedback-report"
    fields = message_from_bytes(feedback.get_payload()[0].as_bytes())
    assert fields["Feedback-Type"] == "abuse"
    assert fields["Version"] == "1"
    assert fields["User-Agent"]
    assert fields["Original-Mail-From"] == f"<{RETURN_PATH}>"
    assert fields["Original-Rcpt-To"] == "<Complain@b.test>"
    assert original_part.get_content_type() == "message/rfc822"
    original = original_part.get_payload()[0]
    assert original["Message-ID"] == "<1@a.test>"
    assert original.get_payload(decode=True) == ".é\r\n".encode()


def test_nothing_is_reported_to_the_null_return_path(
    sink: RunningSink, inbound: RunningSink, caplog: pytest.LogCaptureFixture
) -> None:
    send(sink, "oob@b.test", b"\r\nHi\r\n", sender="")
    eventually(lambda: "no way to report to <>" in caplog.text)
    assert inbound.mailbox.list() == []


def test_open_loads_only_images_on_this_machine(sink: RunningSink, web: Web) -> None:
    send(sink, "open@b.test", newsletter(web))
    first, second = web.next_request(), web.next_request()
    assert (first.method, first.path) == ("GET", "/open?a=1&b=2")
    assert first.host == f"localhost:{web.port}"
    assert "Thunderbird" in first.user_agent
    assert second.path == "/bottom"
    assert web.requests.empty()


def test_click_follows_the_first_link_and_no_redirect(sink: RunningSink, web: Web) -> None:
    send(sink, "click@b.test", newsletter(web))
    assert web.next_request().path == "/click/1"
    send(sink, "open@b.test", newsletter(web))
    assert [web.next_request().path for _ in range(2)] == ["/open?a=1&b=2", "/bottom"]


def test_click_uses_a_link_in_the_text_when_there_is_no_html(sink: RunningSink, web: Web) -> None:
    text = f"See https://example.com/ or <http://localhost:{web.port}/t> now\r\n"
    send(sink, "click@b.test", b"\r\n" + text.encode())
    assert web.next_request().path == "/t"


def test_unsubscribe_posts_the_one_click_form(sink: RunningSink, web: Web) -> None:
    content = newsletter(
        web,
        List_Unsubscribe=f"<mailto:u@a.test?subject=u>, <http://news.a.test:{web.port}/u/abc>",
        List_Unsubscribe_Post="List-Unsubscribe=One-Click",
    )
    send(sink, "unsubscribe+1@b.test", content)
    request = web.next_request()
    assert (request.method, request.path) == ("POST", "/u/abc")
    assert request.body == "List-Unsubscribe=One-Click"
    assert request.host == f"news.a.test:{web.port}"


@pytest.mark.parametrize(
    ("recipient", "content"),
    [
        ("click@b.test", b"Content-Type: text/html\r\n\r\n<a href='http://192.0.2.1/'>x</a>\r\n"),
        ("unsubscribe@b.test", b"List-Unsubscribe: <http://localhost/u>\r\n\r\n\r\n"),
        (
            "unsubscribe@b.test",
            b"List-Unsubscribe: <http://192.0.2.1/u>\r\n"
            b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n\r\n\r\n",
        ),
        ("open@b.test", b"Content-Type: text/html; charset=no-such\r\n\r\n<img>\r\n"),
    ],
)
def test_a_reaction_that_is_impossible_is_logged(
    sink: RunningSink, caplog: pytest.LogCaptureFixture, recipient: str, content: bytes
) -> None:
    send(sink, recipient, content)
    eventually(lambda: recipient in caplog.text)


def test_reactions_follow_the_reply_and_are_dropped_when_the_sink_stops(
    tmp_path: Path, web: Web
) -> None:
    with running_sink(tmp_path, SinkOptions(behaviour_delay=3600)) as sink:
        send(sink, "open@b.test", newsletter(web))
        assert len(sink.mailbox.list()) == 1
    assert web.requests.empty()
