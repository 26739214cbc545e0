"""Read bounces, automatic replies and complaints in the formats of many hosts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.bounce_classes import (
    AUTO_REPLY,
    BOUNCE_CLASSES,
    CHALLENGE_RESPONSE,
    HARD,
    MAILBOX_FULL,
    UNDETERMINED,
)
from chalicelib.inbound import mime
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.report import Bounce, NoEvent, Report, read, read_feedback
from tests.unit.inbound.notices import (
    BODY,
    FULL,
    HEADINGS,
    NOTICES,
    QUOTATIONS,
    SUBJECT,
    UNKNOWN_CAUSE,
    Notice,
    notice,
)
from tests.unit.inbound.samples import (
    AUTOMATIC,
    AUTOMATIC_POSTMASTERS,
    DELAYS,
    PEOPLE,
    PEOPLE_WITH_QUOTATIONS,
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


def reported(message: str, recipient: str = RCPT, subject: str = "", mail_from: str = "") -> Report:
    data = message.replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    return read(mime.read(data), recipient, subject, mail_from)


@pytest.mark.parametrize("sample", [*STANDARD, *TEXTS], ids=lambda sample: sample.name)
def test_a_bounce_has_a_code_a_class_and_a_reply(sample: Sample) -> None:
    report = reported(sample.message, sample.rcpt)
    assert isinstance(report, Bounce)
    assert (report.code, report.bounce_class) == (sample.code, sample.bounce_class)
    assert report.reply.startswith(sample.reply)


@pytest.mark.parametrize("sample", NOTICES, ids=lambda sample: sample.name)
def test_the_message_that_a_notice_returns_does_not_decide(sample: Notice) -> None:
    report = reported(sample.message, subject=SUBJECT)
    assert isinstance(report, Bounce)
    assert report.bounce_class == sample.bounce_class
    assert report.reply.startswith(sample.reply)


@pytest.mark.parametrize("sender", ["MAILER-DAEMON@inbox.test", "postmaster@inbox.test"])
@pytest.mark.parametrize("words", [FULL, UNKNOWN_CAUSE])
@pytest.mark.parametrize(
    "quotation",
    [*QUOTATIONS.values(), *(f"{heading}\n\n{BODY}" for heading in HEADINGS)],
    ids=[*QUOTATIONS, *HEADINGS],
)
def test_only_the_own_words_of_a_notice_count(quotation: str, words: str, sender: str) -> None:
    report = reported(notice(words + quotation, From=sender), subject=SUBJECT)
    assert isinstance(report, Bounce)
    assert report.bounce_class == (MAILBOX_FULL if words == FULL else UNDETERMINED)
    assert report.code == 550


@pytest.mark.parametrize("words", [FULL, "The address does not exist any more.\n\n"])
def test_an_own_cause_comes_before_a_reply_below_it(words: str) -> None:
    report = reported(notice(f"{words}--- Unknown language ---\n\n{BODY}"))
    assert isinstance(report, Bounce)
    assert (report.bounce_class in HARD) == (words != FULL)


def test_a_notice_about_a_mail_with_delay_in_its_subject_is_no_delay() -> None:
    subject = "Your order is delayed"
    message = mail("550 5.1.1 user unknown", Subject=f"Undeliverable: {subject}")
    assert isinstance(reported(message), NoEvent)
    for title in (subject, "Your order is del..."):
        message = mail("550 5.1.1 user unknown", Subject=f"Undeliverable: {title}")
        assert isinstance(reported(message, subject=subject), Bounce)


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


@pytest.mark.parametrize("message", AUTOMATIC_POSTMASTERS)
def test_an_automatic_reply_of_a_postmaster_is_no_bounce(message: str) -> None:
    for mail_from in ("", "postmaster@inbox.test"):
        report = reported(message, subject="Order", mail_from=mail_from)
        assert isinstance(report, Bounce)
        assert report.bounce_class == AUTO_REPLY


@pytest.mark.parametrize(("message", "mail_from"), PEOPLE_WITH_QUOTATIONS)
def test_people_who_quote_replies_of_hosts_report_nothing(message: str, mail_from: str) -> None:
    assert isinstance(reported(message, subject="Order", mail_from=mail_from), NoEvent)


def test_a_receipt_is_no_bounce() -> None:
    receipt = mail(
        "--b\nContent-Type: text/plain\n\nYour message was deleted: 550 5.1.1\n"
        "--b\nContent-Type: message/disposition-notification\n\nDisposition: "
        "manual-action/MDN-sent-manually; deleted\n--b--\n",
        sender="Bob <bob@inbox.test>",
        Subject="Not read: Order",
        Content_Type="multipart/report; report-type=disposition-notification; boundary=b",
    )
    assert isinstance(reported(receipt), NoEvent)
    automatic = receipt.replace("\nTo:", "\nAuto-Submitted: auto-replied\nTo:", 1)
    assert isinstance(reported(automatic), NoEvent)
    rejection = receipt.replace("\nTo:", "\nAuto-Submitted: auto-replied (rejected)\nTo:", 1)
    assert isinstance(reported(rejection.replace("550 5.1.1", "Quota exceeded")), Bounce)


def test_a_host_without_a_known_name_is_believed_if_it_returns_the_message() -> None:
    message = mail(
        "--b\nContent-Type: text/plain\n\nYour mail could not be delivered to: <ann@inbox.test>\n"
        "As their mailbox is full.\n--b\nContent-Type: message/rfc822\n\nFrom: a@b\n\nx\n--b--\n",
        sender="no-reply@inbox.test",
        Subject="Mail",
        Content_Type="multipart/mixed; boundary=b",
    )
    report = reported(message)
    assert isinstance(report, Bounce)
    assert report.bounce_class == MAILBOX_FULL
    assert isinstance(reported(message, mail_from="no-reply@inbox.test"), NoEvent)


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
    "headings": notice("original " * 100_000),
    "rules": notice("-- " * 300_000),
    "rules on lines": notice("--- a ---\n" * 100_000),
    "summaries": notice("From: a\nTo: b\n\nc\n" * 60_000),
    "folded lines": notice("From: a\n" + " b\n" * 200_000),
    "elements": notice("<blockquote><p>" * 60_000, Content_Type="text/html"),
    "comments": notice("<!-- <" * 100_000, Content_Type="text/html"),
    "delimiters": "Content-Type: multipart/mixed; boundary=b\n\n" + "--c\n" * 200_000,
    "author": mail("", sender="(" * 500_000),
    "base64": "From: mailer-daemon@x\nContent-Transfer-Encoding: base64\n\n" + "QQ=" * 300_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_messages_take_linear_time(name: str) -> None:
    assert_linear(
        lambda data: read(mime.read(data), RCPT, "550 5.1.1 " * 20), HOSTILE[name].encode()
    )
