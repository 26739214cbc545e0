from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.lookup import check_link, choose
from tests.fake_cloud import aws_requests
from tests.unit.tracking_domains.examples import store_tracking_domain

pytestmark = pytest.mark.usefixtures("cloud")

SYSTEM = "http://localhost:8080"


def set_compliance(name: str, status: str) -> None:
    store.change(Scope(1, None), name, lambda before: replace(before, compliance_status=status))


@pytest.mark.cost
def test_links_have_the_services_own_name_when_there_is_no_tracking_domain() -> None:
    with aws_requests() as requests:
        assert choose(1, None) == choose(1, 7) == SYSTEM
    assert len(requests) == 2


def test_the_order_is_transmission_sending_domain_subaccount_account_service() -> None:
    store_tracking_domain("account.test", default=True)
    assert choose(1, 7) == "http://account.test"
    store_tracking_domain("sub.test", subaccount_id=7, default=True)
    assert choose(1, 7) == "http://sub.test"
    assert choose(1, 8) == choose(1, None) == "http://account.test"
    store_tracking_domain("linked.test", subaccount_id=7)
    assert choose(1, 7, linked="linked.test") == "http://linked.test"
    store_tracking_domain("requested.test", subaccount_id=7)
    assert choose(1, 7, requested="Requested.test", linked="linked.test") == "http://requested.test"
    assert choose(2, None) == SYSTEM


def test_links_of_a_secure_domain_are_https_and_others_have_the_tracking_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store_tracking_domain("secure.test", secure=True)
    store_tracking_domain("plain.test")
    monkeypatch.setenv("TRACKING_PORT", "8080")
    settings.cache_clear()
    assert choose(1, None, requested="secure.test") == "https://secure.test"
    assert choose(1, None, requested="plain.test") == "http://plain.test:8080"


@pytest.mark.spec("4.1-r9")
@pytest.mark.spec("2.1-t10")
def test_a_requested_domain_must_be_verified_and_belong_to_the_sender_or_its_account() -> None:
    store_tracking_domain("new.test", cname_status="unverified")
    store_tracking_domain("blocked.test", compliance_status="blocked")
    store_tracking_domain("sub.test", subaccount_id=7)
    store_tracking_domain("other.test", account=2)
    store_tracking_domain("account.test")
    for name in ("new.test", "blocked.test", "other.test", "unknown.test", "x" * 3000, "\ud800"):
        with pytest.raises(ApiError) as error:
            choose(1, 7, requested=name)
        assert (error.value.status, error.value.code) == (400, "1200")
    with pytest.raises(ApiError):
        choose(1, None, requested="sub.test")
    with pytest.raises(ApiError):
        choose(1, 8, requested="sub.test")
    assert choose(1, 7, requested="sub.test") == "http://sub.test"
    assert choose(1, 7, requested="account.test") == "http://account.test"


def test_a_linked_or_default_domain_that_is_not_in_service_is_skipped() -> None:
    store_tracking_domain("account.test", default=True)
    store_tracking_domain("sub.test", subaccount_id=7, default=True)
    store_tracking_domain("linked.test", subaccount_id=7)
    set_compliance("linked.test", "blocked")
    assert choose(1, 7, linked="linked.test") == "http://sub.test"
    assert choose(1, 7, linked="deleted.test") == "http://sub.test"
    set_compliance("sub.test", "blocked")
    assert choose(1, 7) == "http://account.test"
    set_compliance("account.test", "blocked")
    assert choose(1, 7) == SYSTEM
    set_compliance("sub.test", "valid")
    assert choose(1, 7) == "http://sub.test"


def test_a_linked_domain_that_now_belongs_to_another_account_is_skipped() -> None:
    store_tracking_domain("linked.test", account=2)
    assert choose(1, None, linked="linked.test") == SYSTEM


@pytest.mark.spec("2.5-t2")
def test_a_sending_domain_may_link_only_to_a_registered_domain_of_the_same_owner() -> None:
    store_tracking_domain("t.test", cname_status="unverified")
    store_tracking_domain("t7.test", subaccount_id=7)
    assert check_link(1, None, "") == ""
    assert check_link(1, None, "T.test") == "t.test"
    assert check_link(1, 7, "t7.test") == "t7.test"
    for owner, name in (((1, 7), "t.test"), ((1, None), "t7.test"), ((2, None), "t.test")):
        with pytest.raises(ApiError) as error:
            check_link(*owner, name)
        assert (error.value.status, error.value.code) == (400, "1200")
