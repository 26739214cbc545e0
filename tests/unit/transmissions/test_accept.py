from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock, queues
from chalicelib.core.errors import ServiceError
from chalicelib.core.request import Caller
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.generation import chunk
from chalicelib.generation.chunk import Chunk
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.transmissions.accept import accept
from tests.fake_cloud import queued
from tests.unit.people import make_account, make_subaccount
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import CREATED, OPTIONS, body, content

CALLER = Caller(Scope(1, PRIMARY), "key", frozenset({"transmissions/modify"}))


@pytest.fixture(autouse=True)
def _with_a_domain(cloud: None) -> None:
    make_account()
    domains.create(domain())


def accepted(data: Any, caller: Caller = CALLER) -> Chunk:
    """Accept a transmission of one chunk and return that."""
    accept(caller, data)
    (found,) = [chunk.from_received(queues.read(each)) for each in queued("generation")]
    return found


def refusal(data: Any, caller: Caller = CALLER) -> tuple[int, str]:
    with pytest.raises(ServiceError) as refused:
        accept(caller, data)
    assert queued("generation") == []
    return refused.value.status, refused.value.errors[0]["code"]


@pytest.mark.spec("4.1-t1")
def test_an_accepted_transmission_is_queued_with_all_that_was_asked() -> None:
    given = body(
        campaign_id="spring",
        description="Spring sale",
        metadata={"m": 1},
        substitution_data={"s": 2},
    )
    with clock.use(lambda: CREATED / 1000):
        result = accept(CALLER, given)
    (received,) = [queues.read(each) for each in queued("generation")]
    sent = chunk.from_received(received).transmission
    assert result.id == sent.id
    assert (result.count, result.errors) == (1, [])
    assert (sent.account_id, sent.subaccount_id, sent.recv_method) == (1, None, "rest")
    assert sent.created_ms == CREATED
    assert sent.content == given["content"]
    assert (sent.campaign_id, sent.description) == ("spring", "Spring sale")
    assert (sent.metadata, sent.substitution_data) == ({"m": 1}, {"s": 2})


def test_a_transmission_of_a_subaccount_is_its_own() -> None:
    number = make_subaccount().id
    domains.create(domain("sub.test", subaccount_id=number))
    caller = Caller(Scope(1, number), "key", frozenset())
    found = accepted(content(**{"from": "a@sub.test"}), caller)
    assert found.transmission.subaccount_id == number


@pytest.mark.spec("7-t22")
def test_bad_recipients_are_told_and_the_others_are_sent_to() -> None:
    given = body(recipients=[{"address": "nobody"}, {"address": "r@example.test"}])
    result = accept(CALLER, given)
    assert (result.count, len(result.errors)) == (1, 1)
    (found,) = [chunk.from_received(queues.read(each)) for each in queued("generation")]
    assert found.recipients == [{"email": "r@example.test"}]


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {}),
        ({"open_tracking": False}, {"open_tracking": False, "initial_open": False}),
        ({"open_tracking": False, "initial_open": True}, {"open_tracking": False}),
        ({"initial_open": False}, {"initial_open": False}),
        ({"click_tracking": False}, {"click_tracking": False}),
        ({"transactional": True}, {"transactional": True}),
        ({"ip_pool": "fast"}, {"ip_pool": "fast"}),
    ],
)
@pytest.mark.spec("2.1-t11")
@pytest.mark.spec("2.1-t12")
@pytest.mark.spec("2.1-t13")
@pytest.mark.spec("2.1-t14")
@pytest.mark.spec("2.1-t15")
def test_options_in_force_are_those_given_over_the_defaults(given: Any, changed: Any) -> None:
    assert accepted(body(options=given)).transmission.options == OPTIONS | changed


@pytest.mark.spec("4.1-r6")
@pytest.mark.parametrize(
    "sender",
    [
        "a@elsewhere.test",
        "Ann <a@elsewhere.test>",
        {"email": "a@elsewhere.test"},
        "a@mail.example.test.evil.test",
        "a@sub.mail.example.test",
        "a@example.test",
    ],
)
def test_a_domain_that_is_not_set_up_is_refused(sender: Any) -> None:
    assert refusal(content(**{"from": sender})) == (400, "7001")


@pytest.mark.spec("4.1-r6")
def test_a_domain_that_is_not_verified_is_refused() -> None:
    domains.create(domain("new.test", status=DomainStatus()))
    assert refusal(content(**{"from": "a@new.test"})) == (400, "7001")


def test_a_domain_of_another_account_or_subaccount_is_refused() -> None:
    domains.create(domain("other.test", account=2))
    domains.create(domain("sub.test", subaccount_id=7))
    assert refusal(content(**{"from": "a@other.test"})) == (400, "7001")
    assert refusal(content(**{"from": "a@sub.test"})) == (400, "7001")


@pytest.mark.parametrize("sender", ["nobody", "@", "a@", "a@b", "Ann <>", "a@b..c"])
def test_a_sender_without_a_domain_is_refused(sender: str) -> None:
    assert refusal(content(**{"from": sender})) == (400, "7001")


@pytest.mark.parametrize(
    "sender",
    [
        "a@mail.example.test",
        "a@MAIL.Example.TEST",
        "Ann <a@mail.example.test>",
        "Ann < a@mail.example.test > ",
        {"email": "a@mail.example.test", "name": "Ann"},
        "{{local}}@mail.example.test",
        {"email": "a@mail.example.test", "name": "{{name}}"},
    ],
)
def test_a_sender_of_a_verified_domain_is_accepted(sender: Any) -> None:
    assert accepted(content(**{"from": sender})).transmission.content["from"] == sender


@pytest.mark.parametrize(
    "sender", ["{{from}}", "a@{{domain}}", "a@{{ domain }}.test", {"email": "{{from}}"}]
)
def test_a_sender_whose_domain_a_template_makes_is_left_to_generation(sender: Any) -> None:
    assert accepted(content(**{"from": sender})).transmission.content["from"] == sender


def test_what_is_refused_leaves_nothing_behind() -> None:
    assert refusal(body(recipients=[{"address": "nobody"}])) == (400, "5002")
    assert refusal(body(recipients=[])) == (400, "5002")
    assert refusal({}) == (422, "1400")
