"""Tell who wrote a message that came back, and what its subject says."""

from __future__ import annotations

import pytest

from chalicelib.inbound import mime
from chalicelib.inbound.notice import Notice
from tests.unit.inbound.samples import RCPT, mail


def notice(text: str = "", subject: str = "", mail_from: str = "", **fields: str) -> Notice:
    return Notice(mime.read(mail(text, **fields).encode()), RCPT, subject, mail_from)


@pytest.mark.parametrize(
    "author",
    [
        *("MAILER-DAEMON@inbox.test", "<mailer-daemon>", "MAILER-DAEMON <>", "Mailer-Daemon"),
        *("mailer_daemon+7@inbox.test", "MDaemon@inbox.test", "Mail.Delivery.System@inbox.test"),
        *("Mail Delivery Subsystem <admin@inbox.test>", '"Mail Delivery System" <x@inbox.test>'),
        *("=?utf-8?q?Mail_Delivery_System?= <x@inbox.test>", "MAILER-DAEMON@inbox.test (System)"),
    ],
)
def test_these_authors_are_mail_hosts(author: str) -> None:
    assert notice(sender=author, Subject="Re: Order", mail_from="a@inbox.test").is_from_host


@pytest.mark.parametrize(
    "author",
    [
        *("PostMaster Versand GmbH <info@firm.test>", "Postmaster <ann.postmaster@firm.test>"),
        *("sales@postmaster.test", "ann@mailer-daemon.test", "postmaster.versand@firm.test"),
        *("Mailer-Daemon Music <ann@firm.test>", "", "Ann", "((((" * 300),
    ],
)
def test_these_authors_are_people(author: str) -> None:
    assert not notice(f"To: {RCPT}", sender=author, Subject="Undeliverable").is_from_host


def test_a_postmaster_is_a_host_if_the_message_looks_like_a_notice() -> None:
    for author in ("postmaster@inbox.test", "Postmaster <>", "<System Administrator@inbox.test>"):
        assert notice(sender=author, Subject="Undeliverable", mail_from=author).is_from_host
        assert notice(f"To {RCPT}", sender=author, Subject="Hello").is_from_host
        assert not notice("Hello", sender=author, Subject="Hello").is_from_host
        assert not notice(f"{RCPT}", sender=author, mail_from=author, Subject="Hi").is_from_host


@pytest.mark.parametrize(
    "fields", [{"X_Failed_Recipients": RCPT}, {"Auto_Submitted": "auto-generated (failure)"}]
)
def test_a_host_says_in_the_header_that_it_is_one(fields: dict[str, str]) -> None:
    assert notice(sender="ann@inbox.test", **fields).is_from_host


@pytest.mark.parametrize(
    ("title", "own"),
    [
        ("Undeliverable: Order 7", "Undeliverable: "),
        ("Undeliverable: Ord...", "Undeliverable: "),
        ("order 7", ""),
        ("Order 7 failed", "Order 7 failed"),
        ("Failure notice", "Failure notice"),
        ("=?utf-8?q?Undeliverable:_Order?=\n 7", "Undeliverable: "),
    ],
)
def test_the_title_is_the_subject_without_that_of_the_original(title: str, own: str) -> None:
    assert notice(subject="Order  7", Subject=title).title == own


def test_a_subject_is_left_out_of_texts_if_it_reads_like_a_reason() -> None:
    text = "Your mail about Mailbox\nFULL is late."
    assert notice(subject="Mailbox full").without_subject(text) == "Your mail about   is late."
    assert notice(subject="is late").without_subject(text) == text
