"""With CATCH=send, mail from any domain goes through the service as if sent with the key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.api_keys import model
from chalicelib.core import clock
from chalicelib.sending_domains import store
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from infrastructure.local.catching import from_domains
from infrastructure.local.catching.gate import Gate
from infrastructure.local.catching.sending import CatchLogin, Sending, most_octets, sending
from infrastructure.local.mailbox.login_field import take_login
from relay.backend import Identity, SubmittedEnvelope
from relay.errors import LoginRefused, SmtpRefusal
from relay.login import Login
from relay.submission import ApiKeyAuthenticator
from tests.fake_cloud import aws_requests, queued_work
from tests.unit.people import make_account, make_domain, make_key, make_subaccount

PEER = "127.0.0.1"


@pytest.fixture(autouse=True)
def _account(cloud: None) -> None:
    make_account()


@pytest.fixture
def service() -> Sending:
    return sending(Gate(), make_key().key)


async def call(blocking: Callable[..., Any], *arguments: Any) -> Any:
    """Run a blocking call at once."""
    return blocking(*arguments)


def log_in(service: Sending, username: str) -> CatchLogin:
    return asyncio.run(service.log_in(call, Login(username, "any"), PEER))


def send(
    service: Sending, author: str = "shop@app.example", login: CatchLogin | None = None
) -> str:
    message = f"From: {author}\r\nTo: you@inbox.test\r\nSubject: s\r\n\r\nHello\r\n".encode()
    return asyncio.run(service.accept(call, login, enveloped(message)))


def enveloped(message: bytes, recipient: str = "you@inbox.test") -> SubmittedEnvelope:
    return SubmittedEnvelope("root", (recipient,), message, PEER, smtp_utf8=True)


class KeptMessages:
    """Accepts messages for nobody, and keeps them."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def accept(self, identity: Identity, envelope: SubmittedEnvelope) -> str:
        """Keep the message; return an id."""
        self.messages.append(envelope.data[:])
        return "id"


def test_mail_from_any_domain_is_sent_for_the_primary_account_without_a_login(
    service: Sending,
) -> None:
    transmission_id = send(service)
    (work,) = queued_work()
    assert transmission_id in work
    domain = store.get("app.example")
    assert domain is not None
    assert (domain.account_id, domain.subaccount_id) == (1, None)
    assert domain.may_send
    assert domain.signing_key is not None
    assert domain.shared_with_subaccounts


@pytest.mark.parametrize(
    "author", ["Jörg <jörg@bücher.example>", "me@gmail.com", '"a, b" <x@Deep.Sub.App.example>']
)
def test_authors_at_other_hosts_domains_need_no_verification(service: Sending, author: str) -> None:
    send(service, author)
    assert len(queued_work()) == 1


@pytest.mark.cost
def test_a_domain_that_is_there_costs_no_request(service: Sending) -> None:
    login = log_in(service, "x")
    send(service)
    with aws_requests() as first:
        from_domains.provide("app.example", login.identity)
    assert [request.operation for request in first] == []


def test_an_unverified_domain_is_verified_and_a_blocked_one_refused(service: Sending) -> None:
    for name, status in (("mine.example", "valid"), ("blocked.example", "blocked")):
        compliance = DomainStatus(compliance_status=status)
        assert store.create(SendingDomain(name, 1, created=clock.now(), status=compliance))
    send(service, "a@mine.example")
    assert len(queued_work()) == 1
    with pytest.raises(SmtpRefusal, match="Blocked Sending Domain"):
        send(service, "a@blocked.example")


def test_another_accounts_domain_is_left_alone(service: Sending) -> None:
    make_account(2)
    make_domain("theirs.example", 2)
    before = store.get("theirs.example")
    for author in ("a@theirs.example", "a@sub.theirs.example"):
        with pytest.raises(SmtpRefusal, match="Unconfigured Sending Domain"):
            send(service, author)
    assert store.get("theirs.example") == before


@pytest.mark.parametrize("author", ["nobody", "a@b.example, c@d.example", ""])
def test_a_message_without_a_single_author_is_refused_as_the_relay_does(
    service: Sending, author: str
) -> None:
    with pytest.raises(SmtpRefusal) as refusal:
        send(service, author)
    assert refusal.value.reply.code == 550
    assert queued_work() == []


def test_a_login_name_of_the_relay_names_a_subaccount_and_any_other_the_account(
    service: Sending,
) -> None:
    number = make_subaccount().id
    assert log_in(service, "root").identity.subaccount_id is None
    assert log_in(service, "SMTP_Injection").identity.subaccount_id is None
    login = log_in(service, f"SMTP_Injection:X-MSYS-SUBACCOUNT={number}")
    assert login.identity.subaccount_id == number
    for unknown in ("SMTP_Injection:X-MSYS-SUBACCOUNT=77", "SMTP_Injection:X-OTHER=1"):
        with pytest.raises(LoginRefused):
            log_in(service, unknown)
    send(service)
    send(service, "a@other.example", login)
    send(service, "a@app.example", login)


def test_a_message_carries_the_name_of_its_login_and_no_other() -> None:
    acceptor = KeptMessages()
    service = Sending(Gate(), make_key().key, ApiKeyAuthenticator(), acceptor)
    own = b"From: a@app.example\r\nX-Postfinch-Login: other\r\n\r\nHello\r\n"
    for name in ("jürgen/1", "x" * 3000):
        asyncio.run(service.accept(call, log_in(service, name), enveloped(own)))
        carrying = acceptor.messages.pop()
        assert max(map(len, carrying.split(b"\r\n"))) < 998
        assert take_login(carrying) == (name, b"From: a@app.example\r\n\r\nHello\r\n")
    asyncio.run(service.accept(call, None, enveloped(b"From: a@app.example\r\n\r\n")))
    assert acceptor.messages == [b"From: a@app.example\r\n\r\n"]


def test_a_message_that_comes_another_way_is_sent_in_the_same_way(service: Sending) -> None:
    number = make_subaccount().id
    message = b"From: a@app.example\r\nTo: you@inbox.test\r\nSubject: s\r\n\r\nHello\r\n"
    transmission_id = service.send(f"SMTP_Injection:X-MSYS-SUBACCOUNT={number}", enveloped(message))
    (work,) = queued_work()
    assert transmission_id in work
    with pytest.raises(SmtpRefusal, match="553"):
        service.send("", enveloped(message, "you"))


def test_a_domain_of_the_account_is_shared_with_a_subaccount_that_sends_from_it(
    service: Sending,
) -> None:
    make_domain("mine.example")
    number = make_subaccount().id
    send(service, "a@mine.example", log_in(service, f"SMTP_Injection:X-SVC-SUBACCOUNT={number}"))
    domain = store.get("mine.example")
    assert domain is not None
    assert domain.shared_with_subaccounts


def test_a_key_that_is_gone_sends_nothing(service: Sending) -> None:
    with pytest.raises(LoginRefused):
        send(sending(Gate(), "unknown"))
    login = log_in(service, "x")
    identity = replace(login.identity, key_id=model.key_id("unknown"))
    with pytest.raises(SmtpRefusal, match="530"):
        send(service, login=replace(login, identity=identity))


def test_what_is_no_address_is_refused_as_the_relay_does(service: Sending) -> None:
    asyncio.run(service.check_recipient(call, None, "you@inbox.test"))
    with pytest.raises(SmtpRefusal, match="553"):
        asyncio.run(service.check_recipient(call, None, "you"))


def test_a_message_may_be_as_large_as_one_that_is_sent() -> None:
    assert most_octets() == 20 * 1024 * 1024
