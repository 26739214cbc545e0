"""The From of a message, read from its header fields."""

from __future__ import annotations

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.from_field import from_mailbox, from_text


def fields(header: bytes) -> list[rfc822.Field]:
    return rfc822.split(header + b"\r\n\r\n")[0]


@pytest.mark.parametrize(
    ("header", "mailbox"),
    [
        (b"From: a@b.test", Mailbox("a@b.test")),
        (b"FROM:a@b.test", Mailbox("a@b.test")),
        (b"From: Ann <a@b.test>", Mailbox("a@b.test", "Ann")),
        (b'From: "Doe, Ann" <a@b.test>', Mailbox("a@b.test", "Doe, Ann")),
        (b"From: =?utf-8?q?Doe=2C_Ann?= <a@b.test>", Mailbox("a@b.test", "Doe, Ann")),
        (b"From: =?utf-8?B?Wm/Dqw==?=\r\n =?utf-8?q?_X?= <a@b.test>", Mailbox("a@b.test", "Zoë X")),
        ("From: Zoë <a@b.test>".encode(), Mailbox("a@b.test", "Zoë")),
        (b"From: =?nonsense?q?x?= <a@b.test>", Mailbox("a@b.test", "=?nonsense?q?x?=")),
        (b"From: =?utf-8?B?a?= <a@b.test>", Mailbox("a@b.test", "=?utf-8?B?a?=")),
    ],
)
def test_the_from_mailbox_is_read_and_decoded(header: bytes, mailbox: Mailbox) -> None:
    assert from_mailbox(fields(header)) == mailbox


@pytest.mark.parametrize(
    "header",
    [
        b"Subject: x",
        b"From:",
        b"From: nobody",
        b"From: a@b.test, c@d.test",
        b"From: Ann <a@b.test>, c@d.test",
        b"From: a@b.test\r\nFrom: c@d.test",
        b"From: friends: a@b.test, c@d.test;",
        b"From: Ann <>",
        b"From: =?utf-8?q?a=40b=2Etest?=",
        b"From: " + b"(" * 5_000 + b"a@b.test",
    ],
)
def test_a_from_without_exactly_one_mailbox_is_refused(header: bytes) -> None:
    with pytest.raises(ValueError, match="exactly one valid address"):
        from_mailbox(fields(header))


def test_the_text_of_a_from_may_be_a_template_or_several_mailboxes() -> None:
    assert from_text(fields(b"From: =?utf-8?q?{{n}}_=C3=A9?=\r\n <{{a}}>")) == "{{n}} é <{{a}}>"
    assert from_text(fields(b"From: a@b.test\r\nFrom: c@d.test")) == "a@b.test, c@d.test"
    assert from_text(fields(b"Subject: x")) == ""
