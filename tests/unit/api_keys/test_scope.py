"""A key and a header decide the part of the account that a caller acts for."""

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


def caller_of(
    key: str, method: str = "GET", subaccount: object = None, header: str = HEADERS[0]
) -> Caller:
    headers = {"authorization": key}
    if subaccount is not None:
        headers[header] = str(subaccount)
    return authenticate(Request(method=method, headers=headers, source_ip=PEER))


@pytest.mark.spec("5-r6")
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE"])
def test_the_header_names_the_part_of_the_account_for_every_method(
    method: str, header: str
) -> None:
    key, number = make_key().key, make_subaccount().id
    assert caller_of(key, method, number, header).scope == Scope(1, number)
    assert caller_of(key, method, 0, header).scope == Scope(1, 0)


@pytest.mark.spec("5-r6")
def test_without_the_header_reading_spans_the_account_and_writing_does_not() -> None:
    key = make_key().key
    assert caller_of(key, "GET").scope == Scope(1, None)
    assert caller_of(key, "POST").scope == Scope(1, 0)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_subaccounts_key_may_name_its_own_subaccount(method: str) -> None:
    number = make_subaccount().id
    for text in (None, number, f"0{number}"):
        caller = caller_of(make_key(subaccount=number).key, method, text)
        assert caller.scope == Scope(1, number)
        assert caller.confined_to == number


@pytest.mark.spec("5-r5")
@pytest.mark.spec("7-t4")
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("text", ["0", "2", "99"])
def test_a_subaccounts_key_that_names_another_part_of_the_account_is_forbidden(
    method: str, text: str, header: str
) -> None:
    subaccount, _ = make_subaccount(), make_subaccount()
    with pytest.raises(Forbidden, match=f"can act for subaccount {subaccount.id} only"):
        caller_of(make_key(subaccount=subaccount.id).key, method, text, header)


@pytest.mark.spec("5-r6")
@pytest.mark.parametrize("text", ["0", "1", "2", "99", "nonsense", ""])
def test_a_route_without_the_header_ignores_it_whatever_it_holds(text: str) -> None:
    number, _ = make_subaccount().id, make_subaccount()
    headers = {"authorization": make_key().key, HEADERS[0]: text}
    caller = authenticate(Request(headers=headers, source_ip=PEER), subaccount_header=False)
    assert (caller.scope, caller.confined_to) == (Scope(1, None), None)
    headers["authorization"] = make_key(subaccount=number).key
    caller = authenticate(Request(headers=headers, source_ip=PEER), subaccount_header=False)
    assert (caller.scope, caller.confined_to) == (Scope(1, number), number)


def test_a_primary_key_is_not_confined_to_a_subaccount() -> None:
    number = make_subaccount().id
    assert caller_of(make_key().key, "GET", number).confined_to is None


@pytest.mark.spec("7-t1")
@pytest.mark.parametrize(
    "text", ["", "one", "-1", "1.0", "+1", "0x1", "1e3", "２", "1 2", "2147483648", "9" * 5000]
)
def test_a_header_that_is_no_number_is_a_bad_request(text: str) -> None:
    number = make_subaccount().id
    for key in (make_key().key, make_key(subaccount=number).key):
        with pytest.raises(ApiError) as refusal:
            caller_of(key, "GET", text)
        assert (refusal.value.status, refusal.value.code) == (400, "1200")
        assert "number of a subaccount" in refusal.value.errors[0]["description"]


def test_an_unknown_subaccount_and_one_of_another_account_get_the_same_error() -> None:
    foreign = make_subaccount(account=2).id
    key = make_key().key
    for number in (foreign, 77):
        with pytest.raises(ApiError) as refusal:
            caller_of(key, "GET", number)
        assert refusal.value.status == 400
        assert refusal.value.errors[0]["description"] == f"subaccount {number} does not exist"


def test_a_wrong_key_is_refused_before_the_header_is_checked() -> None:
    with pytest.raises(Unauthorized):
        caller_of("wrong", "GET", "nonsense")


@pytest.mark.cost
def test_authentication_costs_one_read_and_none_while_the_records_are_cached() -> None:
    primary, number = make_key().key, make_subaccount().id
    own = make_key(subaccount=number).key
    for key, part in (
        (primary, None),
        (primary, number),
        (primary, 0),
        (own, None),
        (own, number),
    ):
        config_cache.clear_cache()
        with aws_requests() as requests:
            caller_of(key, "GET", part)
        assert len(requests) == 1, requests
        with aws_requests() as requests:
            caller_of(key, "POST", part)
        assert requests == []


@pytest.mark.cost
def test_another_subaccount_costs_one_read_while_the_key_is_cached() -> None:
    key, number = make_key().key, make_subaccount().id
    caller_of(key)
    with aws_requests() as requests:
        caller_of(key, "GET", number)
    assert [request.operation for request in requests] == ["GetItem"]


@pytest.mark.spec("5-r1")
def test_the_header_works_with_basic_credentials_too() -> None:
    key, number = make_key().key, make_subaccount().id
    basic = "Basic " + base64.b64encode(f"{key}:".encode()).decode()
    assert caller_of(basic, "POST", number).scope == Scope(1, number)


@pytest.mark.spec("5-r4")
@pytest.mark.parametrize(
    ("valid_ips", "admitted"),
    [([], True), (["192.0.2.0/24"], True), (["192.0.2.2", "198.51.100.0/24"], False)],
)
def test_a_key_can_be_limited_to_source_addresses(valid_ips: list[str], admitted: bool) -> None:
    key = make_key(valid_ips=valid_ips).key
    if admitted:
        assert caller_of(key).account_id == 1
        assert sender_for(key, None, PEER).account_id == 1
        return
    for attempt in (lambda: caller_of(key), lambda: sender_for(key, None, PEER)):
        with pytest.raises(Forbidden) as refusal:
            attempt()
        assert "may not be used from this address" in str(refusal.value)


@pytest.mark.spec("5-r4")
def test_the_source_address_is_the_peers_whatever_headers_claim() -> None:
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
    own_id, other_id = make_subaccount().id, make_subaccount().id
    key = make_key(subaccount=own_id).key
    for part in (None, own_id):
        assert sender_for(key, part, PEER).scope == Scope(1, own_id)
    for part in (0, other_id, 99):
        with pytest.raises(Forbidden, match=f"can act for subaccount {own_id} only"):
            sender_for(key, part, PEER)


def test_over_smtp_a_key_without_the_grant_or_the_subaccount_is_forbidden() -> None:
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


def test_a_sender_is_authenticated_again_until_its_key_is_deleted() -> None:
    key = make_key().key
    caller = sender_for(key, None, PEER)
    assert sender_again(caller.key_id, None, PEER) == caller
    record = store.get(model.key_id(key))
    assert record is not None
    store.delete(record)
    with pytest.raises(Unauthorized):
        sender_again(caller.key_id, None, PEER)


@pytest.mark.spec("5-r2")
def test_a_caller_does_not_hold_the_key() -> None:
    client = make_key()
    assert client.key not in json.dumps(repr(caller_of(client.key)))
