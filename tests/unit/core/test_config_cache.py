from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import config_cache
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock

A, B, C = ("a", "1"), ("b", "1"), ("c", "1")


@pytest.fixture
def time(cloud: None) -> Iterator[Clock]:
    for pk, sk in (A, B, C):
        Table("config").put({"pk": pk, "sk": sk, "n": 1})
    with moving_clock(1000.0) as moving:
        yield moving


def operations(*reads: object) -> list[str]:
    with aws_requests() as requests:
        for keys in reads:
            config_cache.read(keys)  # type: ignore[arg-type]
    return [request.operation for request in requests]


@pytest.mark.cost
def test_items_read_elsewhere_can_be_added_to_the_cache(time: Clock) -> None:
    missing = ("nothing", "1")
    assert config_cache.missing_keys([A, missing]) == [A, missing]
    config_cache.learn([A, missing], {A: {"pk": "a", "sk": "1", "n": 7}})
    assert config_cache.missing_keys([A, missing, B]) == [B]
    with aws_requests() as requests:
        assert config_cache.read([A], maybe=[missing])[A]["n"] == 7
        assert config_cache.read_one(missing) is None
    assert requests == []
    time.now += settings().key_cache_seconds
    assert config_cache.missing_keys([A, missing]) == [A, missing]


def test_items_that_are_not_cached_are_read_in_one_request(time: Clock) -> None:
    assert operations([A]) == ["GetItem"]
    assert operations([A, B, C]) == ["BatchGetItem"]
    assert config_cache.read([A, B]) == {
        A: {"pk": "a", "sk": "1", "n": 1},
        B: config_cache.read([B])[B],
    }


def test_a_cached_item_costs_no_request_until_it_expires(time: Clock) -> None:
    config_cache.read([A, B])
    time.now += settings().key_cache_seconds - 0.1
    assert operations([A, B], [B]) == []
    time.now += 0.1
    assert operations([A, B]) == ["BatchGetItem"]


def test_a_change_is_seen_when_the_entry_expires_or_is_forgotten(
    time: Clock,
) -> None:
    config_cache.read([A])
    Table("config").put({"pk": "a", "sk": "1", "n": 2})
    assert config_cache.read([A])[A]["n"] == 1
    config_cache.forget(A)
    assert config_cache.read([A])[A]["n"] == 2


def test_read_looks_for_a_missing_item_each_time(time: Clock) -> None:
    missing = ("nothing", "1")
    assert operations([missing], [missing]) == ["GetItem", "GetItem"]
    assert config_cache.read([missing, A]).keys() == {A}


@pytest.mark.cost
def test_read_one_caches_an_item_and_also_the_absence_of_one(time: Clock) -> None:
    missing = ("nothing", "1")
    with aws_requests() as requests:
        assert (
            config_cache.read_one(A) == config_cache.read_one(A) == {"pk": "a", "sk": "1", "n": 1}
        )
        assert config_cache.read_one(missing) is config_cache.read_one(missing) is None
    assert [request.operation for request in requests] == ["GetItem", "GetItem"]
    assert config_cache.read([missing, A]).keys() == {A}
    Table("config").put({"pk": "nothing", "sk": "1"})
    assert config_cache.read_one(missing) is None
    time.now += settings().key_cache_seconds
    assert config_cache.read_one(missing) == {"pk": "nothing", "sk": "1"}


@pytest.mark.cost
def test_items_read_anew_are_read_consistently_with_those_that_are_not_cached(
    time: Clock,
) -> None:
    config_cache.read([A])
    with aws_requests() as requests:
        items = config_cache.read([A, B], uncached=[C])
        config_cache.read([A, B], uncached=[C])
    assert items.keys() == {A, B, C}
    assert [request.operation for request in requests] == ["BatchGetItem", "GetItem"]
    assert requests[1].parameters["ConsistentRead"] is True
    (batch,) = requests[0].parameters["RequestItems"].values()
    assert batch["ConsistentRead"] is True


def test_the_cache_has_a_largest_size(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_cache, "_MOST_ENTRIES", 2)
    config_cache.read([A, B])
    config_cache.read([C])
    assert len(config_cache._entries) == 1
    assert operations([C]) == []


@pytest.mark.cost
def test_items_that_follow_a_key_are_read_with_it_when_their_time_is_over(time: Clock) -> None:
    absent = ("nothing", "1")
    config_cache.read([A, B], maybe=[absent])
    config_cache.follow(A, [B, C, absent])  # C was never cached
    assert operations([A, B]) == []
    time.now += settings().key_cache_seconds
    with aws_requests() as requests:
        assert config_cache.read([A]).keys() == {A}
        assert config_cache.read([B], maybe=[absent]).keys() == {B}
    assert [request.operation for request in requests] == ["BatchGetItem"]
    (batch,) = requests[0].parameters["RequestItems"].values()
    assert batch["ConsistentRead"] is True
    assert len(batch["Keys"]) == 3
    assert operations([C]) == ["GetItem"]


def test_a_follower_that_was_changed_or_deleted_is_read_by_whoever_needs_it(time: Clock) -> None:
    config_cache.read([A, B, C])
    config_cache.follow(A, [B, C])
    Table("config").put({"pk": "b", "sk": "1", "n": 2})
    Table("config").delete("c", "1")
    time.now += settings().key_cache_seconds
    config_cache.read([A])
    assert config_cache.missing_keys([A, B, C]) == [B, C]


def test_a_follower_that_this_process_changed_is_not_cached(time: Clock) -> None:
    config_cache.read([A, B])
    config_cache.follow(A, [B])
    config_cache.forget(B)
    time.now += settings().key_cache_seconds
    config_cache.read([A])
    assert config_cache.missing_keys([B]) == [B]


def test_followers_of_a_limited_number_of_keys_are_remembered(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_cache, "_MOST_ENTRIES", 2)
    for key in (A, B, C):
        config_cache.follow(key, [A])
    assert len(config_cache._followers) == 1
