"""Parameters of delivery status notifications are checked, and have no effect."""

from __future__ import annotations

import pytest

from relay import replies
from relay.command_arguments import parse_mail, parse_recipient
from relay.errors import SmtpRefusal
from tests.unit.linear_time import assert_linear


@pytest.mark.parametrize(
    "parameters",
    ["RET=HDRS", "ret=full ENVID=QQ314159", "ENVID=a+2Bb+3D", "ENVID=" + "a" * 100, "RET=Full"],
)
def test_what_a_sender_asks_for_is_read(parameters: str) -> None:
    mail = parse_mail(f"FROM:<a@b.test> {parameters} SIZE=7", notices=True)
    assert (mail.mail_from, mail.size) == ("a@b.test", 7)


@pytest.mark.parametrize(
    "parameters",
    [
        *("NOTIFY=NEVER", "NOTIFY=SUCCESS,FAILURE,DELAY", "notify=delay ORCPT=rfc822;b@c.test"),
        *("ORCPT=RFC822;b+2Bx@c.test", "ORCPT=utf-8;\\x{FC}@c.test", "ORCPT=x400;a/b"),
        "ORCPT=rfc822;" + "a" * 500,
    ],
)
def test_what_is_asked_for_a_recipient_is_read(parameters: str) -> None:
    argument = f"TO:<b@c.test> {parameters}"
    assert parse_recipient(argument, smtp_utf8=False, notices=True) == "b@c.test"


@pytest.mark.parametrize(
    "parameter",
    [
        *("RET=", "RET=ALL", "ENVID=", "ENVID=a=b", "ENVID=+zz", "ENVID=+2b", "ENVID=\u00fc"),
        *("ENVID=" + "a" * 101, "RET=FULL RET=FULL"),
    ],
)
def test_a_bad_value_of_a_sender_is_refused(parameter: str) -> None:
    with pytest.raises(SmtpRefusal) as refusal:
        parse_mail(f"FROM:<a@b.test> {parameter}", notices=True)
    assert refusal.value.reply == replies.BAD_PARAMETER


@pytest.mark.parametrize(
    "parameter",
    [
        *("NOTIFY=", "NOTIFY=NEVER,DELAY", "NOTIFY=DELAY,DELAY", "NOTIFY=,", "NOTIFY=YES"),
        *("ORCPT=", "ORCPT=a@b.test", "ORCPT=;a", "ORCPT=rfc822;", "ORCPT=rfc822;a=b"),
        *("ORCPT=rfc822;" + "a" * 501, "NOTIFY=DELAY NOTIFY=DELAY"),
    ],
)
def test_a_bad_value_of_a_recipient_is_refused(parameter: str) -> None:
    with pytest.raises(SmtpRefusal) as refusal:
        parse_recipient(f"TO:<b@c.test> {parameter}", smtp_utf8=False, notices=True)
    assert refusal.value.reply == replies.BAD_PARAMETER


def test_hostile_values_take_linear_time() -> None:
    def parse(value: str) -> None:
        with pytest.raises(SmtpRefusal):
            parse_recipient(f"TO:<b@c.test> ORCPT={value}", smtp_utf8=False, notices=True)

    assert_linear(parse, "rfc822;" + "+2B" * 5_000 + "=")
