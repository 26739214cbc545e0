from __future__ import annotations

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.lookup import check_link, choose
from tests.fake_cloud import aws_requests
from tests.unit.tracking_domains.examples import stored

pytestmark = pytest.mark.usefixtures("cloud")

SYSTEM = "http://localhost:8080"


@pytest.mark.cost
def test_without_any_domain_links_go_to_the_service_itself() -> None:
    with aws_requests() as made:
        assert choose(1, None) == choose(1, 7) == SYSTEM
    assert len(made) == 2


def test_the_order_is_transmission_sending_domain_subaccount_account_service() -> None:
    stored("account.test", default=True)
    assert choose(1, 7) == "http://account.test"
    stored("sub.test", subaccount_id=7, default=True)
    assert choose(1, 7) == "http://sub.test"
    assert choose(1, 8) == choose(1, None) == "http://account.test"
    stored("linked.test", subaccount_id=7)
    assert choose(1, 7, linked="linked.test") == "http://linked.test"
    stored("named.test", subaccount_id=7)
    assert choose(1, 7, requested="Named.test", linked="linked.test") == "http://named.test"
    assert choose(2, None) == SYSTEM


def test_a_domain_with_tls_gives_https_links_and_another_port_is_in_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored("secure.test", secure=True)
    stored("plain.test")
    monkeypatch.setenv("TRACKING_PORT", "8080")
    settings.cache_clear()
    assert choose(1, None, requested="secure.test") == "https://secure.test"
    assert choose(1, None, requested="plain.test") == "http://plain.test:8080"


@pytest.mark.spec("4.1-r9")
@pytest.mark.spec("2.1-t10")
def test_a_named_domain_must_be_verified_and_the_senders_or_its_accounts() -> None:
    stored("new.test", cname_status="unverified")
    stored("blocked.test", compliance_status="blocked")
    stored("sub.test", subaccount_id=7)
    stored("other.test", account=2)
    stored("account.test")
    for name in ("new.test", "blocked.test", "other.test", "unknown.test", "x" * 3000, "\ud800"):
        with pytest.raises(ApiError) as refused:
            choose(1, 7, requested=name)
        assert (refused.value.status, refused.value.code) == (400, "1200")
    with pytest.raises(ApiError):
        choose(1, None, requested="sub.test")
    with pytest.raises(ApiError):
        choose(1, 8, requested="sub.test")
    assert choose(1, 7, requested="sub.test") == "http://sub.test"
    assert choose(1, 7, requested="account.test") == "http://account.test"


def test_a_linked_or_default_domain_out_of_service_is_passed_over() -> None:
    stored("account.test", default=True)
    stored("sub.test", subaccount_id=7, default=True)
    stored("linked.test", subaccount_id=7)
    store.set_compliance("linked.test", "blocked")
    assert choose(1, 7, linked="linked.test") == "http://sub.test"
    assert choose(1, 7, linked="deleted.test") == "http://sub.test"
    store.set_compliance("sub.test", "blocked")
    assert choose(1, 7) == "http://account.test"
    store.set_compliance("account.test", "blocked")
    assert choose(1, 7) == SYSTEM
    store.set_compliance("sub.test", "valid")
    assert choose(1, 7) == "http://sub.test"
    assert not store.set_compliance("unknown.test", "blocked")


def test_a_deleted_domain_that_another_account_makes_anew_is_not_linked_to() -> None:
    stored("linked.test", account=2)
    assert choose(1, None, linked="linked.test") == SYSTEM


@pytest.mark.spec("2.5-t2")
def test_a_sending_domain_links_to_a_registered_domain_of_the_same_owner() -> None:
    stored("t.test", cname_status="unverified")
    stored("t7.test", subaccount_id=7)
    assert check_link(1, None, "") == ""
    assert check_link(1, None, "T.test") == "t.test"
    assert check_link(1, 7, "t7.test") == "t7.test"
    for owner, name in (((1, 7), "t.test"), ((1, None), "t7.test"), ((2, None), "t.test")):
        with pytest.raises(ApiError) as refused:
            check_link(*owner, name)
        assert (refused.value.status, refused.value.code) == (400, "1200")
