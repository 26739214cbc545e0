"""Messages are sent by the server of a URL, under the encryption that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.releasing.relay_host import HostFailed, RelayHost
from tests.unit.delivery.scripted_server import Answers, ScriptedServer, certificate

MESSAGE = b"Subject: x\r\n\r\n.hello\r\n"


def host_of(server: ScriptedServer, scheme: str = "smtp") -> RelayHost:
    return RelayHost(scheme, server.host, server.port)


def test_a_message_is_sent_as_it_is() -> None:
    with ScriptedServer() as server:
        refusals = host_of(server).send("s@a.test", ["x@b.test", "y@b.test"], MESSAGE)
    assert refusals == {}
    assert server.contents == [b"Subject: x\r\n\r\n..hello\r\n"]
    commands = server.conversations[0].commands
    assert "mail FROM:<s@a.test>" in [each.split(" size")[0] for each in commands]
    assert not server.conversations[0].encrypted


def test_a_message_cannot_end_before_its_end() -> None:
    message = b"Subject: x\r\n\r\na\r.\rMAIL FROM:<b@a.test>\r\nb\n.\r\nc"
    with ScriptedServer() as server:
        host_of(server).send("s@a.test", ["x@b.test"], message)
    body = b"a\r\n..\r\nMAIL FROM:<b@a.test>\r\nb\r\n..\r\nc\r\n"
    assert server.contents == [b"Subject: x\r\n\r\n" + body]


@pytest.mark.parametrize("scheme", ["smtp+starttls", "smtps"])
def test_a_certificate_that_nobody_trusts_is_refused(scheme: str) -> None:
    context, _ = certificate()
    with ScriptedServer(tls=context, extensions=("STARTTLS",)) as server:
        failed = pytest.raises(HostFailed)
        if scheme == "smtps":  # the server begins in the clear
            with failed:
                host_of(server, scheme).send("s@a.test", ["x@b.test"], MESSAGE)
        else:
            with pytest.raises(HostFailed, match="certificate"):
                host_of(server, scheme).send("s@a.test", ["x@b.test"], MESSAGE)
    assert server.contents == []


def test_starttls_is_used_before_the_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    context, authority = certificate()
    (tmp_path / "ca.pem").write_bytes(authority)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    login = ("ann", "secret-word")
    with ScriptedServer(tls=context, login=login, extensions=("STARTTLS", "AUTH PLAIN")) as server:
        host = RelayHost("smtp+starttls", server.host, server.port, *login)
        host.send("s@a.test", ["x@b.test"], MESSAGE)
    (conversation,) = server.conversations
    assert conversation.encrypted
    assert conversation.verbs().index("STARTTLS") < conversation.verbs().index("AUTH")
    assert len(server.contents) == 1


def test_without_starttls_nothing_is_sent() -> None:
    with ScriptedServer() as server, pytest.raises(HostFailed, match="STARTTLS"):
        host_of(server, "smtp+starttls").send("s@a.test", ["x@b.test"], MESSAGE)
    assert "MAIL" not in server.conversations[0].verbs()


def test_a_wrong_password_is_no_final_refusal() -> None:
    with ScriptedServer(login=("ann", "right"), extensions=("AUTH PLAIN",)) as server:
        host = RelayHost("smtp", server.host, server.port, "ann", "wrong")
        with pytest.raises(HostFailed) as error:
            host.send("s@a.test", ["x@b.test"], MESSAGE)
    assert not error.value.is_final
    assert "wrong" not in str(error.value)


def test_recipients_that_are_refused_are_told() -> None:
    answers: Answers = {"RCPT": [b"250 2.1.5 ok\r\n", b"550 5.1.1 no such user\r\n"]}
    with ScriptedServer(answers=answers) as server:
        refusals = host_of(server).send("s@a.test", ["x@b.test", "y@b.test"], MESSAGE)
    assert refusals == {"y@b.test": "550 5.1.1 no such user"}
    assert len(server.contents) == 1


@pytest.mark.parametrize(
    ("answers", "is_final", "problem"),
    [
        ({"MAIL": [b"550 5.7.1 not you\r\n"]}, True, "not you"),
        ({"MAIL": [b"451 4.7.1 later\r\n"]}, False, "later"),
        ({"RCPT": [b"550 5.1.1 nobody\r\n"]}, True, "x@b.test: 550 5.1.1 nobody"),
        ({"RCPT": [b"450 4.2.1 later\r\n"]}, False, "later"),
        ({".": [b"554 5.6.0 no\r\n"]}, True, "no"),
        ({".": ["hang up"]}, False, "did not take"),
        ({"CONNECT": [b"421 4.3.2 closing\r\n"]}, False, "closing"),
    ],
)
def test_a_refusal_says_whether_it_is_final(
    answers: Answers, problem: str, *, is_final: bool
) -> None:
    with ScriptedServer(answers=answers) as server, pytest.raises(HostFailed) as error:
        host_of(server).send("s@a.test", ["x@b.test"], MESSAGE)
    assert error.value.is_final is is_final
    assert problem in str(error.value)


def test_a_server_that_is_not_there_is_no_final_refusal() -> None:
    with ScriptedServer() as server:
        host = host_of(server)
    with pytest.raises(HostFailed, match="did not take") as error:
        host.send("s@a.test", ["x@b.test"], MESSAGE)
    assert not error.value.is_final


@pytest.mark.parametrize("address", ["a@b.test>\r\nDATA", "a b@b.test", "<a@b.test>"])
def test_an_address_cannot_break_out_of_its_command(address: str) -> None:
    with ScriptedServer() as server:
        for sender, recipient in ((address, "x@b.test"), ("x@b.test", address)):
            with pytest.raises(HostFailed, match="no address"):
                host_of(server).send(sender, [recipient], MESSAGE)
    assert server.conversations == []


def test_what_is_beyond_ascii_is_declared() -> None:
    with ScriptedServer() as server:
        host_of(server).send("s@a.test", ["jürgen@b.test"], "Subject: ü\r\n\r\nü\r\n".encode())
    mail = next(each for each in server.conversations[0].commands if each.startswith("mail"))
    assert "BODY=8BITMIME" in mail
    assert "SMTPUTF8" in mail
    with ScriptedServer(extensions=()) as server, pytest.raises(HostFailed, match="SMTPUTF8"):
        host_of(server).send("s@a.test", ["jürgen@b.test"], MESSAGE)
