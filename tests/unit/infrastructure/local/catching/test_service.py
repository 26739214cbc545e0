"""Programs of all kinds hand any mail to the catching port, and it is in the mailbox."""

from __future__ import annotations

import errno
import smtplib
import socket
import ssl
from base64 import b64encode

import pytest

from infrastructure.local.catching.__main__ import config_of
from infrastructure.local.catching.choices import STARTTLS, CatchChoices
from infrastructure.local.catching.gate import Gate
from infrastructure.local.catching.service import Catching
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import HEADER, TagChoices
from infrastructure.local.mailbox.trace import Trace, split
from infrastructure.local.passwords import Passwords
from infrastructure.local.releasing.chaos import AUTHENTICATION, RECIPIENT, SENDER
from infrastructure.local.releasing.recipients import AllowedRecipients
from infrastructure.local.this_machine import LocalAccess
from tests.unit.infrastructure.local.catching.conftest import StartCatching
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import TIMEOUT, plain

MESSAGE = b"From: Shop <shop@app.test>\r\nTo: ann@inbox.test\r\nSubject: Order\r\n\r\nHello\r\n"


@pytest.fixture
def catching(start: StartCatching, mailbox: SinkMailbox) -> RunningRelay:
    return start(Catching(mailbox))


def sole(mailbox: SinkMailbox) -> tuple[Trace, bytes]:
    """Return the only message of the mailbox with its trace."""
    (entry,) = mailbox.list()
    source = mailbox.read(entry["id"])
    assert source is not None
    trace, begin = split(source)
    assert trace is not None
    return trace, source[begin:]


def hand_over(port: int, message: bytes, sender: str = "a@b.test", *recipients: str) -> None:
    with smtplib.SMTP("127.0.0.1", port, timeout=TIMEOUT) as client:
        client.sendmail(sender, recipients or ("ann@inbox.test",), message)


def test_mail_without_tls_and_login_is_in_the_mailbox_when_it_is_answered(
    catching: RunningRelay, mailbox: SinkMailbox
) -> None:
    hand_over(catching.port, MESSAGE, "shop@app.test", "ann@inbox.test", "bob@inbox.test")
    (entry,) = mailbox.list()
    assert (entry["from"], entry["subject"]) == ("shop@app.test", "Order")
    assert sole(mailbox) == (Trace("shop@app.test", ("ann@inbox.test", "bob@inbox.test")), MESSAGE)
    assert [mailbox.list(to=f"{name}@inbox.test") for name in ("ann", "bob")] == [[entry]] * 2


def test_where_starttls_is_required_mail_without_it_is_refused(
    start: StartCatching, mailbox: SinkMailbox, trust: ssl.SSLContext
) -> None:
    config = config_of(CatchChoices(tls=STARTTLS), {"CATCH_PORT": "1"})
    needs = {"require_tls": config.require_tls, "mail_needs_tls": config.mail_needs_tls}
    catching = start(Catching(mailbox), **needs)
    with smtplib.SMTP("localhost", catching.port, timeout=TIMEOUT) as client:
        client.ehlo()
        assert client.mail("a@b.test")[0] == 530
        client.starttls(context=trust)
        client.sendmail("a@b.test", "ann@inbox.test", MESSAGE)
    assert sole(mailbox)[1] == MESSAGE


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
@pytest.mark.parametrize("encrypted", [False, True])
def test_any_login_is_taken_with_and_without_tls(
    start: StartCatching,
    mailbox: SinkMailbox,
    trust: ssl.SSLContext,
    mechanism: str,
    encrypted: bool,
) -> None:
    catching = start(Catching(mailbox), lists_tls=encrypted)
    with smtplib.SMTP("localhost", catching.port, timeout=TIMEOUT) as client:
        if encrypted:
            client.starttls(context=trust)
        client.ehlo()
        assert {"LOGIN", "PLAIN"} <= set(client.esmtp_features["auth"].split())
        if mechanism == "PLAIN":
            steps = [f"AUTH PLAIN {plain('jürgen', 'wört').decode()}"]
        else:
            steps = ["AUTH LOGIN", *(b64encode(x.encode()).decode() for x in ("jürgen", "wört"))]
        assert [client.docmd(step)[0] for step in steps] == [334] * (len(steps) - 1) + [235]
        client.sendmail("a@b.test", "ann@inbox.test", MESSAGE)
    assert sole(mailbox)[0].login == "jürgen"


def test_tls_that_nobody_chose_is_taken_but_not_listed(
    catching: RunningRelay, trust: ssl.SSLContext
) -> None:
    with smtplib.SMTP("localhost", catching.port, timeout=TIMEOUT) as client:
        client.ehlo()
        assert not client.has_extn("starttls")
        assert client.docmd("STARTTLS")[0] == 220
        client.sock = trust.wrap_socket(client.sock, server_hostname="localhost")
        client.file = None
        assert client.ehlo()[0] == 250


