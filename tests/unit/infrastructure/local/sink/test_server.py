"""Test the sink: its behaviours by recipient, storing, and its process."""

import asyncio
import signal
import smtplib
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infrastructure.local.mailbox.login_field import with_login
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace, split
from infrastructure.local.sink import server
from infrastructure.local.sink.behaviours import Deferrals
from infrastructure.local.sink.server import Sink, SinkOptions
from infrastructure.local.sink.smtp_session import SinkEnvelope
from tests.unit.infrastructure.local.running import RunningSink, running_sink

ROOT = Path(__file__).parents[5]


def message(message_id: str = "<1@a.test>") -> bytes:
    return f"From: ann@a.test\r\nMessage-ID: {message_id}\r\n\r\nHi\r\n".encode()


def deliver(sink: RunningSink, *recipients: str, content: bytes = message()) -> tuple[int, str]:
    """Deliver a message; return the reply to a refused RCPT, or else to DATA."""
    with smtplib.SMTP("127.0.0.1", sink.port, "client.test", timeout=120) as client:
        client.ehlo()
        client.mail("bounces@a.test")
        replies = [client.rcpt(recipient) for recipient in recipients]
        refusals = [reply for reply in replies if reply[0] != 250]
        code, text = refusals[-1] if refusals else client.data(content)
        return code, text.decode()


@pytest.mark.parametrize(
    ("recipient", "code", "status"),
    [
        ("bounce-hard@any.test", 550, "5.1.1"),
        ("bounce-hard+tag@any.test", 550, "5.1.1"),
        ("Bounce-Hard+x@ANY.test", 550, "5.1.1"),
        ("bounce-soft@any.test", 552, "5.2.2"),
        ("bounce-block+1+2@any.test", 550, "5.7.1"),
    ],
)
def test_bouncing_recipients_are_refused(
    sink: RunningSink, recipient: str, code: int, status: str
) -> None:
    reply = deliver(sink, recipient)
    assert (reply[0], reply[1].split()[0]) == (code, status)
    assert sink.mailbox.list() == []


def test_a_blocked_message_is_called_spam(sink: RunningSink) -> None:
    assert "source of spam" in deliver(sink, "bounce-block@any.test")[1]


@pytest.mark.parametrize(
    "recipient",
    ["bob@any.test", "bounce-harder@any.test", "xdefer@any.test", "a+bounce-hard@b.test"],
)
def test_any_other_recipient_is_accepted_and_stored(sink: RunningSink, recipient: str) -> None:
    assert deliver(sink, recipient)[0] == 250
    assert [entry["to"] for entry in sink.mailbox.list()] == [recipient]


def test_a_deferred_message_is_accepted_at_the_third_attempt(sink: RunningSink) -> None:
    replies = [deliver(sink, "defer+x@any.test") for _ in range(4)]
    assert [code for code, _ in replies] == [451, 451, 250, 250]
    assert replies[0][1].startswith("4.7.1 ")
    assert len(sink.mailbox.list()) == 2


def test_each_message_and_each_recipient_is_deferred_on_its_own(sink: RunningSink) -> None:
    for _ in range(2):
        assert deliver(sink, "defer@any.test")[0] == 451
    assert deliver(sink, "defer@any.test", content=message("<2@a.test>"))[0] == 451
    assert deliver(sink, "defer+2@any.test")[0] == 451
    assert deliver(sink, "Defer@any.test")[0] == 250


def test_a_message_for_several_recipients_is_deferred_until_all_accept_it(
    sink: RunningSink,
) -> None:
    assert deliver(sink, "defer+a@any.test")[0] == 451
    codes = [deliver(sink, "defer+a@any.test", "defer+b@any.test", "c@a.test")[0] for _ in range(3)]
    assert codes == [451, 451, 250]
    assert len(sink.mailbox.list()) == 3


def test_deferrals_identify_a_message_without_an_id_by_its_content() -> None:
    deferrals = Deferrals()
    assert [deferrals.defers("defer@a.test", b"one") for _ in range(3)] == [True, True, False]
    assert deferrals.defers("defer@a.test", b"two")


def test_deferrals_keep_a_limited_number_of_messages() -> None:
    deferrals = Deferrals(remembered=10)
    for number in range(100):
        deferrals.defers(f"defer+{number}@a.test", message())
    assert len(deferrals) == 10
    assert deferrals.defers("defer+99@a.test", message())
    assert not deferrals.defers("defer+99@a.test", message())
    assert not deferrals.defers("bob@a.test", message())


