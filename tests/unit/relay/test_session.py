from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable
from email.message import EmailMessage

import pytest

from relay.backend import Identity, SubmittedEnvelope
from relay.errors import PermanentRefusal, RelayUnavailable
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import (
    PASSWORD,
    TIMEOUT,
    FakeInboundStore,
    FakeStore,
    Wire,
    fields_of,
    plain,
)

MESSAGE = b"Subject: hello\r\n\r\nbody\r\n"
USERNAME = b64encode(b"SMTP_Injection")


def capabilities(reply: str) -> list[str]:
    return [line[4:] for line in reply.splitlines()[1:]]


def deliver(client: Wire, message: bytes = MESSAGE) -> str:
    assert client.begin_data() == "354 3.0.0 End the message with <CR><LF>.<CR><LF>"
    return client.ask(message + b".\r\n")


def assert_true(condition: bool) -> None:
    assert condition


# smtplib: what a stock client does.


@pytest.mark.spec("5-r7")
def test_a_stock_client_sends_over_starttls_with_a_login(
    relay: RunningRelay, store: FakeStore, trust: ssl.SSLContext
) -> None:
    with smtplib.SMTP("localhost", relay.port, timeout=TIMEOUT) as client:
        client.starttls(context=trust)
        client.login("SMTP_Injection:X-SVC-SUBACCOUNT=7", PASSWORD)
        client.sendmail("a@example.test", ["b@x.test", "c@x.test"], "Subject: hi\n\n.dot\nend")
    assert store.logins == [(PASSWORD, 7, "127.0.0.1")]
    ((identity, envelope),) = store.messages
    assert identity == Identity(1, 7, "k1")
    assert envelope.mail_from == "a@example.test"
    assert envelope.recipients == ("b@x.test", "c@x.test")
    assert envelope.data == b"Subject: hi\r\n\r\n.dot\r\nend\r\n"
    assert (envelope.peer_ip, envelope.smtp_utf8) == ("127.0.0.1", False)
    assert envelope.tls.startswith("TLSv1.")


@pytest.mark.spec("5-r7")
@pytest.mark.parametrize("mechanism", ["auth_login", "auth_plain"])
@pytest.mark.parametrize("initial_response", [True, False])
def test_both_mechanisms_log_in_with_and_without_initial_response(
    relay: RunningRelay,
    store: FakeStore,
    trust: ssl.SSLContext,
    mechanism: str,
    initial_response: bool,
) -> None:
    with smtplib.SMTP("localhost", relay.port, timeout=TIMEOUT) as client:
        client.starttls(context=trust)
        client.ehlo()
        client.user, client.password = "SMTP_Injection", PASSWORD
        code, _ = client.auth(
            mechanism[5:].upper(),
            getattr(client, mechanism),
            initial_response_ok=initial_response,
        )
    assert code == 235
    assert store.logins == [(PASSWORD, None, "127.0.0.1")]


def test_addresses_outside_ascii_are_taken_with_smtputf8(
    relay: RunningRelay, store: FakeStore, trust: ssl.SSLContext
) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "gr\u00fc\u00dfe@example.test", "b\u00fc@b\u00fccher.test"
    message.set_content("text")
    with smtplib.SMTP("localhost", relay.port, timeout=TIMEOUT) as client:
        client.starttls(context=trust)
        client.login("SMTP_Injection", PASSWORD)
        client.send_message(message)
    assert store.envelopes[0].mail_from == "gr\u00fc\u00dfe@example.test"
    assert store.envelopes[0].recipients == ("b\u00fc@b\u00fccher.test",)
    assert store.envelopes[0].smtp_utf8


# What is offered.


@pytest.mark.spec("5-r7")
def test_before_tls_no_login_is_offered_or_taken(relay: RunningRelay, store: FakeStore) -> None:
    client = relay.client()
    assert client.greeting == "220 relay.test ESMTP ready"
    reply = client.ask(b"EHLO client.test\r\n")
    assert reply.splitlines()[0] == "250-relay.test"
    assert capabilities(reply) == ["STARTTLS", "ENHANCEDSTATUSCODES", "PIPELINING", "8BITMIME"]
    assert client.ask(b"AUTH LOGIN\r\n").startswith("538 5.7.11 ")
    assert not store.logins


