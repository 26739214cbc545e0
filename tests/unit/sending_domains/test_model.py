from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.sending_domains.model import DomainStatus, SendingDomain, with_status
from tests.unit.sending_domains.examples import KEY, domain


@pytest.mark.spec("2.5-t3")
def test_a_new_domain_is_unverified_in_all_checks_and_not_blocked() -> None:
    status = SendingDomain("a.test", 1, 0.0).status
    checks = ["spf", "abuse_at", "dkim", "cname", "mx", "postmaster_at", "verification_mailbox"]
    assert {getattr(status, f"{check}_status") for check in checks} == {"unverified"}
    assert status.ownership_verified is False
    assert status.compliance_status == "valid"


@pytest.mark.parametrize(
    ("verified", "compliance", "may_send"),
    [(True, "valid", True), (False, "valid", False), (True, "blocked", False)],
)
def test_a_domain_may_send_when_it_is_verified_and_not_blocked(
    verified: bool, compliance: str, may_send: bool
) -> None:
    status = DomainStatus(ownership_verified=verified, compliance_status=compliance)
    assert domain(status=status).may_send is may_send


@pytest.mark.spec("3-t12")
def test_a_domain_verified_by_mailbox_may_send_but_has_no_signing_key() -> None:
    by_mailbox = domain(status=DomainStatus(ownership_verified=True))
    assert by_mailbox.may_send
    assert by_mailbox.signing_key is None


@pytest.mark.parametrize("status", ["unverified", "pending", "invalid"])
def test_only_a_key_whose_record_is_valid_signs(status: str) -> None:
    assert domain().signing_key == KEY
    assert domain(dkim=None).signing_key is None
    assert domain(status=DomainStatus(True, dkim_status=status)).signing_key is None


@pytest.mark.spec("2.5-t5")
@pytest.mark.parametrize(
    ("owner", "shared", "sender", "usable"),
    [
        (None, False, None, True),
        (None, False, 0, True),
        (None, False, 7, False),
        (None, True, 7, True),
        (7, False, 7, True),
        (7, False, 8, False),
        (7, False, None, False),
        (7, False, 0, False),
        (7, True, 8, False),
    ],
)
def test_a_domain_is_usable_by_its_owner_and_if_shared_by_subaccounts(
    owner: int | None, shared: bool, sender: int | None, usable: bool
) -> None:
    sending_domain = domain(subaccount_id=owner, shared_with_subaccounts=shared)
    assert sending_domain.usable_by(1, sender) is usable
    assert not sending_domain.usable_by(2, sender)


def test_any_valid_check_verifies_ownership_and_without_one_it_is_lost() -> None:
    for check in ("cname", "mx", "abuse_at", "postmaster_at", "verification_mailbox", "dkim"):
        sending_domain = domain(status=DomainStatus())
        proven = with_status(sending_domain, **{f"{check}_status": "valid"})
        assert proven.status.ownership_verified
        lost = with_status(proven, **{f"{check}_status": "invalid"})
        assert not lost.status.ownership_verified
    assert not with_status(domain(status=DomainStatus()), spf_status="valid").may_send


@pytest.mark.parametrize(
    ("signing_domain", "proves"),
    [
        ("mail.example.test", True),
        ("example.test", True),
        ("other.test", False),
        ("sub.mail.example.test", False),
        ("ample.test", False),
    ],
)
def test_a_dkim_record_proves_ownership_at_the_domain_or_above(
    signing_domain: str, proves: bool
) -> None:
    key = replace(KEY, signing_domain=signing_domain)
    sending_domain = with_status(domain(dkim=key, status=DomainStatus()), dkim_status="valid")
    assert sending_domain.status.ownership_verified is proves
    assert sending_domain.signing_key == key


@pytest.mark.spec("2.5-r5")
@pytest.mark.spec("2.5-t7")
def test_a_domain_without_valid_cname_and_mx_takes_no_bounces_and_stays_the_default() -> None:
    sending_domain = domain(is_default_bounce_domain=True)
    assert sending_domain.takes_bounces
    assert with_status(sending_domain, dkim_status="invalid").is_default_bounce_domain
    moved = with_status(sending_domain, cname_status="invalid", mx_status="valid")
    assert moved.takes_bounces
    assert moved.is_default_bounce_domain
    without_cname = with_status(sending_domain, cname_status="invalid")
    assert not without_cname.takes_bounces
    assert without_cname.is_default_bounce_domain


@pytest.mark.spec("2.5-t7")
def test_the_default_of_an_owner_is_that_of_no_other() -> None:
    primary = domain(is_default_bounce_domain=True, shared_with_subaccounts=True)
    own = domain(is_default_bounce_domain=True, subaccount_id=7)
    owners = [(1, None), (1, 0), (1, 7), (1, 8), (2, None)]
    assert [primary.is_default_of(*owner) for owner in owners] == [True, True, False, False, False]
    assert [own.is_default_of(*owner) for owner in owners] == [False, False, True, False, False]
