from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.api_keys import model, store
from chalicelib.api_keys.grants import with_included
from chalicelib.api_keys.model import ApiKey
from chalicelib.authentication.service import authenticate, read_key, sender_again, sender_for
from chalicelib.core.caches import clear_caches
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import Forbidden, Unauthorized
from chalicelib.core.request import NOBODY, Caller, Request
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.refusals import refusal_code

SECRET = "0123456789abcdef0123456789abcdef01234567"
KEY = ApiKey(
    key_id=model.key_id(SECRET),
    account_id=1,
    label="tests",
    short_key="0123",
    grants=frozenset({"smtp/inject"}),
    created=1.0,
    subaccount_id=7,
)


@pytest.fixture
def time(cloud: None) -> Iterator[Clock]:
    store.put(KEY)
    with moving_clock(1000.0) as moving:
        yield moving


def last_used() -> int | None:
    """Return the hour of the last use that is stored of the key."""
    record = store.get(KEY.key_id)
    return record.last_used if record else None


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def request_with(header: str) -> Request:
    return Request(headers={"authorization": header})


@pytest.mark.spec("5-r1")
@pytest.mark.parametrize("header", [SECRET, f"  {SECRET} ", basic(f"{SECRET}:"), basic(SECRET)])
def test_a_caller_sends_the_key_or_basic_credentials_with_an_empty_password(
    header: str, time: Clock
) -> None:
    actor = NOBODY
    caller = Caller(Scope(1, 7), KEY.key_id, with_included(KEY.grants), 7, actor)
    assert authenticate(request_with(header)) == caller


@pytest.mark.spec("5-r6")
@pytest.mark.parametrize(
    ("method", "part"),
    [("GET", None), ("HEAD", None), ("POST", 0), ("PUT", 0), ("DELETE", 0)],
)
def test_a_primary_key_reads_the_whole_account_and_changes_the_primary_account_only(
    method: str, part: int | None, time: Clock
) -> None:
    store.put(replace(KEY, subaccount_id=None))
    request = Request(method=method, headers={"authorization": SECRET})
    assert authenticate(request).scope == Scope(1, part)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_subaccounts_key_is_confined_to_its_subaccount(method: str, time: Clock) -> None:
    request = Request(method=method, headers={"authorization": SECRET})
    assert authenticate(request).scope == Scope(1, 7)


def test_headers_that_name_different_subaccounts_are_refused(time: Clock) -> None:
    def scope(**numbers: str) -> Scope:
        headers = {f"x-{name}-subaccount": number for name, number in numbers.items()}
        return authenticate(Request(headers={"authorization": SECRET, **headers})).scope

    assert scope(svc="7") == scope(msys="7") == scope(svc="7", msys="7") == Scope(1, 7)
    for numbers in ({"svc": "7", "msys": "0"}, {"svc": "7, 0"}):
        assert refusal_code(scope, **numbers) == (400, "1200")


@pytest.mark.spec("5-r5")
@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "wrong",
        SECRET[:-1],
        SECRET.upper(),
        f"Bearer {SECRET}",
        basic(f"{SECRET}:password"),
        basic(f":{SECRET}"),
        basic("wrong:"),
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic " + base64.b64encode(b"\xff\xfe:").decode(),
        "Basic é",
        model.key_id(SECRET),
        "x" * 100_000,
        "\ud800",
    ],
)
def test_any_other_header_is_not_authorized(header: str, time: Clock) -> None:
    with pytest.raises(Unauthorized):
        authenticate(request_with(header))


@pytest.mark.spec("7-t2")
def test_a_request_without_the_header_is_not_authorized(cloud: None) -> None:
    with pytest.raises(Unauthorized) as error_info:
        authenticate(Request())
    assert error_info.value.status == 401


@given(st.text(st.characters(), max_size=40), st.sampled_from(["", "Basic ", "basic "]))
def test_a_header_is_read_or_refused(text: str, scheme: str) -> None:
    for header in (scheme + text, basic(text.encode("utf-8", "replace").decode())):
        with suppress(Unauthorized):
            read_key(header)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        (f"Bearer {SECRET}", "the API key itself, without 'Bearer' before it"),
        (f"token  {SECRET}", "the API key itself, without 'token' before it"),
        (f"{'x' * 99} {SECRET}", f"without '{'x' * 20}' before it"),
        (basic(f"{SECRET}:password"), "the password is empty"),
        (basic(f":{SECRET}"), "the API key is the user name"),
        ("Basic !!!", "the API key is the user name"),
    ],
)
def test_a_header_of_another_form_is_told_what_to_write(
    header: str, hint: str, time: Clock
) -> None:
    with pytest.raises(Unauthorized) as refusal:
        authenticate(request_with(header))
    (error,) = refusal.value.errors
    assert error["message"] == "Unauthorized."
    assert hint in error["description"]
    assert SECRET not in error["description"]