@pytest.mark.parametrize(
    ("sender", "recipient"),
    [
        ("<>", "<ann@inbox.test>"),
        ("<root>", "<root>"),
        ("<app@localhost>", "<ann@container>"),
        ("<a..b@c.test>", "<.ann.@inbox.test>"),
        ("<a@b_c.test> SIZE=10 BODY=8BITMIME RET=FULL ENVID=1", "<ann@x> NOTIFY=NEVER"),
        ("<jörg@bücher.example>", "<jürgen@postfach.example>"),
        (" <a@b.test>", " <ann@inbox.test>"),
        ("a@b.test SIZE=10", "ann@inbox.test"),
        ('<"quoted > one"@b.test>', '<"a b"@inbox.test>'),
        ("<a@[127.0.0.1]> FOO=bar", "<ann@[IPv6:::1]>"),
    ],
)
def test_any_sender_and_recipient_are_taken(
    catching: RunningRelay, mailbox: SinkMailbox, sender: str, recipient: str
) -> None:
    client = catching.client()
    client.say(f"MAIL FROM:{sender}\r\nRCPT TO:{recipient}\r\nDATA\r\n".encode())
    client.say(MESSAGE + b".\r\n")
    assert client.codes(4) == [250, 250, 354, 250]
    trace, _ = sole(mailbox)
    addresses = (text.strip() for text in (sender, recipient))
    expected = [
        text[1 : text.rindex(">")] if text.startswith("<") else text.split()[0]
        for text in addresses
    ]
    assert [trace.sender, *trace.recipients] == expected


@pytest.mark.parametrize("recipient", ["<>", "", "<a\x01b@c.test>"])
def test_what_is_no_recipient_is_refused(catching: RunningRelay, recipient: str) -> None:
    client = catching.client()
    assert client.ask(b"MAIL FROM:<>\r\n").startswith("250")
    assert client.ask(f"RCPT TO:{recipient}\r\n".encode()).startswith("5")
    assert client.ask(b"RCPT TO:<ann@inbox.test>\r\n").startswith("250")


def test_octets_of_any_kind_are_kept_and_bare_line_ends_become_crlf(
    catching: RunningRelay, mailbox: SinkMailbox
) -> None:
    body = b"\xff\0\r\n" + b"x" * 300_000 + b"\r\n..dots\r\n"
    client = catching.client()
    client.say(b"EHLO x\nMAIL FROM:<a@b.test> BODY=8BITMIME SMTPUTF8\nRCPT TO:<ann@x>\nDATA\n")
    assert client.codes(4) == [250, 250, 250, 354]
    client.say(b"Subject: bare\nX: 1\r\n\n" + body.replace(b"\n.", b"\n..") + b"one\ntwo\n.\n")
    assert client.reply().startswith("250")
    assert sole(mailbox)[1] == b"Subject: bare\r\nX: 1\r\n\r\n" + body + b"one\r\ntwo\r\n"


def test_a_pipelined_burst_of_messages_and_chunks_is_taken(
    catching: RunningRelay, mailbox: SinkMailbox
) -> None:
    client = catching.client()
    envelope = b"MAIL FROM:<a@b.test>\r\nRCPT TO:<ann@inbox.test>\r\n"
    half = len(MESSAGE) // 2
    chunks = b"BDAT %d\r\n%bBDAT %d LAST\r\n%b" % (
        *(half, MESSAGE[:half]),
        *(len(MESSAGE) - half, MESSAGE[half:]),
    )
    client.say((envelope + b"DATA\r\n" + MESSAGE + b".\r\n") * 20 + envelope + chunks)
    assert client.codes(84) == [250, 250, 354, 250] * 20 + [250] * 4
    sources = [mailbox.read(entry["id"]) for entry in mailbox.list()]
    assert len(sources) == 21
    assert all(source is not None and source.endswith(MESSAGE) for source in sources)


