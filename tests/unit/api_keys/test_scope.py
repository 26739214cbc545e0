"""Which part of the account a request is about, over HTTP and over SMTP."""

from __future__ import annotations

import base64
import json

import pytest

from chalicelib.api_keys import model, store
from chalicelib.authentication.service import authenticate, sender_again, sender_for
from chalicelib.core import config_cache
from chalicelib.core.errors import ApiError, Forbidden, Unauthorized
from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import Scope
from tests.fake_cloud import aws_requests
from tests.unit.people import make_key, make_subaccount

pytestmark = pytest.mark.usefixtures("cloud")

HEADERS = ["x-svc-subaccount", "x-msys-subaccount"]
PEER = "192.0.2.1"


def called(
    key: str, method: str = "GET", subaccount: object = None, header: str = HEADERS[0]
) -> Caller:
    headers = {"authorization": key}
    if subaccount is not None:
        headers[header] = str(subaccount)
    return authenticate(Request(method=method, headers=headers, source_ip=PEER))


@pytest.mark.spec("5-r6")
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE"])
def test_the_header_names_the_part_whatever_is_done(method: str, header: str) -> None:
    key, number = make_key().key, make_subaccount().id
    assert called(key, method, number, header).scope == Scope(1, number)
    assert called(key, method, 0, header).scope == Scope(1, 0)


@pytest.mark.spec("5-r6")
def test_without_the_header_reading_spans_the_account_and_writing_does_not() -> None:
    key = make_key().key
    assert called(key, "GET").scope == Scope(1, None)
    assert called(key, "POST").scope == Scope(1, 0)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("text", ["0", "1", "2", "99", "nonsense", ""])
def test_a_subaccounts_key_is_confined_whatever_the_header_says(method: str, text: str) -> None:
    mine, _ = make_subaccount(), make_subaccount()
    caller = called(make_key(subaccount=mine.id).key, method, text)
    assert caller.scope == Scope(1, mine.id)
    assert caller.confined_to == mine.id


def test_a_primary_key_is_not_confined() -> None:
    number = make_subaccount().id
    assert called(make_key().key, "GET", number).confined_to is None


@pytest.mark.spec("7-t1")
@pytest.mark.parametrize(
    "text", ["", "one", "-1", "1.0", "+1", "0x1", "1e3", "２", "1 2", "2147483648", "9" * 5000]
)
def test_a_header_that_is_no_number_is_a_bad_request(text: str) -> None:
    make_subaccount()
    with pytest.raises(ApiError) as refused:
        called(make_key().key, "GET", text)
    assert (refused.value.status, refused.value.code) == (400, "1200")
    assert "number of a subaccount" in refused.value.errors[0]["description"]


def test_a_subaccount_of_nobody_and_one_of_another_account_are_refused_alike() -> None:
    foreign = make_subaccount(account=2).id
    key = make_key().key
    for number in (foreign, 77):
        with pytest.raises(ApiError) as refused:
            called(key, "GET", number)
        assert refused.value.status == 400
        assert refused.value.errors[0]["description"] == f"subaccount {number} does not exist"


def test_a_wrong_key_is_refused_before_the_header_is_judged() -> None:
    with pytest.raises(Unauthorized):
        called("wrong", "GET", "nonsense")


@pytest.mark.cost
def test_authentication_costs_one_read_and_none_for_what_was_seen_lately() -> None:
    primary, number = make_key().key, make_subaccount().id
    own = make_key(subaccount=number).key
    for key, named in (
        (primary, None),
        (primary, number),
        (primary, 0),
        (own, None),
        (own, number),
    ):
        config_cache.clear_cache()
        with aws_requests() as made:
            called(key, "GET", named)
        assert len(made) == 1, made
        with aws_requests() as made:
            called(key, "POST", named)
        assert made == []


@pytest.mark.cost
def test_a_new_subaccount_is_one_read_for_a_key_seen_lately() -> None:
    key, number = make_key().key, make_subaccount().id
    called(key)
    with aws_requests() as made:
        called(key, "GET", number)
    assert [request.operation for request in made] == ["GetItem"]


@pytest.mark.spec("5-r1")
def test_basic_credentials_take_the_header_too() -> None:
    key, number = make_key().key, make_subaccount().id
    basic = "Basic " + base64.b64encode(f"{key}:".encode()).decode()
    assert called(basic, "POST", number).scope == Scope(1, number)


@pytest.mark.spec("5-r4")
@pytest.mark.parametrize(
    ("valid_ips", "admitted"),
    [([], True), (["192.0.2.0/24"], True), (["192.0.2.2", "198.51.100.0/24"], False)],
)
def test_a_key_may_be_limited_to_addresses(valid_ips: list[str], admitted: bool) -> None:
    key = make_key(valid_ips=valid_ips).key
    if admitted:
        assert called(key).account_id == 1
        assert sender_for(key, None, PEER).account_id == 1
        return
    for attempt in (lambda: called(key), lambda: sender_for(key, None, PEER)):
        with pytest.raises(Forbidden) as refused:
            attempt()
        assert "may not be used from this address" in str(refused.value)


@pytest.mark.spec("5-r4")
def test_only_the_peer_of_the_connection_counts_and_no_header() -> None:
    key = make_key(valid_ips=["198.51.100.7"]).key
    claims = dict.fromkeys(("x-forwarded-for", "x-real-ip", "forwarded"), "198.51.100.7")
    with pytest.raises(Forbidden):
        authenticate(Request(headers={"authorization": key, **claims}, source_ip=PEER))


@pytest.mark.spec("5-r7")
def test_a_primary_key_sends_over_smtp_for_itself_or_for_a_subaccount() -> None:
    key, number = make_key().key, make_subaccount().id
    assert sender_for(key, None, PEER).scope == Scope(1, 0)
    assert sender_for(key, 0, PEER).scope == Scope(1, 0)
    assert sender_for(key, number, PEER).scope == Scope(1, number)


@pytest.mark.spec("5-r7")
def test_a_subaccounts_key_sends_over_smtp_for_its_subaccount_only() -> None:
    mine, other = make_subaccount().id, make_subaccount().id
    key = make_key(subaccount=mine).key
    for named in (None, 0, mine, other, 99):
        assert sender_for(key, named, PEER).scope == Scope(1, mine)


def test_over_smtp_a_known_key_is_forbidden_what_it_does_not_reach() -> None:
    make_subaccount(account=2)
    with pytest.raises(Forbidden, match="does not have the grant"):
        sender_for(make_key(grants={"transmissions/modify"}).key, None, PEER)
    for number in (1, 77):
        with pytest.raises(Forbidden, match=f"subaccount {number} does not exist"):
            sender_for(make_key().key, number, PEER)


@pytest.mark.parametrize("password", ["", "wrong", "x" * 600])
def test_over_smtp_an_unknown_key_is_not_authorized(password: str) -> None:
    with pytest.raises(Unauthorized):
        sender_for(password, None, PEER)


def test_a_sender_is_known_again_until_its_key_is_gone() -> None:
    key = make_key().key
    caller = sender_for(key, None, PEER)
    assert sender_again(caller.key_id, None, PEER) == caller
    found = store.get(model.key_id(key))
    assert found is not None
    store.delete(found)
    with pytest.raises(Unauthorized):
        sender_again(caller.key_id, None, PEER)


@pytest.mark.spec("5-r2")
def test_nothing_of_the_key_is_in_what_a_caller_carries() -> None:
    client = make_key()
    assert client.key not in json.dumps(repr(called(client.key)))
