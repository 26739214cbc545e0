"""Acceptance of a finished message over SMTP."""

from __future__ import annotations

import pytest

from chalicelib.accounts import usage
from chalicelib.core import clock, queues
from chalicelib.core.errors import ServiceError
from chalicelib.generation import chunk
from chalicelib.generation.chunk import Chunk
from chalicelib.sending_domains import store as domains
from chalicelib.transmissions import store
from chalicelib.transmissions.accept_smtp import accept_message, check_recipient
from tests.fake_cloud import aws_requests, queued
from tests.unit.people import limit, make_account, make_subaccount
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import CREATED, OPTIONS

PEER = "192.0.2.9"
MESSAGE = b"From: Ann <a@mail.example.test>\r\nSubject: {{x}}\r\n\r\n{{not a template}}\r\n"


@pytest.fixture(autouse=True)
def _with_a_domain(cloud: None) -> None:
    make_account()
    domains.create(domain())


def send(message: bytes = MESSAGE, *to: str, sub: int | None = None, peer: str = PEER) -> str:
    with clock.use(lambda: CREATED / 1000):
        return accept_message(1, sub, to or ("R@example.test",), message, peer)


def only_chunk() -> Chunk:
    (found,) = [chunk.from_received(queues.read(each)) for each in queued("generation")]
    return found


def refusal(message: bytes) -> tuple[int, str]:
    with pytest.raises(ServiceError) as refused:
        send(message)
    assert queued("generation") == []
    return refused.value.status, refused.value.errors[0]["code"]


def test_a_message_is_queued_as_it_is_behind_its_trace() -> None:
    name = send()
    found = only_chunk()
    sent = found.transmission
    assert (sent.id, sent.account_id, sent.recv_method) == (name, 1, "esmtp")
    assert sent.created_ms == CREATED
    assert (sent.resolved, sent.substitute, sent.content) == (True, False, {})
    assert (
        sent.raw
        == (
            f"Received: from [{PEER}] by localhost (Postfinch)\r\n"
            f" with ESMTPSA id {name}; Sat, 31 Jan 2026 09:00:00 +0000\r\n"
        ).encode()
        + MESSAGE
    )
    assert found.recipients == [{"email": "R@example.test"}]
    assert sent.options == OPTIONS | {"open_tracking": False, "click_tracking": False} | {
        "initial_open": False
    }


@pytest.mark.parametrize(
    "sender",
    [
        b"=?utf-8?q?Doe=2C_Ann?= <a@mail.example.test>",
        b'"Doe, Ann" <a@mail.example.test>',
        b"a@mail.example.test (Doe, Ann)",
        "Zoë <a@mail.example.test>".encode(),
        b"\r\n a@mail.example.test",
    ],
)
def test_a_from_may_have_any_name(sender: bytes) -> None:
    send(b"From: " + sender + b"\r\n\r\nx")
    assert sender in only_chunk().transmission.raw


def test_an_ipv6_peer_is_an_address_literal() -> None:
    send(peer="2001:db8::1")
    assert b"from [IPv6:2001:db8::1] by" in only_chunk().transmission.raw


def test_each_recipient_of_the_envelope_counts_and_gets_it() -> None:
    send(MESSAGE, "a@x.test", "b@x.test", "a@x.test")
    assert [one["email"] for one in only_chunk().recipients] == ["a@x.test", "b@x.test", "a@x.test"]
    with clock.use(lambda: CREATED / 1000):
        assert usage.used(1)[0].day == 3


def test_the_options_are_those_of_the_account_for_smtp() -> None:
    make_account(2, options={"smtp_tracking_default": True, "transactional_default": True})
    domains.create(domain("two.test", account=2))
    accept_message(2, None, ["r@example.test"], b"From: a@two.test\r\n\r\nx", PEER)
    assert only_chunk().transmission.options == OPTIONS | {"transactional": True}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"no header\r\n\r\nx", (422, "1300")),
        (b"Subject: x\r\n\r\nx", (400, "7001")),
        (b"From: nobody\r\n\r\nx", (400, "7001")),
        (b"From: a@elsewhere.test\r\n\r\nx", (400, "7001")),
        (b"From: a@mail.example.test, b@c.test\r\n\r\nx", (400, "7001")),
        (b"From: a@mail.example.test\r\nFrom: b@c.test\r\n\r\nx", (400, "7001")),
    ],
)
def test_what_is_refused_leaves_nothing_behind(message: bytes, expected: tuple[int, str]) -> None:
    assert refusal(message) == expected
    assert list(store.in_account(1)) == []


@pytest.mark.spec("5-r7")
def test_a_subaccount_sends_from_its_own_domain() -> None:
    number = make_subaccount().id
    domains.create(domain("sub.test", subaccount_id=number))
    with pytest.raises(ServiceError, match="Unconfigured"):
        send(sub=number)
    send(MESSAGE.replace(b"mail.example.test", b"sub.test"), sub=number)
    assert only_chunk().transmission.subaccount_id == number


def test_a_limit_refuses_the_whole_message() -> None:
    limit(daily=2)
    with pytest.raises(ServiceError) as refused:
        send(MESSAGE, "a@x.test", "b@x.test", "c@x.test")
    assert refused.value.status == 420
    assert queued("generation") == []


def test_a_message_costs_three_requests() -> None:
    queues.send("generation", [queues.Work({})])  # finds the queue's address
    with aws_requests() as made:
        send()
    assert [each.operation for each in made] == [
        "BatchGetItem",
        "TransactWriteItems",
        "SendMessage",
    ]


@pytest.mark.parametrize("address", ["a@b.test", "é@b.test", '"a b"@b.test', "A@B.TEST"])
def test_an_address_may_be_a_recipient(address: str) -> None:
    check_recipient(address)


@pytest.mark.parametrize("address", ["", "a", "a@b", "a@[192.0.2.1]", "a b@c.test", "x" * 9000])
def test_what_is_no_address_may_not(address: str) -> None:
    with pytest.raises(ServiceError) as refused:
        check_recipient(address)
    assert (refused.value.status, refused.value.errors[0]["code"]) == (422, "1300")
    assert len(str(refused.value)) < 400