def test_a_slow_recipient_is_accepted_late_and_delays_no_other(sink: RunningSink) -> None:
    slow = smtplib.SMTP("127.0.0.1", sink.port, "client.test", timeout=120)
    slow.ehlo()
    slow.mail("")
    slow.rcpt("slow+1@any.test")
    began = time.monotonic()
    slow.docmd("DATA")
    slow.send(b"Hi\r\n.\r\n")
    assert deliver(sink, "quick@any.test")[0] == 250
    assert [entry["to"] for entry in sink.mailbox.list()] == ["quick@any.test"]
    assert slow.getreply()[0] == 250
    assert time.monotonic() - began >= 1.0
    slow.quit()
    assert [entry["to"] for entry in sink.mailbox.list()] == ["slow+1@any.test", "quick@any.test"]


def test_a_mailbox_that_cannot_be_written_causes_a_temporary_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running_sink(tmp_path / "sink") as sink:
        for folder in ("new", "tmp"):
            (tmp_path / "sink" / folder).rmdir()
        assert deliver(sink, "bob@any.test")[0] == 451
        assert "storing failed" in caplog.text
        (tmp_path / "sink" / "tmp").mkdir()
        (tmp_path / "sink" / "new").mkdir()
        assert deliver(sink, "bob@any.test")[0] == 250


def test_a_sink_stores_a_message_without_its_server(tmp_path: Path) -> None:
    mailbox = SinkMailbox(tmp_path)
    reply = asyncio.run(Sink(mailbox).receive(SinkEnvelope("a@a.test", ["b@b.test"], message())))
    assert reply == f"250 2.0.0 Ok: stored as {mailbox.list()[0]['id']}"


def test_each_recipient_has_the_message_in_its_inbox(tmp_path: Path) -> None:
    mailbox = SinkMailbox(tmp_path)
    sink = Sink(mailbox, SinkOptions(inbox_by="recipient-domain"))
    asyncio.run(sink.receive(SinkEnvelope("a@a.test", ["b@b.test", "c@C.test"], message())))
    assert {entry["to"]: entry["inbox"] for entry in mailbox.list()} == {
        "b@b.test": "b.test",
        "c@C.test": "c.test",
    }


def test_mail_of_the_catching_port_is_in_the_inbox_of_its_login_and_has_its_tags(
    tmp_path: Path,
) -> None:
    mailbox = SinkMailbox(tmp_path)
    tags_of = server._tags_of({"CATCH": "send", "MAILBOX_TAGS_FROM": "login,plus-addresses"})
    sink = Sink(mailbox, SinkOptions(inbox_by="login", tags_of=tags_of))
    content = message()
    for carrying in (with_login(content, "shop"), content):
        asyncio.run(sink.receive(SinkEnvelope("a@a.test", ["b+news@b.test"], carrying)))
    later, first = mailbox.list()
    assert (first["inbox"], later["inbox"]) == ("shop", "")
    source = mailbox.read(first["id"])
    assert source is not None
    trace, begin = split(source)
    expected = Trace("a@a.test", ("b+news@b.test",), "shop", "shop", ("news", "shop"))
    assert (trace, source[begin:]) == (expected, content)


def test_without_catch_send_nothing_gives_tags() -> None:
    assert server._tags_of({"CATCH": "store"}) is None


def test_connections_send_without_nagles_delay(sink: RunningSink) -> None:
    # asyncio turns Nagle's delay off only where the listening socket names its protocol.
    assert sink.sink._server.sockets[0].proto == socket.IPPROTO_TCP


def test_stopping_sends_421_to_open_sessions_and_frees_the_port(tmp_path: Path) -> None:
    with running_sink(tmp_path) as sink:
        client = smtplib.SMTP("127.0.0.1", sink.port, "client.test", timeout=120)
        sink.stop()
        assert client.getreply()[0] == 421
        client.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", sink.port))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_stores_mail_and_stops_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "infrastructure.local.sink", "--port", "0"]
    command += ["--data", str(tmp_path / "mail"), "--inbound", "127.0.0.1:1"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("sink listening on 127.0.0.1:")
        client = smtplib.SMTP("127.0.0.1", int(line.rpartition(":")[2]), "client.test", timeout=120)
        client.sendmail("a@a.test", ["b@b.test", "oob@b.test"], message())
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
        assert client.getreply()[0] == 421
        client.close()
    assert len(SinkMailbox(tmp_path / "mail").list()) == 2


def test_the_default_options_are_those_of_the_run_contract() -> None:
    assert SinkOptions().slow_seconds == 5.0
    assert SinkOptions().inbound is None
