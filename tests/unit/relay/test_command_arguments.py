from __future__ import annotations

import pytest

from relay import replies
from relay.command_arguments import MailCommand, is_mailbox, parse_mail, parse_recipient
from relay.errors import SmtpRefusal
from tests.unit.linear_time import assert_linear


def refusal_of_mail(argument: str) -> replies.Reply:
    with pytest.raises(SmtpRefusal) as refusal:
        parse_mail(argument)
    return refusal.value.reply


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("FROM:<a@example.test>", MailCommand("a@example.test", 0, False)),
        ("from: <a@example.test> ", MailCommand("a@example.test", 0, False)),
        ("FROM:<>", MailCommand("", 0, False)),
        ("FROM:<> SIZE=12 body=8bitmime", MailCommand("", 12, False)),
        ("FROM:<\u00fc@example.test> SMTPUTF8", MailCommand("\u00fc@example.test", 0, True)),
        ("FROM:<a@b.test> AUTH=<> BODY=7BIT", MailCommand("a@b.test", 0, False)),
        ('FROM:<"a>b c"@b.test>', MailCommand('"a>b c"@b.test', 0, False)),
        ("FROM:<a+tag=x@[192.0.2.1]>", MailCommand("a+tag=x@[192.0.2.1]", 0, False)),
    ],
)
def test_mail_is_read(argument: str, expected: MailCommand) -> None:
    assert parse_mail(argument) == expected


@pytest.mark.parametrize(
    ("argument", "reply"),
    [
        ("", replies.MAIL_SYNTAX),
        ("TO:<a@b.test>", replies.MAIL_SYNTAX),
        ("FROM:a@b.test", replies.MAIL_SYNTAX),
        ("FROM:<a@b.test", replies.MAIL_SYNTAX),
        ("FROM:<a@b.test>SIZE=1", replies.MAIL_SYNTAX),
        ("FROM:<a@b.test>> SIZE=1", replies.MAIL_SYNTAX),
        ("FROM:<<a@b.test>>", replies.MAIL_SYNTAX),
        ("FROM:<a>", replies.BAD_ADDRESS),
        ("FROM:<a@>", replies.BAD_ADDRESS),
        ("FROM:<@b.test>", replies.BAD_ADDRESS),
        ("FROM:<a b@c.test>", replies.BAD_ADDRESS),
        ("FROM:<a..b@c.test>", replies.BAD_ADDRESS),
        ("FROM:<a@b@c.test>", replies.BAD_ADDRESS),
        ("FROM:<a@b..test>", replies.BAD_ADDRESS),
        ("FROM:<a@b\x85.test> SMTPUTF8", replies.BAD_ADDRESS),
        ("FROM:<" + "a" * 250 + "@b.test>", replies.BAD_ADDRESS),
        ("FROM:<\u00fc@b.test>", replies.UTF8_NOT_DECLARED),
        ("FROM:<a@b.test> SIZE=", replies.BAD_PARAMETER),
        ("FROM:<a@b.test> SIZE=-1", replies.BAD_PARAMETER),
        ("FROM:<a@b.test> SIZE=" + "9" * 21, replies.BAD_PARAMETER),
        ("FROM:<a@b.test> SIZE=1 SIZE=2", replies.BAD_PARAMETER),
        ("FROM:<a@b.test> BODY=BINARYMIME", replies.BAD_PARAMETER),
        ("FROM:<a@b.test> SMTPUTF8=1", replies.BAD_PARAMETER),
        ("FROM:<a@b.test> RET=HDRS", replies.UNKNOWN_PARAMETER),
    ],
)
def test_mail_is_refused_with_the_reason(argument: str, reply: replies.Reply) -> None:
    assert refusal_of_mail(argument) == reply


def test_a_recipient_is_read() -> None:
    assert parse_recipient("TO:<b@example.test>", False) == "b@example.test"
    assert parse_recipient("to:<Postmaster>", False) == "Postmaster"
    assert parse_recipient("TO:<\u00fc@example.test>", True) == "\u00fc@example.test"


@pytest.mark.parametrize(
    ("argument", "reply"),
    [
        ("TO:<>", replies.BAD_ADDRESS),
        ("TO:b@example.test", replies.RCPT_SYNTAX),
        ("TO:<b@example.test> NOTIFY=NEVER", replies.UNKNOWN_PARAMETER),
        ("TO:<\u00fc@example.test>", replies.UTF8_NOT_DECLARED),
    ],
)
def test_a_recipient_is_refused_with_the_reason(argument: str, reply: replies.Reply) -> None:
    with pytest.raises(SmtpRefusal) as refusal:
        parse_recipient(argument, False)
    assert refusal.value.reply == reply


@pytest.mark.parametrize("ending", ["\r\n", "\n", "\0", "\r"])
def test_no_mailbox_has_a_line_end_or_nul(ending: str) -> None:
    assert not is_mailbox("a@b.test" + ending)
    assert not is_mailbox(f"a{ending}b@c.test")
    assert not is_mailbox(f'"a{ending}"@c.test')


@pytest.mark.parametrize(
    "argument",
    [
        'FROM:<"' + '\\"' * 6000,
        "FROM:<" + '""' * 6000,
        "FROM:<" + "a." * 6000,
        "FROM:<a@" + "a-" * 6000,
        "FROM:<a>" + " a" * 6000,
    ],
)
def test_hostile_paths_take_linear_time(argument: str) -> None:
    def parse(argument: str) -> None:
        with pytest.raises(SmtpRefusal):
            parse_mail(argument)

    assert_linear(parse, argument)


@pytest.mark.parametrize(
    ("argument", "sender", "size"),
    [
        ("FROM:<root>", "root", 0),
        ("from: <a..b@c> SIZE=12 RET=FULL X", "a..b@c", 12),
        ("FROM:a@b.test SIZE=12", "a@b.test", 12),
        ("FROM:<\u00fc@example.test>SIZE=5", "\u00fc@example.test", 5),
        ("FROM:<> SIZE=many", "", 0),
        ('FROM:<"a>b"@c.test>', '"a>b"@c.test', 0),
        ("FROM:", "", 0),
    ],
)
def test_a_lenient_command_takes_any_text_as_a_sender(
    argument: str, sender: str, size: int
) -> None:
    assert parse_mail(argument, lenient=True) == MailCommand(sender, size, smtp_utf8=True)


@pytest.mark.parametrize("argument", ["", "TO:<a@b.test>", "FROM <a@b.test>"])
def test_a_lenient_command_still_has_its_keyword(argument: str) -> None:
    with pytest.raises(SmtpRefusal):
        parse_mail(argument, lenient=True)


@pytest.mark.parametrize("character", ["\x00", "\r", "\x1f", "\x7f", "\x85"])
def test_a_lenient_command_takes_no_control_characters(character: str) -> None:
    with pytest.raises(SmtpRefusal):
        parse_recipient(f"TO:<a{character}@b.test>", smtp_utf8=True, lenient=True)


@pytest.mark.parametrize("hostile", ['FROM:<"' + "\\a" * 40_000, "FROM:<a>" + " SIZE=1x" * 20_000])
def test_lenient_commands_are_read_in_linear_time(hostile: str) -> None:
    def read(argument: str) -> MailCommand:
        return parse_mail(argument, lenient=True)

    assert_linear(read, hostile)
