"""Tell the words of a notice from those of the message that it returns."""

from __future__ import annotations

import pytest

from chalicelib.inbound import mime
from chalicelib.inbound.own_words import own_words
from tests.unit.inbound.notices import COPY, HEADER, parts
from tests.unit.inbound.samples import RCPT, mail


def words(message: str) -> str:
    return own_words(mime.read(message.encode()), RCPT)


@pytest.mark.parametrize(
    "text",
    [
        "The original message was received at Mon, 2 Mar 2026 10:00:00\nfrom host [192.0.2.1]",
        "----- The following addresses had permanent fatal errors -----\n<ann@inbox.test>",
        "----- Transcript of session follows -----\n... while talking to mx.inbox.test.:",
        "Returned message\n\nThe mailbox is full.",
        "To: ann@inbox.test\nThe mailbox is full.",
        "Date: today\n\nThe mailbox is full.",
        "Reason: full\nDiagnostic-Code: smtp; 550\nStatus: 5.2.2\nFinal-Recipient: rfc822; a@b",
        "In: MAIL FROM:<a@b.test>\nOut: 250 ok\nFROM:<a@b>\nTO:<c@d>",
        "It is 10:30: from now on the mailbox is full.",
    ],
)
def test_these_words_are_the_notices_own(text: str) -> None:
    assert words(mail(text)) == text


def test_a_notice_goes_on_after_a_summary_if_it_names_the_recipient_there() -> None:
    summary = f"  To: {RCPT}\n  Subject: 550 5.1.1 no user\n"
    text = f"Your message\n\n{summary}\nwas not delivered"
    assert words(mail(f"{text} to {RCPT}")) == f"Your message\n\n\nwas not delivered to {RCPT}"
    assert words(mail(f"{text}.")) == "Your message\n"


def test_a_summary_that_is_not_indented_stands_near_the_beginning() -> None:
    summary = f"Subject: a\nDate: b\n\nThe message to {RCPT} failed."
    for lines, goes_on in ((1, True), (20, False)):
        text = words(mail("Full details follow:\n" * lines + summary))
        assert text.endswith("failed.") == goes_on


def test_the_header_of_a_copy_ends_the_notice_wherever_it_stands() -> None:
    assert words(mail(f"Hello\n\n{HEADER}\nThe message to {RCPT} failed.")) == "Hello\n"


def test_a_notice_with_an_attached_copy_goes_on_after_fields() -> None:
    message = parts(
        f"Content-Type: text/plain\n\nHello\n{HEADER}\nIt failed.",
        f"Content-Type: message/rfc822\n\n{COPY}",
    )
    assert words(message) == "Hello\n\nIt failed.\n"


def test_attachments_and_blank_parts_are_not_the_words() -> None:
    message = parts(
        "Content-Type: text/plain\nContent-Disposition: Attachment\n\nNot own.",
        "Content-Type: image/png\n\nNot own.",
        "Content-Type: text/plain\n\n \n",
        "Content-Type: text/html\n\n<p> </p>",
        "Content-Type: text/html\n\n<p>Own.</p>",
        "Content-Type: text/plain\n\nNot own.",
    )
    assert words(message) == "Own."
