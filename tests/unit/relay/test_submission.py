"""API keys log in to the relay, and refusals become SMTP replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from botocore.exceptions import EndpointConnectionError

from chalicelib.accounts.store import accounts, usage
from chalicelib.api_keys import model, store
from chalicelib.core import queues
from chalicelib.core.settings import settings
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.subaccounts import store as subaccounts
from relay.backend import Identity, SubmittedEnvelope
from relay.errors import LoginRefused, SmtpRefusal
from relay.submission import ApiKeyAuthenticator, TransmissionAcceptor
from tests.client_calls import observed_calls
from tests.fake_cloud import aws_requests, queued_work
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import limit, make_account, make_domain, make_key, make_subaccount

PEER = "192.0.2.1"
MESSAGE = b"From: me@example.test\r\nTo: you@inbox.test\r\nSubject: s\r\n\r\nHello\r\n"


@pytest.fixture(autouse=True)
def _account(cloud: None) -> None:
    make_account()
    make_domain("example.test", shared_with_subaccounts=True)


def log_in(key: str, subaccount: int | None = None, peer: str = PEER) -> Identity:
    return ApiKeyAuthenticator().authenticate(key, subaccount, peer)


def send(identity: Identity, *recipients: str, message: bytes = MESSAGE) -> str:
    envelope = SubmittedEnvelope(
        "me@example.test", recipients or ("you@inbox.test",), message, PEER, smtp_utf8=False
    )
    return TransmissionAcceptor().accept(identity, envelope)


def reply_of(identity: Identity, *recipients: str, message: bytes = MESSAGE) -> str:
    with pytest.raises(SmtpRefusal) as excinfo:
        send(identity, *recipients, message=message)
    assert queued_work() == []
    return str(excinfo.value)


@pytest.mark.spec("5-r7")
def test_a_key_logs_in_for_its_account_or_a_subaccount() -> None:
    key, number = make_key().key, make_subaccount().id
    assert log_in(key) == Identity(1, None, model.key_id(key))
    assert log_in(key, number) == Identity(1, number, model.key_id(key))
    own = make_key(subaccount=number).key
    assert log_in(own) == log_in(own, number) == Identity(1, number, model.key_id(own))


@pytest.mark.spec("5-r4")
@pytest.mark.parametrize(
    ("grants", "valid_ips", "subaccount", "text"),
    [
        ({"transmissions/modify"}, [], None, "does not have the grant"),
        ({"smtp/inject"}, ["198.51.100.1"], None, "may not be used from this address"),
        ({"smtp/inject"}, [], 77, "subaccount 77 does not exist"),
    ],
)
def test_the_refusal_of_a_known_key_has_a_reason(
    grants: set[str], valid_ips: list[str], subaccount: int | None, text: str
) -> None:
    key = make_key(grants=grants, valid_ips=valid_ips).key
    with pytest.raises(LoginRefused) as excinfo:
        log_in(key, subaccount)
    assert (excinfo.value.reply.code, excinfo.value.reply.enhanced) == (535, "5.7.8")
    assert text in excinfo.value.reply.text


@pytest.mark.spec("5-r7")
@pytest.mark.parametrize("other", [0, 77])
def test_a_subaccounts_key_cannot_log_in_for_another_part_of_the_account(other: int) -> None:
    number = make_subaccount().id
    with pytest.raises(LoginRefused) as excinfo:
        log_in(make_key(subaccount=number).key, other)
    text = f"535 5.7.8 the API key can act for subaccount {number} only"
    assert str(excinfo.value) == text


def test_the_refusal_of_an_unknown_key_has_no_reason() -> None:
    with pytest.raises(LoginRefused) as excinfo:
        log_in("wrong")
    assert str(excinfo.value) == "535 5.7.8 Authentication failed"


def test_a_message_is_counted_and_queued() -> None:
    limit(monthly=10**9)
    send(log_in(make_key().key), "a@inbox.test", "b@inbox.test")
    assert len(queued_work()) == 1
    assert usage.get(1)[0].day == 2


@pytest.mark.cost
def test_a_message_costs_four_requests_when_nothing_is_cached() -> None:
    from chalicelib.core import config_cache

    queues.send("small-sends", [queues.Work({})])  # finds the queue's address
    identity = log_in(make_key().key)
    config_cache.clear_cache()
    with aws_requests() as requests:
        send(identity)
    assert [request.operation for request in requests] == [
        "GetItem",
        "BatchGetItem",
        "PutItem",
        "SendMessage",
    ]


@pytest.mark.spec("3-t7")
@pytest.mark.parametrize("status", ["suspended", "terminated"])
def test_a_subaccount_that_is_not_active_cannot_send(status: str) -> None:
    number = make_subaccount().id
    identities = [log_in(make_key().key, number), log_in(make_key(subaccount=number).key)]
    subaccounts.change(1, number, lambda before: replace(before, status=status))
    for identity in identities:
        text = f"550 5.7.1 subaccount {number} is {status} and cannot send"
        assert reply_of(identity) == text
    send(log_in(make_key().key))


@pytest.mark.spec("3-t22")
@pytest.mark.parametrize("status", ["suspended", "terminated"])
def test_an_account_that_is_not_active_cannot_send(status: str) -> None:
    identity = log_in(make_key().key)
    accounts.change(1, lambda account: replace(account, status=status))
    assert reply_of(identity) == f"550 5.7.1 the account is {status} and cannot send"


@pytest.mark.spec("7-t9")
def test_a_message_over_a_limit_is_deferred() -> None:
    limit(daily=2)
    identity = log_in(make_key().key)
    send(identity)
    queued_work()
    text = reply_of(identity, "a@inbox.test", "b@inbox.test")
    assert text == "451 4.7.1 1 of 2 recipients of the daily limit are used"
    assert usage.get(1)[0].day == 1


@pytest.fixture
def time() -> Iterator[Clock]:
    with moving_clock(2_000_000_000.0) as moving:
        yield moving


def test_a_key_that_is_revoked_stops_a_connection_that_is_open(time: Clock) -> None:
    key = make_key().key
    identity = log_in(key)
    api_key = store.get(identity.key_id)
    assert api_key is not None
    store._config.delete(*store.key_of(api_key.key_id))
    send(identity)  # trusted for a while
    queued_work()
    time.now += settings().key_cache_seconds
    assert reply_of(identity) == "530 5.7.0 The API key is not valid any more"


def test_a_key_ends_for_an_open_connection_and_for_logins_at_the_same_moment(time: Clock) -> None:
    key = make_key().key
    identity = log_in(key)
    api_key = store.get(identity.key_id)
    assert api_key is not None
    store.change(api_key, {"expires_ms": int(time.now * 1000) + 2000})
    time.now += 1.9
    send(identity)
    queued_work()
    log_in(key)
    time.now += 0.1
    assert reply_of(identity) == "530 5.7.0 The API key is not valid any more"
    with pytest.raises(LoginRefused):
        log_in(key)


def test_a_key_that_loses_the_grant_stops_a_connection_that_is_open() -> None:
    identity = log_in(make_key().key)
    api_key = store.get(identity.key_id)
    assert api_key is not None
    store.change(api_key, {"grants": ["metrics/view"]})
    assert reply_of(identity).startswith("550 5.7.1 the API key does not have the grant")


@pytest.mark.spec("5-r7")
def test_a_domain_must_be_the_senders() -> None:
    make_domain("north.test", subaccount=make_subaccount().id)
    of_north = MESSAGE.replace(b"example.test", b"north.test")
    assert send(log_in(make_key().key, 1), message=of_north)
    queued_work()
    text = reply_of(log_in(make_key().key), message=of_north)
    assert text == "550 5.7.1 Unconfigured Sending Domain <north.test>"


def test_a_malformed_message_is_refused_for_good() -> None:
    text = reply_of(log_in(make_key().key), message=b"no header\r\n\r\n")
    assert text.startswith("550 5.6.0 ")


def test_a_message_that_its_encoding_makes_too_large_is_refused_as_too_big(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long_line = MESSAGE + b"=" * 4000 + b"\r\n"
    monkeypatch.setenv("MAX_MESSAGE_BYTES", str(len(long_line)))
    settings.cache_clear()
    text = reply_of(log_in(make_key().key), message=long_line)
    assert text.startswith("552 5.3.4 the message has ")
    monkeypatch.undo()
    settings.cache_clear()


# The API header.


def with_header(**options: Any) -> bytes:
    return f"X-SVC-API: {json.dumps(options)}\r\n".encode() + MESSAGE


def only_chunk() -> Chunk:
    (chunk,) = [read_chunk(queues.read(each)) for each in queued_work()]
    return chunk


def test_a_message_gets_the_options_of_its_header() -> None:
    message = with_header(
        campaign_id="spring",
        metadata={"order": 7},
        tags=["x"],
        cc=["c@inbox.test"],
        bcc=[{"email": "b@inbox.test"}],
        archive=["z@inbox.test"],
        options={"open_tracking": True, "transactional": True, "inline_css": True},
        substitution_data={"ignored": True},
    )
    send(log_in(make_key().key), message=message)
    chunk = only_chunk()
    transmission = chunk.transmission
    assert (transmission.campaign_id, transmission.metadata) == ("spring", {"order": 7})
    assert transmission.options == {
        "open_tracking": True,
        "click_tracking": False,
        "initial_open": True,
        "transactional": True,
        "inline_css": True,
        "ip_pool": "default",
    }
    assert [(each["email"], each.get("rcpt_type")) for each in chunk.recipients] == [
        ("you@inbox.test", None),
        ("c@inbox.test", "cc"),
        ("b@inbox.test", "bcc"),
        ("z@inbox.test", "archive"),
    ]
    assert all(each["tags"] == ["x"] for each in chunk.recipients)
    assert b"X-SVC-API" not in transmission.raw
    assert transmission.substitution_data == {}
    assert transmission.raw.endswith(b"Subject: s\r\nCc: c@inbox.test\r\n\r\nHello\r\n")


def test_without_the_header_nothing_is_tracked() -> None:
    send(log_in(make_key().key))
    options = only_chunk().transmission.options
    assert not any(options[name] for name in ("open_tracking", "click_tracking", "initial_open"))


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"{", "550 5.6.0 API header: JSON parse error: "),
        (b'{"metadata": 1}', "550 5.6.0 API header: metadata must be an object"),
        (b'{"campaign_id": "%s"}' % (b"x" * 65), "550 5.6.0 API header: campaign_id is over 64"),
        (b'{"metadata": {"a": 4294967296}}', "550 5.6.0 API header: JSON parse error: number"),
        (b'{"metadata": {"a": "%s"}}' % (b"x" * 10_240), "550 5.6.0 metadata exceeds the maximum"),
        (b'{"options": {"ip_pool": "x"}}', "550 5.6.0 ip_pool: pool 'x' does not exist"),
        (b'{"options": {"dkim_key": "x"}}', "550 5.6.0 'x' is no verified DKIM key"),
    ],
)
def test_options_that_cannot_be_granted_are_refused(header: bytes, text: str) -> None:
    identity = log_in(make_key().key)
    assert reply_of(identity, message=b"X-SVC-API: " + header + b"\r\n" + MESSAGE).startswith(text)
    assert usage.get(1)[0].day == 0


def test_all_copies_count_against_a_limit() -> None:
    limit(daily=2)
    identity = log_in(make_key().key)
    text = reply_of(identity, message=with_header(cc=["c@inbox.test"], archive=["z@inbox.test"]))
    assert text.startswith("451 4.7.1 ")


# The cloud cannot be reached.


@pytest.fixture
def _without_cloud() -> Iterator[None]:
    def fail(*_: object) -> NoReturn:
        raise EndpointConnectionError(endpoint_url="http://nowhere")

    with observed_calls(fail):
        yield


@pytest.mark.usefixtures("_without_cloud")
def test_without_the_cloud_a_login_is_deferred() -> None:
    with pytest.raises(SmtpRefusal) as excinfo:
        log_in("key")
    assert str(excinfo.value).startswith("454 4.7.0 ")


def test_without_the_cloud_a_message_is_deferred(
    request: pytest.FixtureRequest,
) -> None:
    identity = log_in(make_key().key)
    request.getfixturevalue("_without_cloud")
    with pytest.raises(SmtpRefusal) as excinfo:
        send(identity)
    assert str(excinfo.value).startswith("451 4.3.0 ")
