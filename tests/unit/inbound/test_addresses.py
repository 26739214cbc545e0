"""Recognise the addresses of the service, and find the message of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.settings import settings
from chalicelib.inbound.addresses import (
    InboundTarget,
    Purpose,
    is_served,
    message_named_in,
    target_of,
)
from chalicelib.sending_domains import store
from chalicelib.sending_domains.model import DomainStatus
from tests.fake_cloud import aws_requests
from tests.unit.inbound.examples import DOMAIN, MESSAGE, bounce_address, unsubscribe_address
from tests.unit.moving_clock import Clock
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("time")

DAY = 86_400


@pytest.mark.parametrize("fold", [str, str.upper])
def test_each_address_stands_for_its_purpose_and_message(fold: type[str]) -> None:
    assert target_of(fold(bounce_address())) == InboundTarget(Purpose.REPORT, MESSAGE)
    assert target_of(fold(unsubscribe_address())) == InboundTarget(Purpose.UNSUBSCRIPTION, MESSAGE)
    assert target_of(fold("fbl@bounce.test")) == InboundTarget(Purpose.FEEDBACK)


def test_an_address_that_the_service_did_not_issue_has_no_target() -> None:
    genuine = bounce_address()
    for other in (
        "postmaster@bounce.test",
        "postmaster",
        "",
        genuine.replace("b.", "u.", 1),
        unsubscribe_address().replace("u.", "b.", 1),
        genuine.replace(MESSAGE, "0" * 24),
    ):
        assert target_of(other) is None


def test_an_expired_address_has_no_target(time: Clock) -> None:
    time.passes(settings().messages_retention + DAY)
    assert target_of(bounce_address()) is None


@given(st.lists(st.text(max_size=30), max_size=3))
def test_a_message_is_found_by_a_signed_address_in_any_text(before: list[str]) -> None:
    for address in (bounce_address(), unsubscribe_address()):
        alone = address.partition("@")[0]
        for around in (f"<{address}>", f"<mailto:{address}?subject=x>", address.upper(), alone):
            assert message_named_in([*before, f"a {around} b"]) == MESSAGE


def test_a_forged_address_in_a_text_is_ignored() -> None:
    forged = bounce_address().replace(MESSAGE, "0" * 24)
    assert message_named_in([forged, "fbl@bounce.test"]) is None
    assert message_named_in([forged, unsubscribe_address()]) == MESSAGE


@pytest.mark.usefixtures("cloud")
class TestServedDomains:
    @pytest.mark.spec("2.5-r5")
    @pytest.mark.parametrize("verified", ["cname_status", "mx_status"])
    def test_a_verified_bounce_domain_is_served(self, verified: str) -> None:
        status = DomainStatus(ownership_verified=True, **{verified: "valid"})
        store.create(domain(DOMAIN, status=status))
        assert is_served(DOMAIN.upper())

    @pytest.mark.spec("2.5-r5")
    def test_a_verified_domain_that_takes_no_bounces_any_more_is_served(self) -> None:
        status = DomainStatus(ownership_verified=True, cname_status="invalid")
        store.create(domain(DOMAIN, status=status))
        assert is_served(DOMAIN)

    @pytest.mark.spec("2.5-r5")
    def test_other_domains_are_not_served(self) -> None:
        store.create(domain(DOMAIN, status=DomainStatus()))
        for name in (DOMAIN, f"a.{DOMAIN}", "elsewhere.test", "", "-", "[127.0.0.1]", "\ud800"):
            assert not is_served(name)

    def test_the_cname_targets_of_bounce_domains_are_served(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SYSTEM_DOMAIN", "Post.test")
        settings.cache_clear()
        assert is_served("pOST.test")
        assert is_served("12.mail.post.test")
        for name in ("a.mail.post.test", "mail.post.test", "1.2.mail.post.test", "12.mail.a.test"):
            assert not is_served(name)
        monkeypatch.setenv("TENANT_DOMAIN", "t{account}.example")
        settings.cache_clear()
        assert is_served("T7.example")
        assert not is_served("12.mail.post.test")

    @pytest.mark.cost
    def test_the_lookup_of_a_domain_is_cached(self) -> None:
        with aws_requests() as requests:
            for _ in range(3):
                assert not is_served("elsewhere.test")
        assert len(requests) == 1