@pytest.mark.parametrize("header", ["", "wrong", basic("wrong:")])
def test_a_key_that_is_not_known_gets_no_more_than_the_message(header: str, time: Clock) -> None:
    with pytest.raises(Unauthorized) as refusal:
        authenticate(request_with(header))
    assert refusal.value.errors == [{"message": "Unauthorized."}]


def test_the_scheme_is_read_in_any_case() -> None:
    assert read_key(basic("k:").replace("Basic", "bAsIc")) == "k"


@pytest.mark.cost
def test_a_key_that_is_too_long_to_be_one_is_not_looked_up(cloud: None) -> None:
    with aws_requests() as requests, pytest.raises(Unauthorized):
        authenticate(request_with("x" * 513))
    assert requests == []


@pytest.mark.cost
def test_a_key_is_cached_for_a_while(time: Clock) -> None:
    store.put(replace(KEY, last_used=0))
    with aws_requests() as requests:
        for _ in range(3):
            authenticate(request_with(SECRET))
        time.now += settings().key_cache_seconds - 0.1
        authenticate(request_with(SECRET))
    assert [request.operation for request in requests] == ["GetItem"]


@pytest.mark.parametrize("is_cached", [True, False])
def test_a_key_is_refused_from_the_moment_of_its_end_on(time: Clock, is_cached: bool) -> None:
    store.put(replace(KEY, expires_ms=1_005_000))
    if is_cached:
        authenticate(request_with(SECRET))
    time.now = 1004.999
    authenticate(request_with(SECRET))
    sender_for(SECRET, None, "192.0.2.1")
    time.now = 1005.0
    for check in (
        lambda: authenticate(request_with(SECRET)),
        lambda: sender_for(SECRET, None, "192.0.2.1"),
        lambda: sender_again(KEY.key_id, None, "192.0.2.1"),
    ):
        with pytest.raises(Unauthorized) as refusal:
            check()
        assert refusal.value.errors[0]["description"] == "the API key has expired"


@pytest.mark.cost
def test_the_first_use_of_an_hour_is_written_and_no_later_one(time: Clock) -> None:
    time.now = 7200.0
    with aws_requests() as requests:
        for _ in range(60):
            authenticate(request_with(SECRET))
            time.now += 59.9
    assert [each.operation for each in requests].count("UpdateItem") == 1
    assert last_used() == 7200
    time.now = 10_800.0
    with aws_requests() as requests:
        authenticate(request_with(SECRET))
        authenticate(request_with(SECRET))
    assert [each.operation for each in requests] == ["GetItem", "UpdateItem"]
    assert last_used() == 10_800


@pytest.mark.cost
def test_a_process_that_did_not_write_the_hour_reads_it_and_writes_nothing(time: Clock) -> None:
    authenticate(request_with(SECRET))
    clear_caches()
    with aws_requests() as requests:
        authenticate(request_with(SECRET))
    assert [each.operation for each in requests] == ["GetItem"]


@pytest.mark.cost
def test_a_use_that_cannot_be_written_refuses_nothing_and_is_not_tried_again(
    time: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    busy = ClientError({"Error": {"Code": "ThrottlingException"}}, "UpdateItem")
    writes: list[int] = []

    def fail(key_id: str, hour: int) -> None:
        writes.append(hour)
        raise busy

    monkeypatch.setattr(store, "note_use", fail)
    for _ in range(3):
        assert authenticate(request_with(SECRET)).account_id == 1
        time.now += settings().key_cache_seconds
    assert writes == [0]
    assert SECRET not in caplog.text
    assert KEY.id in caplog.text


def test_who_is_refused_has_not_used_the_key(time: Clock) -> None:
    store.put(replace(KEY, valid_ips=["192.0.2.1"]))
    with pytest.raises(Forbidden):
        authenticate(request_with(SECRET))
    assert last_used() is None


def test_a_login_over_smtp_is_a_use(time: Clock) -> None:
    time.now = 7201.0
    sender_for(SECRET, None, "192.0.2.1")
    assert last_used() == 7200


def test_a_revoked_key_is_refused_when_its_cache_entry_expires(time: Clock) -> None:
    authenticate(request_with(SECRET))
    Table("config").delete(f"key#{KEY.key_id}", "key")
    time.now += settings().key_cache_seconds - 0.1
    authenticate(request_with(SECRET))
    time.now += 0.1
    with pytest.raises(Unauthorized):
        authenticate(request_with(SECRET))


def test_an_unknown_key_is_looked_up_each_time(time: Clock) -> None:
    with pytest.raises(Unauthorized):
        authenticate(request_with("new"))
    store.put(ApiKey(model.key_id("new"), 9, "new", "new", grants=frozenset(), created=2.0))
    assert authenticate(request_with("new")).account_id == 9
