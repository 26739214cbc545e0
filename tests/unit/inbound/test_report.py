"""Read bounces, automatic replies and complaints in the formats of many hosts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.bounce_classes import AUTO_REPLY, BOUNCE_CLASSES, CHALLENGE_RESPONSE, HARD
from chalicelib.inbound import mime
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.report import Bounce, NoEvent, Report, read, read_feedback
from tests.unit.inbound.samples import (
    AUTOMATIC,
    DELAYS,
    PEOPLE,
    RCPT,
    STANDARD,
    TEXTS,
    Sample,
    arf,
    dsn,
    group,
    mail,
)
from tests.unit.linear_time import assert_linear

PIECES = [
    "From: MAILER-DAEMON@x\n",
    "Subject: Undeliverable\n",
    "Content-Type: multipart/report; boundary=b\n",
    "Content-Type: multipart/report; boundary=\n",
    "Content-Type: message/delivery-status\n",
    "Content-Type: message/feedback-report\nContent-Transfer-Encoding: base64\n",
    "Content-Type: text/html; charset=punycode\nContent-Transfer-Encoding: quoted-printable\n",
    "Subject: =?utf-7?B?//8=?= =?x?q?=ZZ?=\n",
    "Final-Recipient: rfc822;\n",
    "Diagnostic-Code: ;;;550\n",
    "Status: 5\nAction: failed\n",
    "Feedback-Type: abuse\n",
    "\n",
    "--b\n",
    "--b--\n",
    "<a@b>:\n",
    "said: 550 ",
    "\x00\ud800\xff",
]


def test_only_ascii_digits_are_codes() -> None:
    arabic = "5\u0665\u0664 5.\u0661.\u0661 no such user"
    bounce = reported(dsn(group(status="5.1.1", diagnostic=f"smtp; {arabic}")))
    assert isinstance(bounce, Bounce)
    assert (bounce.code, bounce.bounce_class) == (550, 10)


def reported(message: str, recipient: str = RCPT) -> Report:
    data = message.replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    return read(mime.read(data), recipient)


@pytest.mark.parametrize("sample", [*STANDARD, *TEXTS], ids=lambda sample: sample.name)
def test_a_bounce_has_a_code_a_class_and_a_reply(sample: Sample) -> None:
    report = reported(sample.message, sample.rcpt)
    assert isinstance(report, Bounce)
    assert (report.code, report.bounce_class) == (sample.code, sample.bounce_class)
    assert report.reply.startswith(sample.reply)


@pytest.mark.parametrize("message", DELAYS)
def test_a_notice_of_delay_is_no_bounce(message: str) -> None:
    assert isinstance(reported(message), NoEvent)


@pytest.mark.parametrize("message", AUTOMATIC)
def test_automatic_replies_have_a_class_of_their_own(message: str) -> None:
    report = reported(message)
    assert isinstance(report, Bounce)
    assert report.bounce_class == AUTO_REPLY
    assert AUTO_REPLY not in HARD
    assert report.reply.startswith("[internal] automatic reply: ")


def test_challenges_have_a_class_of_their_own() -> None:
    challenge = "Hello, please confirm you are human to deliver your message."
    for fields in ({}, {"Auto_Submitted": "auto-replied"}):
        report = reported(mail(challenge, sender="a@x.test", Subject="Re: x", **fields))
        assert isinstance(report, Bounce)
        assert report.bounce_class == CHALLENGE_RESPONSE


@pytest.mark.parametrize("message", PEOPLE)
def test_mail_that_people_write_is_no_report(message: str) -> None:
    assert isinstance(reported(message), NoEvent)


def test_a_complaint_has_its_kind_and_its_reporter() -> None:
    report = reported(arf("Feedback-Type: Abuse", "Reporting-MTA: dns; Mail.Inbox.test"))
    assert isinstance(report, Feedback)
    assert (report.kind, report.reported_by) == ("abuse", "mail.inbox.test")


@pytest.mark.parametrize(
    ("feedback_type", "kind"),
    [("fraud", "fraud"), ("Virus", "virus"), ("opt-out", "opt-out"), ("a b\x00c", "other")],
)
def test_the_kind_of_a_complaint_is_its_feedback_type_if_that_is_a_word(
    feedback_type: str, kind: str
) -> None:
    report = reported(arf(f"Feedback-Type: {feedback_type}"))
    assert isinstance(report, Feedback)
    assert report.kind == kind


@pytest.mark.parametrize("kind", ["not-spam", "auth-failure", "dmarc"])
def test_feedback_that_is_no_complaint_makes_no_event(kind: str) -> None:
    assert isinstance(reported(arf(f"Feedback-Type: {kind}")), NoEvent)


def test_the_reporter_is_the_senders_domain_unless_the_report_names_one() -> None:
    report = reported(arf("Feedback-Type: abuse"))
    assert isinstance(report, Feedback)
    assert report.reported_by == "inbox.test"


def test_a_complaint_holds_the_header_of_the_message_and_not_its_text() -> None:
    for kind in ("message/rfc822", "text/rfc822-headers"):
        report = reported(arf("Feedback-Type: abuse", original_type=kind))
        assert isinstance(report, Feedback)
        assert "<b.1@bounce.test>" in report.texts
        assert not any("Hello, our address" in text for text in report.texts)


def test_a_forwarded_message_is_a_complaint_at_the_feedback_address_only() -> None:
    forwarded = mail(
        "--b\nContent-Type: message/rfc822\n\nReturn-Path: <x@y>\n\nHi\n--b--\n",
        sender="staff@hotmail.test",
        Subject="complaint about message from 192.0.2.1",
        Content_Type="multipart/mixed; boundary=b",
    )
    inbound_mail = mime.read(forwarded.encode())
    assert read_feedback(inbound_mail) == Feedback("abuse", "hotmail.test", ("<x@y>",))
    assert isinstance(read(inbound_mail, RCPT), NoEvent)
    assert isinstance(read_feedback(mime.read(dsn(group()).encode())), Feedback)
    assert isinstance(read_feedback(mime.read(mail("Hi").encode())), NoEvent)


def test_a_temporary_status_has_no_hard_class() -> None:
    report = reported(dsn(group("failed", "4.1.1")))
    assert isinstance(report, Bounce)
    assert (report.code, report.bounce_class) == (450, 70)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40), st.text(max_size=5))
@settings(max_examples=300)
def test_every_message_can_be_read(pieces: list[str], recipient: str) -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    report = read(mime.read(data), recipient)
    if isinstance(report, Bounce):
        assert report.bounce_class in BOUNCE_CLASSES
        assert 400 <= report.code <= 599
        assert "\n" not in report.reply
    read_feedback(mime.read(data))


@given(st.binary(max_size=300))
@settings(max_examples=200)
def test_any_bytes_can_be_read(data: bytes) -> None:
    read(mime.read(data), RCPT)


MEGABYTE = 1 << 20
HOSTILE = {
    "nested": "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(20_000)
    ),
    "parts": "Content-Type: multipart/mixed; boundary=b\n\n" + "--b\n\n" * 200_000,
    "fields": "a:b\n" * 200_000,
    "folded": "Subject: a" + "\n b" * 300_000,
    "groups": dsn(*["Action: x"] * 50_000),
    "spaces": mail(" " * MEGABYTE),
    "was": mail("was " * 200_000),
    "numbers": mail("5.5.5.5.5." * 100_000),
    "dashes": mail("\n--" * 300_000),
    "tags": mail("<a" * 500_000, Content_Type="text/html"),
    "addresses": mail("a@" * 500_000),
    "entities": mail("&lt;" * 250_000, Content_Type="text/html"),
    "words": mail("", Subject="=?utf-8?q?=41?= " * 60_000),
    "boundary": f'Content-Type: multipart/mixed; boundary="{" " * 190}"\n\n' + " " * MEGABYTE,
    "content type": "Content-Type: multipart/mixed; " + "boundary" * 100_000 + "\n\n",
    "base64": "From: mailer-daemon@x\nContent-Transfer-Encoding: base64\n\n" + "QQ=" * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_messages_take_linear_time(name: str) -> None:
    assert_linear(lambda data: read(mime.read(data), RCPT), HOSTILE[name].encode())
