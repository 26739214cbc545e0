from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.authentication import rate_limit
from chalicelib.core.errors import TooManyRequests
from chalicelib.core.settings import settings
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_key, transmission

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture(autouse=True)
def time(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    monkeypatch.setenv("RATE_LIMIT_PER_SECOND", "2")
    monkeypatch.setenv("RATE_LIMIT_BURST", "3")
    settings.cache_clear()
    with moving_clock(1000.0) as moving:
        yield moving


def take_all(account: int = 1) -> int:
    """Return how many requests in a row an account may make now."""
    for count in range(100):
        try:
            rate_limit.take(account)
        except TooManyRequests:
            return count
    raise AssertionError("there is no limit")


def test_a_bucket_holds_a_burst_and_fills_at_its_rate(time: Clock) -> None:
    assert take_all() == 3
    time.now += 0.4
    assert take_all() == 0
    time.now += 0.1
    assert take_all() == 1
    time.now += 1.0
    assert take_all() == 2
    time.now += 3600
    assert take_all() == 3


def test_each_account_has_its_own_bucket(time: Clock) -> None:
    assert take_all(1) == 3
    assert take_all(2) == 3


def test_a_clock_that_goes_back_empties_no_bucket(time: Clock) -> None:
    rate_limit.take(1)
    time.now -= 100
    assert take_all() == 2


def test_a_rate_of_zero_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATE_LIMIT_PER_SECOND", "0")
    settings.cache_clear()
    for _ in range(50):
        rate_limit.take(1)
    assert not rate_limit._buckets


def test_the_number_of_buckets_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "_MOST_ACCOUNTS", 3)
    for account in range(10):
        rate_limit.take(account)
        assert len(rate_limit._buckets) <= 3


@pytest.mark.spec("7-t11")
@pytest.mark.spec("8-t15")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_request_over_the_limit_gets_429(method: str) -> None:
    make_account()
    client = make_key()
    for _ in range(3):
        assert client.call(method, "/api/v1/api-keys/none", {}).status == 404
    response = client.call(method, "/api/v1/api-keys/none", {})
    assert (response.status, response.body) == (429, {"errors": [{"message": "Too many requests"}]})


@pytest.mark.spec("8-t15")
@pytest.mark.parametrize("path", ["/api/v1/transmissions", "/api/v1/transmissions/"])
def test_sending_takes_nothing_from_the_bucket_and_is_not_limited(path: str) -> None:
    make_account()
    client = make_key()
    for _ in range(10):
        assert client.post(path, transmission("a@unknown.test")).status == 400
    assert take_all() == 3


def test_sends_of_who_may_not_send_are_limited() -> None:
    make_account()
    client = make_key(grants=["account/view"])
    body = transmission("a@unknown.test")
    statuses = [client.post("/api/v1/transmissions", body).status for _ in range(4)]
    assert statuses == [403, 403, 403, 429]


def test_all_keys_of_an_account_share_its_bucket() -> None:
    make_account()
    for _ in range(3):
        assert make_key().get("/api/v1/account").status == 200
    assert make_key().get("/api/v1/account").status == 429
    make_account(2)
    assert make_key(2).get("/api/v1/account").status == 200


def test_a_wrong_key_takes_nothing_from_a_bucket() -> None:
    client = make_key()
    for _ in range(10):
        assert type(client)("wrong").get("/api/v1/account").status == 401
    assert take_all() == 3
