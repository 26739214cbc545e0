"""A session is opened by greeting, EHLO, STARTTLS and AUTH, each of which can fail."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from chalicelib.delivery.outcome import Delivered, Retry
from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from chalicelib.delivery.transports.smtp_opening import (
    Credentials,
    SessionOptions,
    SessionRefused,
    TlsFailed,
    TlsMode,
    open_session,
    tls_context,
)
from chalicelib.delivery.transports.smtp_session import SessionFailed
from chalicelib.delivery.transports.smtp_wire import Timeouts
from tests.unit.core.certificates import Authority
from tests.unit.delivery.scripted_server import (
    HANG_UP,
    SILENCE,
    STANDARD,
    ScriptedServer,
    certificate,
)

PATIENT = Timeouts(5, 5, 5, 5, 5)
HURRIED = Timeouts(0.5, 0.3, 5, 5, 0.3)
TLS = (*STANDARD, "STARTTLS")
MESSAGE = OutboundMessage("a@example.com", "b@example.net", b"Subject: x\r\n\r\nx\r\n")


def options(
    tls: TlsMode = TlsMode.OPPORTUNISTIC,
    credentials: Credentials | None = None,
    verify: bool = False,
    timeouts: Timeouts = PATIENT,
) -> SessionOptions:
    return SessionOptions(tls, verify, credentials, timeouts)


def send(host: ScriptedServer, options_: SessionOptions) -> Delivered:
    session = open_session(host.address, "client.test", options_)
    outcome = session.send(MESSAGE, commit_at_once)
    session.close()
    assert isinstance(outcome, Delivered)
    return outcome


def failure(
    address: tuple[str, int], options_: SessionOptions, kind: type[SessionFailed] = SessionFailed
) -> Retry:
    with pytest.raises(kind) as excinfo:
        open_session(address, "client.test", options_)
    assert isinstance(excinfo.value.outcome, Retry)
    return excinfo.value.outcome


def test_a_session_greets_by_its_own_name_and_leaves_by_quit() -> None:
    with ScriptedServer() as host:
        outcome = send(host, options())
    assert outcome == Delivered(250, "2.0.0 taken", "127.0.0.1", None)
    commands = host.conversations[0].commands
    assert commands[0] == "EHLO client.test"
    assert commands[-1] == "QUIT"


def test_a_host_that_does_not_know_ehlo_is_greeted_by_helo() -> None:
    with ScriptedServer(answers={"EHLO": [b"502 what?\r\n"]}) as host:
        send(host, options())
    assert host.conversations[0].verbs()[:4] == ["EHLO", "HELO", "MAIL", "RCPT"]


def test_a_host_that_refuses_the_session_is_a_refusal() -> None:
    with ScriptedServer(answers={"CONNECT": [b"554 5.7.1 your IP is blacklisted\r\n"]}) as host:
        outcome = failure(host.address, options(), SessionRefused)
    assert outcome == Retry(554, "5.7.1 your IP is blacklisted", 51, "127.0.0.1", None)


@pytest.mark.parametrize(
    ("verb", "reply"),
    [("CONNECT", b"421 4.3.2 closed\r\n"), ("EHLO", b"450 4.7.1 later\r\n")],
)
def test_a_host_that_refuses_for_now_is_a_retry(verb: str, reply: bytes) -> None:
    with ScriptedServer(answers={verb: [reply]}) as host:
        outcome = failure(host.address, options(), SessionRefused)
    assert (outcome.code, outcome.bounce_class) == (int(reply[:3]), 70)


@pytest.mark.parametrize("verb", ["CONNECT", "EHLO"])
def test_a_host_that_says_nothing_is_a_timeout(verb: str) -> None:
    with ScriptedServer(answers={verb: [SILENCE]}) as host:
        outcome = failure(host.address, options(timeouts=HURRIED))
    assert (outcome.code, outcome.bounce_class) == (421, 24)
    assert outcome.reply.startswith("4.4.2 [internal]")
    assert outcome.ip_address == "127.0.0.1"


@pytest.mark.parametrize("verb", ["CONNECT", "EHLO"])
@pytest.mark.parametrize("answer", [HANG_UP, b"hello there\r\n", b"220-x\r\n" * 200])
def test_a_host_that_talks_nonsense_is_a_soft_bounce(verb: str, answer: bytes | str) -> None:
    with ScriptedServer(answers={verb: [answer]}) as host:
        outcome = failure(host.address, options())
    assert (outcome.code, outcome.bounce_class) == (421, 20)


def test_a_refused_connection_is_a_soft_bounce() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    outcome = failure(address, options())
    assert (outcome.code, outcome.bounce_class, outcome.ip_address) == (421, 20, None)
    assert outcome.reply.startswith("4.4.1 [internal] 127.0.0.1")


def test_a_connection_that_takes_too_long_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> socket.socket:
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", slow)
    outcome = failure(("192.0.2.1", 25), options())
    assert (outcome.code, outcome.bounce_class) == (421, 24)


def test_a_host_name_that_does_not_exist_is_a_dns_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> socket.socket:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    outcome = failure(("host.invalid", 25), options())
    assert (outcome.code, outcome.bounce_class) == (451, 21)


def test_a_message_leaves_from_its_source_address() -> None:
    with ScriptedServer() as host:
        session = open_session(host.address, "client.test", options(), source_address="127.0.0.2")
        session.close()
    assert host.conversations[0].client == "127.0.0.2"


def test_an_ipv6_host_is_reached_from_an_ipv6_address() -> None:
    try:
        host = ScriptedServer(host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    with host:
        session = open_session(host.address, "client.test", options(), source_address="::1")
        outcome = session.send(MESSAGE, commit_at_once)
        session.close()
    assert outcome.ip_address == "::1"


def test_a_source_address_that_is_not_ours_is_a_soft_bounce() -> None:
    with ScriptedServer() as host, pytest.raises(SessionFailed) as excinfo:
        open_session(host.address, "client.test", options(), source_address="192.0.2.1")
    assert excinfo.value.outcome.bounce_class == 20


@pytest.mark.parametrize("mode", [TlsMode.OPPORTUNISTIC, TlsMode.REQUIRED])
def test_a_connection_is_encrypted_where_that_is_offered(mode: TlsMode) -> None:
    with ScriptedServer(extensions=TLS, tls=certificate()[0]) as host:
        outcome = send(host, options(mode))
    conversation = host.conversations[0]
    assert outcome.tls == "TLSv1.3"
    assert conversation.encrypted
    assert conversation.verbs()[:4] == ["EHLO", "STARTTLS", "EHLO", "MAIL"]


def test_tls_can_be_switched_off() -> None:
    with ScriptedServer(extensions=TLS, tls=certificate()[0]) as host:
        assert send(host, options(TlsMode.OFF)).tls is None
    assert not host.conversations[0].encrypted


def test_opportunistic_tls_does_without_where_none_is_offered() -> None:
    with ScriptedServer() as host:
        assert send(host, options()).tls is None


@pytest.mark.parametrize(
    "answer", [b"454 4.7.0 no TLS today\r\n", b"220 ready\r\n220 smuggled\r\n", HANG_UP, SILENCE]
)
def test_opportunistic_tls_falls_back_to_a_connection_in_the_clear(answer: bytes | str) -> None:
    with ScriptedServer(
        extensions=TLS, tls=certificate()[0], answers={"STARTTLS": [answer]}
    ) as host:
        outcome = send(host, options(timeouts=HURRIED if answer == SILENCE else PATIENT))
    assert outcome.tls is None
    assert len(host.conversations) == 2
    assert host.conversations[0].verbs()[:2] == ["EHLO", "STARTTLS"]
    assert host.conversations[1].verbs()[:2] == ["EHLO", "MAIL"]


@pytest.mark.parametrize(
    "answer", [b"454 4.7.0 no TLS today\r\n", b"220 ready\r\n220 smuggled\r\n", HANG_UP, SILENCE]
)
def test_required_tls_that_fails_is_a_retry_and_sends_nothing(answer: bytes | str) -> None:
    required = options(TlsMode.REQUIRED, timeouts=HURRIED if answer == SILENCE else PATIENT)
    with ScriptedServer(
        extensions=TLS, tls=certificate()[0], answers={"STARTTLS": [answer]}
    ) as host:
        outcome = failure(host.address, required, TlsFailed)
    assert (outcome.code, outcome.bounce_class) == (454, 20)
    assert len(host.conversations) == 1
    assert "MAIL" not in host.conversations[0].verbs()


def test_required_tls_that_is_not_offered_is_a_retry_and_sends_nothing() -> None:
    with ScriptedServer() as host:
        outcome = failure(host.address, options(TlsMode.REQUIRED), TlsFailed)
    assert outcome.reply == "4.7.5 [internal] no TLS: the remote host does not offer STARTTLS"
    assert host.conversations[0].verbs() == ["EHLO"]


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    path = tmp_path / "authorities.pem"
    path.write_bytes(certificate()[1])
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    tls_context.cache_clear()
    yield
    tls_context.cache_clear()


@pytest.mark.usefixtures("trusted")
def test_a_certificate_of_a_trusted_authority_is_accepted() -> None:
    with ScriptedServer(extensions=TLS, tls=certificate()[0]) as host:
        assert send(host, options(TlsMode.REQUIRED, verify=True)).tls == "TLSv1.3"


@pytest.mark.usefixtures("trusted")
def test_a_certificate_for_another_name_is_refused() -> None:
    with (
        ScriptedServer(extensions=TLS, tls=certificate()[0]) as host,
        pytest.raises(TlsFailed, match="certificate"),
    ):
        open_session(
            host.address,
            "client.test",
            options(TlsMode.REQUIRED, verify=True),
            host_name="other.test",
        )


@pytest.mark.parametrize("has_alternative_name", [True, False])
def test_a_certificate_names_the_host_by_an_alternative_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_alternative_name: bool
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    context = authority.server("mx.test", has_alternative_name=has_alternative_name)
    required = options(TlsMode.REQUIRED, verify=True)
    refusal = pytest.raises(TlsFailed, match="certificate")
    tls_context.cache_clear()
    try:
        with (
            ScriptedServer(extensions=TLS, tls=context) as host,
            nullcontext() if has_alternative_name else refusal,
        ):
            open_session(host.address, "client.test", required, host_name="mx.test").close()
    finally:
        tls_context.cache_clear()


def test_a_self_signed_certificate_is_refused_when_verified() -> None:
    with ScriptedServer(extensions=TLS, tls=certificate()[0]) as host:
        outcome = failure(host.address, options(TlsMode.REQUIRED, verify=True), TlsFailed)
    assert "certificate" in outcome.reply.lower()


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
def test_a_session_authenticates_under_tls(mechanism: str) -> None:
    with ScriptedServer(
        extensions=(*TLS, f"AUTH X-ODD {mechanism}"),
        tls=certificate()[0],
        login=("user", "p\u00e4ss"),
    ) as host:
        send(host, options(credentials=Credentials("user", "p\u00e4ss")))
    assert host.conversations[0].verbs()[:4] == ["EHLO", "STARTTLS", "EHLO", "AUTH"]


def test_plain_is_preferred_to_login() -> None:
    with ScriptedServer(extensions=(*STANDARD, "AUTH LOGIN PLAIN"), login=("u", "p")) as host:
        send(host, options(TlsMode.OFF, Credentials("u", "p")))
    assert host.conversations[0].commands[1].startswith("AUTH PLAIN ")


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
def test_a_wrong_password_is_a_retry(mechanism: str) -> None:
    with ScriptedServer(extensions=(*STANDARD, f"AUTH {mechanism}"), login=("u", "p")) as host:
        outcome = failure(host.address, options(TlsMode.OFF, Credentials("u", "x")))
    assert (outcome.code, outcome.reply) == (535, "5.7.8 who are you")


def test_a_host_without_a_known_mechanism_is_a_retry() -> None:
    with ScriptedServer(extensions=(*STANDARD, "AUTH X-ODD")) as host:
        outcome = failure(host.address, options(TlsMode.OFF, Credentials("u", "p")))
    assert outcome.code == 454


@pytest.mark.parametrize("extensions", [(*STANDARD, "AUTH PLAIN"), (*TLS, "AUTH PLAIN")])
def test_a_password_is_not_sent_in_the_clear_by_default(extensions: tuple[str, ...]) -> None:
    with ScriptedServer(
        extensions=extensions, answers={"STARTTLS": [b"454 4.7.0 no\r\n"] * 2}, login=("u", "p")
    ) as host:
        failure(host.address, options(credentials=Credentials("u", "p")), TlsFailed)
    assert len(host.conversations) == 1
    assert "AUTH" not in host.conversations[0].verbs()