def test_a_message_of_fifty_megabytes_is_taken_and_a_larger_one_refused(
    catching: RunningRelay, mailbox: SinkMailbox
) -> None:
    line = b"x" * 998 + b"\r\n"
    large = MESSAGE + line * (50 * 1024 * 1024 // 1000)
    with smtplib.SMTP("127.0.0.1", catching.port, timeout=TIMEOUT) as client:
        client.ehlo()
        assert client.esmtp_features["size"] == str(50 * 1024 * 1024)
        client.sendmail("a@b.test", "ann@inbox.test", large)
        with pytest.raises(smtplib.SMTPSenderRefused):
            client.sendmail("a@b.test", "ann@inbox.test", large + line * 500)
    assert sole(mailbox)[1] == large


def test_messages_that_arrive_together_each_get_an_answer_of_their_own(
    catching: RunningRelay, mailbox: SinkMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_for_one(self: SinkMailbox, trace: Trace, message: bytes) -> object:
        if trace.sender == "bad@b.test":
            raise OSError("disk full")
        return write(self, trace, message)

    write = SinkMailbox._write
    monkeypatch.setattr(SinkMailbox, "_write", fails_for_one)
    senders = [b"good@b.test", b"bad@b.test", b"good@b.test"]
    clients = [catching.client() for _ in senders]
    for client, sender in zip(clients, senders, strict=True):
        client.say(b"MAIL FROM:<%b>\r\nRCPT TO:<ann@x>\r\nDATA\r\n" % sender)
        assert client.codes(3) == [250, 250, 354]
    for client in clients:
        client.say(MESSAGE + b".\r\n")
    assert [int(client.reply()[:3]) for client in clients] == [250, 451, 250]
    assert len(mailbox.list()) == 2


@pytest.mark.parametrize(
    ("inbox_by", "inboxes"),
    [
        ("", [("", 3)]),
        ("login", [("team-a", 3)]),
        ("recipient-domain", [("one.test", 2), ("two.test", 1)]),
        ("tag", [("", 2), ("red", 1)]),
    ],
)
def test_a_message_is_in_each_inbox_that_its_login_or_recipients_name(
    start: StartCatching, mailbox: SinkMailbox, inbox_by: str, inboxes: list[tuple[str, int]]
) -> None:
    port = start(Catching(mailbox, inbox_by)).port
    with smtplib.SMTP("127.0.0.1", port, timeout=TIMEOUT) as client:
        client.login("team-a", "any")
        client.sendmail("a@b.test", ["ann@one.test", "ben+red@one.test", "cat@two.test"], MESSAGE)
    entries = sorted((entry["inbox"], len(entry["to"].split(", "))) for entry in mailbox.list())
    assert entries == inboxes


def test_a_message_gets_the_tags_that_it_names(start: StartCatching, mailbox: SinkMailbox) -> None:
    port = start(Catching(mailbox, tags=TagChoices(frozenset({HEADER})))).port
    hand_over(port, b"X-Tags: order\r\n" + MESSAGE)
    assert sole(mailbox)[0].tags == ("order",)


def test_only_logins_of_the_file_are_taken_where_there_is_one(
    start: StartCatching, mailbox: SinkMailbox
) -> None:
    gate = Gate(Passwords({"ann": "secret"}))
    with smtplib.SMTP("127.0.0.1", start(Catching(mailbox, "", gate)).port) as client:
        with pytest.raises(smtplib.SMTPSenderRefused) as refusal:
            client.sendmail("a@b.test", "ann@inbox.test", MESSAGE)
        assert refusal.value.smtp_code == 530
        with pytest.raises(smtplib.SMTPAuthenticationError):
            client.login("ann", "wrong")
        client.login("ann", "secret")
        client.sendmail("a@b.test", "ann@inbox.test", MESSAGE)
    assert sole(mailbox)[0].login == "ann"


@pytest.mark.parametrize("setting", ["*@Inbox.test, bob@b.test", r"/@inbox\.test$|^bob@/"])
def test_only_recipients_of_the_list_are_taken_where_there_is_one(
    start: StartCatching, mailbox: SinkMailbox, setting: str
) -> None:
    gate = Gate(recipients=AllowedRecipients.read(setting))
    port = start(Catching(mailbox, gate=gate)).port
    recipients = ["ann@inbox.test", "eve@inbox.test.evil", "bob@b.test"]
    with smtplib.SMTP("127.0.0.1", port, timeout=TIMEOUT) as client:
        refusals = client.sendmail("a@b.test", recipients, MESSAGE)
    assert [(address, code) for address, (code, _) in refusals.items()] == [(recipients[1], 550)]
    assert sole(mailbox)[0].recipients == ("ann@inbox.test", "bob@b.test")


@pytest.mark.parametrize("stage", [SENDER, RECIPIENT, AUTHENTICATION])
def test_chaos_refuses_at_its_stage_with_its_code(
    start: StartCatching, mailbox: SinkMailbox, stage: str
) -> None:
    def fault(at: str) -> int | None:
        return 455 if at == stage else None

    client = start(Catching(mailbox, gate=Gate(fault=fault))).client()
    client.ask(b"EHLO x\r\n")
    client.say(b"AUTH PLAIN " + plain("a", "b") + b"\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n")
    codes = dict(zip((AUTHENTICATION, SENDER, RECIPIENT), client.codes(3), strict=True))
    assert codes[stage] == 455


def test_clients_at_addresses_that_are_not_admitted_are_sent_away(
    start: StartCatching, mailbox: SinkMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalAccess, "admits_peer", lambda access, address: False)
    client = start(Catching(mailbox)).client()
    assert client.greeting.startswith("554 5.7.1 ")
    assert client.reply() == ""


def test_a_client_that_leaves_while_its_message_is_stored_changes_nothing_for_others(
    catching: RunningRelay, mailbox: SinkMailbox
) -> None:
    leaving = socket.create_connection(("127.0.0.1", catching.port), TIMEOUT)
    leaving.recv(1000)
    leaving.sendall(b"MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n" + MESSAGE + b".\r\n")
    leaving.close()
    hand_over(catching.port, MESSAGE)
    assert mailbox.list(to="ann@inbox.test")


@pytest.mark.parametrize("size", [10, 5_000_000])
def test_a_full_disk_is_told_and_takes_no_message(
    catching: RunningRelay, mailbox: SinkMailbox, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def fail(messages: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(mailbox, "store_all", fail)
    with pytest.raises(smtplib.SMTPDataError, match="disk of the mailbox is full") as refusal:
        hand_over(catching.port, MESSAGE + b"x" * size)
    assert refusal.value.smtp_code == 452
