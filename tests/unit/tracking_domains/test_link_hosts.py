"""Check at which host names the links of a sender work."""

from __future__ import annotations

import pytest

from chalicelib.core import clock, config_cache
from chalicelib.core.dynamo import Table
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.tracking_domains import link_hosts, store
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import moving_clock
from tests.unit.tracking_domains.examples import store_tracking_domain

pytestmark = pytest.mark.usefixtures("cloud")


def works(host: str, account: int = 1, subaccount: int | None = None, **headers: str) -> bool:
    return link_hosts.are_good_for({"host": host, **headers}, account, subaccount)


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:9", "LOCALHOST.", ""])
def test_links_of_all_accounts_work_at_the_services_own_names(host: str) -> None:
    assert works(host)
    assert works(host, 2, 7)


def test_other_names_of_the_service_are_those_of_aws_and_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PUBLIC_URL", "https://api.example.com:444/base")
    monkeypatch.setenv("TRACKING_HOSTS", "old.example.com, Older.example.com")
    settings.cache_clear()
    link_hosts._own_names.cache_clear()
    assert works("API.example.com")
    assert works("old.example.com")
    assert works("older.example.com:80")
    assert works("a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com")
    assert not works("localhost")
    assert not works("a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com.evil.example")


def test_links_work_at_the_tracking_domains_that_the_sender_may_use() -> None:
    store_tracking_domain("account.test", cname_status="unverified")
    store_tracking_domain("sub.test", subaccount_id=7)
    assert [works("account.test:8080", 1, each) for each in (None, 7, 8)] == [True, True, True]
    assert [works("Sub.test.", 1, each) for each in (None, 7, 8)] == [False, True, False]
    assert not works("account.test", 2)
    assert not works("nobody.test")
    assert not works("[::1")
    assert not works("a" * 300 + ".test")


def test_the_name_that_a_forwarding_server_tells_counts() -> None:
    store_tracking_domain("their.test", account=2)
    store_tracking_domain("our.test")
    gateway = "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com"
    assert works(gateway, **{"x-forwarded-host": "our.test"})
    assert not works(gateway, **{"x-forwarded-host": "their.test, our.test"})


def test_links_of_mail_before_the_domain_was_deleted_work_until_somebody_else_has_it() -> None:
    store_tracking_domain("gone.test")
    assert works("gone.test")
    assert store.delete(Scope(1, None), "gone.test")
    assert works("gone.test", 1, 7)
    assert not works("gone.test", 2)
    store_tracking_domain("gone.test", account=2)
    assert not works("gone.test")
    assert works("gone.test", 2)


def delete(owner: int | None, name: str = "moved.test") -> None:
    assert store.delete(Scope(1, owner or 0), name)


def test_links_go_on_working_when_another_part_of_the_account_has_the_domain() -> None:
    parts = (7, 8, None, 9)
    for number, part in enumerate(parts):
        store_tracking_domain("moved.test", subaccount_id=part)
        for earlier in parts[:number]:
            assert works("moved.test", 1, earlier), (part, earlier)
        delete(part)
        for earlier in parts[: number + 1]:
            assert works("moved.test", 1, earlier), (part, earlier)
    assert not works("moved.test", 2)


def test_a_part_that_never_had_a_domain_gets_no_links_at_it() -> None:
    for part in (7, 8):
        store_tracking_domain("moved.test", subaccount_id=part)
        delete(part)
    store_tracking_domain("moved.test", subaccount_id=9)
    assert not works("moved.test", 1, 10)
    assert not works("moved.test")


def test_links_of_each_owner_work_for_a_year_from_its_own_deletion() -> None:
    with moving_clock(1e9) as time:
        store_tracking_domain("moved.test", subaccount_id=7)
        delete(7)
        time.passes(store.FORMER_SECONDS / 2)
        store_tracking_domain("moved.test", subaccount_id=8)
        delete(8)
        time.passes(store.FORMER_SECONDS / 2)
        assert [works("moved.test", 1, part) for part in (7, 8)] == [False, True]
        time.passes(store.FORMER_SECONDS / 2)
        assert not works("moved.test", 1, 8)


def test_links_of_an_account_end_for_good_when_another_account_registers_the_name() -> None:
    store_tracking_domain("moved.test", subaccount_id=7)
    delete(7)
    store_tracking_domain("moved.test", account=2)
    assert not works("moved.test", 1, 7)
    assert store.delete(Scope(2, None), "moved.test")
    assert not works("moved.test", 1, 7)
    assert works("moved.test", 2)
    store_tracking_domain("moved.test", subaccount_id=8)
    assert [works("moved.test", 1, part) for part in (7, 8)] == [False, True]


def test_a_deleted_domain_of_an_earlier_version_has_one_former_owner() -> None:
    key = {"pk": "tracking-domain#moved.test", "sk": "former"}
    owner = {"account_id": 1, "subaccount_id": 7, "expires": int(clock.now()) + 60}
    Table("config").put(key | owner)
    assert works("moved.test", 1, 7)
    store_tracking_domain("moved.test", subaccount_id=8)
    assert works("moved.test", 1, 7)
    delete(8)
    assert [works("moved.test", 1, part) for part in (7, 8, 9)] == [True, True, False]


@pytest.mark.cost
def test_a_host_is_looked_up_once_in_the_time_of_the_cache() -> None:
    store_tracking_domain("our.test")
    config_cache.clear_cache()
    with moving_clock(1e9) as time, aws_requests() as requests:
        for _ in range(100):
            assert works("our.test")
            assert not works("nobody.test")
            assert works("localhost")
        assert len(requests) == 2
        time.passes(settings().key_cache_seconds + 1)
        assert works("our.test")
        assert len(requests) == 3
