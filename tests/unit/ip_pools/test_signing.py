"""A pool adds DKIM keys to the messages that leave by it."""

from __future__ import annotations

import pytest

from chalicelib.ip_pools import signing
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from tests.fake_cloud import aws_requests
from tests.unit.fleet.examples import make_pool
from tests.unit.sending_domains.examples import KEY, domain

UNVERIFIED = DomainStatus(ownership_verified=True, cname_status="valid")


@pytest.fixture(autouse=True)
def signers(cloud: None) -> None:
    """Domains: verified, not verified, and another account's."""
    for each in (
        domain("signs.test"),
        domain("sub.test", subaccount_id=3),
        domain("unsigned.test", status=UNVERIFIED),
        domain("other.test", account=2),
    ):
        assert domains.create(each)


@pytest.mark.cost
def test_a_pool_without_signing_domain_costs_no_request() -> None:
    make_pool("Fast")
    assert signing.pool_key(1, "fast") is None
    with aws_requests() as requests:
        assert signing.pool_key(1, "fast") is signing.fbl_key(1, "fast", "yahoo.com") is None
    assert requests == []


@pytest.mark.spec("2.8-t3")
def test_the_key_of_the_signing_domain_signs() -> None:
    make_pool("Fast", signing_domain="signs.test")
    make_pool("Lost", signing_domain="unsigned.test")
    assert signing.pool_key(1, "FAST") == KEY
    assert signing.pool_key(1, "lost") is None
    assert signing.pool_key(1, "default") is None


@pytest.mark.spec("2.8-t4")
def test_the_feedback_loop_key_signs_for_providers_that_send_reports_by_signature() -> None:
    make_pool("Fast", fbl_signing_domain="signs.test")
    assert signing.pool_key(1, "fast") is None
    for recipients in ("yahoo.com", "Yahoo.co.uk", "aol.com"):
        assert signing.fbl_key(1, "fast", recipients) == KEY
    for recipients in ("example.com", "notyahoo.com"):
        assert signing.fbl_key(1, "fast", recipients) is None