@pytest.mark.spec("5-r7")
def test_a_port_with_tls_from_the_first_octet_takes_logins_and_offers_no_starttls(
    start_submission: Callable[..., RunningRelay], store: FakeStore, trust: ssl.SSLContext
) -> None:
    relay = start_submission(implicit_tls=True)
    with smtplib.SMTP_SSL("localhost", relay.port, context=trust) as client:
        client.ehlo()
        assert not client.has_extn("starttls")
        client.login("SMTP_Injection", PASSWORD)
        client.sendmail("a@example.test", ["b@example.test"], "Subject: x\r\n\r\nunder TLS")
        with pytest.raises(smtplib.SMTPNotSupportedError):
            client.starttls()
    assert len(store.messages) == 1


def test_a_client_that_speaks_in_the_clear_there_gets_no_greeting(
    start_submission: Callable[..., RunningRelay],
) -> None:
    relay = start_submission(implicit_tls=True)
    with socket.create_connection(("localhost", relay.port), timeout=TIMEOUT) as client:
        client.sendall(b"EHLO in.the.clear\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert b"220" not in client.makefile("rb").read()


def test_after_tls_logins_are_offered_and_starttls_is_not(
    relay: RunningRelay, trust: ssl.SSLContext
) -> None:
    client = relay.client()
    client.ask(b"EHLO client.test\r\n")
    assert client.ask(b"STARTTLS\r\n").startswith("220 2.0.0 ")
    client.start_tls(trust)
    assert capabilities(client.ask(b"EHLO client.test\r\n")) == [
        "ENHANCEDSTATUSCODES",
        "AUTH LOGIN PLAIN",
        "AUTH=LOGIN PLAIN",
        "8BITMIME",
        "CHUNKING",
        "PIPELINING",
        "SMTPUTF8",
        f"SIZE {20 * 1024 * 1024}",
    ]
    assert client.ask(b"STARTTLS\r\n").startswith("503 ")


def test_without_required_tls_a_login_is_taken_in_the_clear(clear_relay: RunningRelay) -> None:
    client = clear_relay.client()
    offered = capabilities(client.ask(b"EHLO client.test\r\n"))
    assert {"STARTTLS", "AUTH LOGIN PLAIN"} <= set(offered)
    reply = client.ask(b"AUTH PLAIN " + plain("SMTP_Injection", PASSWORD) + b"\r\n")
    assert reply.startswith("235 2.0.0 ")


def test_starttls_clears_the_session(relay: RunningRelay, trust: ssl.SSLContext) -> None:
    client = relay.client()
    client.ask(b"EHLO client.test\r\n")
    client.ask(b"STARTTLS\r\n")
    client.start_tls(trust)
    assert client.ask(b"MAIL FROM:<a@example.test>\r\n") == "503 5.5.1 Send EHLO or HELO first"
    assert client.ask(b"AUTH LOGIN\r\n").startswith("503 ")


def test_starttls_during_a_message_drops_it(
    clear_relay: RunningRelay, trust: ssl.SSLContext
) -> None:
    client = clear_relay.client()
    client.log_in()
    client.ask(b"MAIL FROM:<a@example.test>\r\n")
    client.ask(b"STARTTLS\r\n")
    client.start_tls(trust)
    assert client.ask(b"RCPT TO:<b@x.test>\r\n").startswith("503 ")
    client.ask(b"EHLO client.test\r\n")
    client.ask(b"MAIL FROM:<a@example.test>\r\n")
    assert client.ask(b"RCPT TO:<b@x.test>\r\n").startswith("550 5.7.1 ")


# Logins.


def test_login_prompts_are_the_usual_ones(clear_relay: RunningRelay) -> None:
    client = clear_relay.client()
    client.ask(b"EHLO client.test\r\n")
    assert client.ask(b"auth login\r\n") == "334 VXNlcm5hbWU6"
    assert client.ask(USERNAME + b"\r\n") == "334 UGFzc3dvcmQ6"
    assert client.ask(b64encode(PASSWORD.encode()) + b"\r\n").startswith("235 2.0.0 ")
    assert client.ask(b"AUTH LOGIN\r\n").startswith("503 ")


def test_a_plain_login_may_come_after_its_command(clear_relay: RunningRelay) -> None:
    client = clear_relay.client()
    client.ask(b"EHLO client.test\r\n")
    assert client.ask(b"AUTH PLAIN\r\n") == "334 "  # with the space of RFC 4954 4
    assert client.ask(plain("SMTP_Injection", PASSWORD) + b"\r\n").startswith("235 2.0.0 ")


@pytest.mark.parametrize(
    ("username", "password"), [("SMTP_Injection", "wrong"), ("someone", PASSWORD)]
)
def test_a_wrong_login_is_refused(clear_relay: RunningRelay, username: str, password: str) -> None:
    client = clear_relay.client()
    client.ask(b"EHLO client.test\r\n")
    reply = client.ask(b"AUTH PLAIN " + plain(username, password) + b"\r\n")
    assert reply == "535 5.7.8 Authentication failed"
    assert clear_relay.server.counters.logins_refused == 1
    client.ask(b"MAIL FROM:<a@example.test>\r\n")
    assert client.ask(b"RCPT TO:<b@x.test>\r\n").startswith("550 5.7.1 ")


def test_a_login_can_be_cancelled_and_started_again(clear_relay: RunningRelay) -> None:
    client = clear_relay.client()
    client.ask(b"EHLO client.test\r\n")
    client.ask(b"AUTH LOGIN\r\n")
    assert client.ask(b"*\r\n").startswith("501 5.7.0 ")
    client.ask(b"AUTH PLAIN\r\n")
    assert client.ask(b"not base64\r\n").startswith("501 5.5.2 ")
    assert client.log_in().startswith("235 ")


def test_an_unknown_mechanism_is_refused(clear_relay: RunningRelay) -> None:
    client = clear_relay.client()
    client.ask(b"EHLO client.test\r\n")
    assert client.ask(b"AUTH CRAM-MD5\r\n").startswith("504 5.5.4 ")


def test_a_long_login_fits_where_no_other_command_does(clear_relay: RunningRelay) -> None:
    client = clear_relay.client()
    client.ask(b"EHLO client.test\r\n")
    reply = client.ask(b"AUTH PLAIN " + plain("SMTP_Injection", "x" * 8000) + b"\r\n")
    assert reply.startswith("535 5.7.8 ")
    assert client.ask(b"NOOP " + b"x" * 8000 + b"\r\n").startswith("500 5.5.2 ")


# A message.


def test_without_a_login_nothing_is_relayed(relay: RunningRelay, store: FakeStore) -> None:
    client = relay.client()
    client.ask(b"EHLO client.test\r\n")
    assert client.ask(b"MAIL FROM:<a@example.test>\r\n").startswith("250 ")
    assert client.ask(b"RCPT TO:<b@x.test>\r\n") == "550 5.7.1 Relaying denied"
    assert client.ask(b"DATA\r\n").startswith("503 5.5.1 ")
    assert not store.messages


def test_a_message_is_answered_with_its_id(sender: Wire, store: FakeStore) -> None:
    assert deliver(sender) == "250 2.0.0 OK id-1"
    assert deliver(sender) == "250 2.0.0 OK id-2"
    assert store.envelopes[0].data == MESSAGE
    assert sender.ask(b"QUIT\r\n").startswith("221 2.3.0 ")
    assert sender.reply() == ""


def test_the_message_is_acknowledged_only_after_it_is_stored(
    sender: Wire, store: FakeStore
) -> None:
    is_stored = threading.Event()
    store.on_accept = lambda _: assert_true(is_stored.wait(TIMEOUT))
    sender.begin_data()
    sender.say(MESSAGE + b".\r\n")
    assert sender.is_quiet(0.1)
    is_stored.set()
    assert sender.reply() == "250 2.0.0 OK id-1"


def test_blocking_calls_run_in_the_worker_threads(
    clear_relay: RunningRelay, sender: Wire, store: FakeStore
) -> None:
    blocked, release = threading.Event(), threading.Event()

    def block(_: SubmittedEnvelope) -> None:
        blocked.set()
        release.wait(TIMEOUT)

    store.on_accept = block
    sender.begin_data()
    sender.say(MESSAGE + b".\r\n")
    assert blocked.wait(TIMEOUT)
    other = clear_relay.client()
    assert other.log_in().startswith("235 ")
    release.set()
    assert sender.reply().startswith("250 ")


@pytest.mark.parametrize(
    ("failure", "reply"),
    [
        (PermanentRefusal(550, "5.6.0", "API header: no"), "550 5.6.0 API header: no"),
        (RelayUnavailable(), "451 4.3.0 Temporary failure, try again later"),
    ],
)
def test_a_refused_message_gets_the_reply_of_its_refusal(
    sender: Wire, store: FakeStore, failure: Exception, reply: str
) -> None:
    def fail(_: SubmittedEnvelope) -> None:
        raise failure

    store.on_accept = fail
    assert deliver(sender) == reply
    store.on_accept = lambda _: None
    assert deliver(sender).startswith("250 ")


def test_a_refusal_with_421_ends_the_connection(sender: Wire, store: FakeStore) -> None:
    def fail(_: SubmittedEnvelope) -> None:
        raise PermanentRefusal(421, "4.3.3", "No transmission id")

    store.on_accept = fail
    assert deliver(sender) == "421 4.3.3 No transmission id"
    assert sender.reply() == ""


@pytest.mark.parametrize("error", [KeyError("secret"), ConnectionResetError(), TimeoutError()])
def test_any_other_failure_is_temporary_and_logged_with_its_id(
    sender: Wire, store: FakeStore, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: SubmittedEnvelope) -> None:
        raise error

    store.on_accept = fail
    reply = deliver(sender)
    assert reply.startswith("451 4.3.0 ")
    assert "secret" not in reply
    assert fields_of(caplog.records, "relay fault")["fault_id"] in reply
    (fault,) = [record for record in caplog.records if record.exc_info]
    assert fault.exc_info is not None
    assert fault.exc_info[0] is type(error)
    assert sender.ask(b"NOOP\r\n").startswith("250 ")


def test_every_message_is_logged_and_counted(
    clear_relay: RunningRelay, sender: Wire, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse_large(envelope: SubmittedEnvelope) -> None:
        if len(envelope.data) > 100:
            raise PermanentRefusal(550, "5.7.1", "No")

    store.on_accept = refuse_large
    with caplog.at_level("INFO", "relay"):
        deliver(sender)
        deliver(sender, b"x" * 200 + b"\r\n")
    acceptance = fields_of(caplog.records, "message accepted")
    assert (acceptance["message_id"], acceptance["recipients"]) == ("id-1", 1)
    refusal = fields_of(caplog.records, "message refused")
    assert (refusal["reply_code"], refusal["reply_text"]) == (550, "No")
    counters = clear_relay.server.counters
    assert (counters.messages_accepted, counters.messages_refused) == (1, 1)
    assert counters.octets_accepted == len(MESSAGE)
    assert 0 < acceptance["seconds"] < TIMEOUT


def test_the_null_path_and_8bit_text_are_taken(sender: Wire, store: FakeStore) -> None:
    assert sender.ask(b"MAIL FROM:<> BODY=8BITMIME\r\n").startswith("250 2.1.0 ")
    assert sender.ask(b"RCPT TO:<b@x.test>\r\n").startswith("250 2.1.5 ")
    sender.ask(b"DATA\r\n")
    assert sender.ask(b"\r\n\xff\xfe\r\n.\r\n").startswith("250 ")
    assert store.envelopes[0].mail_from == ""
    assert store.envelopes[0].data == b"\r\n\xff\xfe\r\n"


def test_rset_forgets_the_message_and_keeps_the_login(sender: Wire) -> None:
    sender.ask(b"MAIL FROM:<a@example.test>\r\n")
    sender.ask(b"RCPT TO:<b@x.test>\r\n")
    assert sender.ask(b"RSET\r\n") == "250 2.0.0 OK"
    assert sender.ask(b"DATA\r\n").startswith("503 ")
    assert deliver(sender).startswith("250 ")


# Limits.


def test_a_declared_size_beyond_the_limit_is_refused_at_once(
    start_submission: Callable[..., RunningRelay],
) -> None:
    client = start_submission(require_tls=False, max_message=1000).client()
    client.log_in()
    reply = client.ask(b"MAIL FROM:<a@example.test> SIZE=1001\r\n")
    assert reply == "552 5.3.4 Message too big"
    assert client.ask(b"MAIL FROM:<a@example.test> SIZE=1000\r\n").startswith("250 ")


def test_a_real_size_beyond_the_limit_is_refused_after_the_message(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    client = start_submission(require_tls=False, max_message=1000).client()
    client.log_in()
    assert deliver(client, b"x" * 400_000 + b"\r\n") == "552 5.3.4 Message too big"
    assert deliver(client).startswith("250 ")
    assert len(store.messages) == 1


def test_a_message_of_20_mb_is_taken_by_default_and_a_larger_one_is_not(
    sender: Wire, store: FakeStore
) -> None:
    largest = (b"x" * 1022 + b"\r\n") * (20 * 1024)
    assert deliver(sender, largest).startswith("250 ")
    assert len(store.envelopes[0].data) == 20 * 1024 * 1024
    assert deliver(sender, largest + b"\r\n").startswith("552 5.3.4 ")


def test_one_client_does_not_move_anothers_limits(
    start_submission: Callable[..., RunningRelay],
) -> None:
    small = start_submission(require_tls=False, max_message=1000).client()
    large = start_submission(require_tls=False, max_message=5000).client()
    small.log_in()
    large.log_in()
    for _ in range(5):
        large.ask(b"EHLO client.test\r\n")
    mail = b"MAIL FROM:<a@example.test> SIZE=2000\r\n"
    assert small.ask(mail).startswith("552 ")
    assert large.ask(mail).startswith("250 ")


def test_recipients_are_capped(start_submission: Callable[..., RunningRelay]) -> None:
    client = start_submission(require_tls=False, max_recipients=2).client()
    client.log_in()
    client.ask(b"MAIL FROM:<a@example.test>\r\n")
    client.say(b"RCPT TO:<b@x.test>\r\n" * 3)
    assert client.codes(2) == [250, 250]
    assert client.reply() == "452 4.5.3 Too many recipients"


def test_a_thousand_recipients_are_taken_by_default(sender: Wire, store: FakeStore) -> None:
    sender.ask(b"MAIL FROM:<a@example.test>\r\n")
    sender.say(b"".join(b"RCPT TO:<r%d@x.test>\r\n" % number for number in range(1001)))
    assert sender.codes(1001) == [250] * 1000 + [452]
    sender.ask(b"DATA\r\n")
    assert sender.ask(MESSAGE + b".\r\n").startswith("250 ")
    assert len(store.envelopes[0].recipients) == 1000


def test_messages_of_a_connection_are_capped(
    start_submission: Callable[..., RunningRelay],
) -> None:
    client = start_submission(require_tls=False, max_messages=2).client()
    client.log_in()
    assert [deliver(client)[:3] for _ in range(2)] == ["250", "250"]
    assert client.ask(b"MAIL FROM:<a@example.test>\r\n").startswith("421 4.7.0 ")
    assert client.reply() == ""


def test_errors_of_a_connection_are_capped(relay: RunningRelay) -> None:
    client = relay.client()
    client.say(b"WHAT\r\n" * 30)
    assert client.codes(20) == [500] * 20
    assert client.reply() == "421 4.7.0 Too many errors, closing"
    assert client.reply() == ""


@pytest.mark.parametrize(
    "first",
    [
        b"POST / HTTP/1.1\r\n",
        b"GET /?q HTTP/1.1\r\n",
        b"OPTIONS * HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n",
        b"POST /" + b"x" * 9000 + b" HTTP/1.1\r\n",
        b"NOOP\nPOST / HTTP/1.1\r\nPOST / HTTP/1.1\r\n",
    ],
)
def test_an_http_request_ends_the_connection_before_its_body_is_read(
    inbound_relay: RunningRelay, inbound_store: FakeInboundStore, first: bytes
) -> None:
    client = inbound_relay.client()
    body = b"EHLO page.test\r\nMAIL FROM:<>\r\nRCPT TO:<report@bounce.test>\r\nDATA\r\n"
    client.say(first + b"Host: localhost\r\n\r\n" + body + MESSAGE + b".\r\n")
    reply = client.reply()
    if first.startswith(b"NOOP"):
        assert reply.startswith("500 5.5.2")
        reply = client.reply()
    assert reply == "421 4.7.0 This is an SMTP server, not HTTP, closing"
    assert client.reply() == ""
    assert inbound_store.envelopes == []


def test_failed_logins_count_as_errors(start_submission: Callable[..., RunningRelay]) -> None:
    client = start_submission(require_tls=False, max_errors=3).client()
    assert [client.log_in("wrong")[:3] for _ in range(3)] == ["535"] * 3
    assert client.reply().startswith("421 ")


# Order and syntax.


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        (b"MAIL FROM:<a@example.test>", "503 5.5.1"),
        (b"RCPT TO:<b@x.test>", "503 5.5.1"),
        (b"DATA", "503 5.5.1"),
        (b"AUTH LOGIN", "503 5.5.1"),
        (b"EHLO", "501 5.5.4"),
        (b"HELO ", "501 5.5.4"),
        (b"QUIT now", "501 5.5.4"),
        (b"STARTTLS now", "501 5.5.4"),
        (b"RSET now", "501 5.5.4"),
        (b"EXPN list", "502 5.5.1"),
        (b"BDAT 0 LAST", "503 5.5.1"),
        (b"", "500 5.5.1"),
        (b"\xff\xfe", "500 5.5.2"),
        (b"HELO a\0b", "500 5.5.2"),
        (b"HELO a\rb", "500 5.5.2"),
        (b"NOOP " + b"x" * 506, "500 5.5.2"),
        (b"NOOP " + b"x" * 505, "250 2.0.0"),
        (b"noop whatever", "250 2.0.0"),
        (b"RSET", "250 2.0.0"),
        (b"HELP", "214 2.0.0"),
        (b"VRFY b@x.test", "252 2.1.5"),
        (b"HELO client.test", "250 relay.test"),
    ],
)
def test_a_command_out_of_place_or_form_is_answered(
    clear_relay: RunningRelay, command: bytes, reply: str
) -> None:
    client = clear_relay.client()
    assert client.ask(command + b"\r\n").startswith(reply)
    assert client.ask(b"NOOP\r\n") == "250 2.0.0 OK"


def test_messages_do_not_nest_and_keep_their_order(sender: Wire) -> None:
    sender.ask(b"MAIL FROM:<a@example.test>\r\n")
    assert sender.ask(b"MAIL FROM:<a@example.test>\r\n").startswith("503 ")
    assert sender.ask(b"DATA\r\n") == "503 5.5.1 No valid recipients"
    assert sender.ask(b"DATA now\r\n").startswith("501 ")


@pytest.mark.parametrize("recipient", [b"postmaster", b"b@localhost", b"b@[192.0.2.1]"])
def test_an_invalid_recipient_is_refused_alone(sender: Wire, recipient: bytes) -> None:
    sender.ask(b"MAIL FROM:<a@example.test>\r\n")
    assert sender.ask(b"RCPT TO:<%b>\r\n" % recipient) == "553 5.1.3 Address not valid"
    assert sender.ask(b"RCPT TO:<b@x.test>\r\n").startswith("250 ")


def test_no_login_within_a_message(clear_relay: RunningRelay) -> None:
    client = clear_relay.client()
    client.ask(b"EHLO client.test\r\n")
    client.ask(b"MAIL FROM:<a@example.test>\r\n")
    assert client.ask(b"AUTH LOGIN\r\n").startswith("503 ")


# Inbound.


def test_inbound_takes_reports_to_its_own_addresses_only(
    inbound_relay: RunningRelay, inbound_store: FakeInboundStore
) -> None:
    client = inbound_relay.client()
    assert capabilities(client.ask(b"EHLO mx.test\r\n")) == [
        "ENHANCEDSTATUSCODES",
        "8BITMIME",
        "CHUNKING",
        "PIPELINING",
        "SMTPUTF8",
        f"SIZE {20 * 1024 * 1024}",
    ]
    assert client.ask(b"MAIL FROM:<>\r\n").startswith("250 ")
    assert client.ask(b"RCPT TO:<someone@x.test>\r\n") == "550 5.7.1 Relaying denied"
    assert client.ask(b"RCPT TO:<report@bounce.test>\r\n").startswith("250 ")
    client.ask(b"DATA\r\n")
    assert client.ask(MESSAGE + b".\r\n") == "250 2.0.0 OK in-1"
    (envelope,) = inbound_store.envelopes
    assert (envelope.mail_from, envelope.recipients) == ("", ("report@bounce.test",))
    assert (envelope.peer_ip, envelope.helo, envelope.places) == ("127.0.0.1", "mx.test", (None,))
    assert inbound_store.messages == [MESSAGE]


def test_the_inbound_service_has_no_logins(inbound_relay: RunningRelay) -> None:
    client = inbound_relay.client()
    client.ask(b"EHLO mx.test\r\n")
    assert client.ask(b"AUTH LOGIN\r\n").startswith("502 ")
    assert client.ask(b"STARTTLS\r\n").startswith("454 ")
