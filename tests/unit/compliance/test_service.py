"""Names that the operator blocks: nobody registers them or sends with them."""

from __future__ import annotations

import pytest

from chalicelib.compliance.service import AffectedDomains, NotBlocked, block, unblock
from chalicelib.core.domain_names import BadName
from chalicelib.core.errors import ApiError
from chalicelib.domain_claims import store as claims
from chalicelib.sending_domains import store
from chalicelib.sending_domains.lookup import bounce_domain_for, check_usable
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.lookup import choose
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain
from tests.unit.tracking_domains.examples import store_tracking_domain

pytestmark = pytest.mark.usefixtures("cloud")


def may_send(name: str, account: int) -> bool:
    try:
        check_usable(store.get(name), name, account, None)
    except ApiError:
        return False
    return True


@pytest.mark.spec("7-t26")
def test_a_blocked_domain_and_domains_below_it_cannot_send_in_any_account() -> None:
    store.create(domain("example.com"))
    store.create(domain("a.example.com", subaccount_id=7))
    store.create(domain("b.other.com", account=2))
    store.create(domain("c.other.com", account=3))
    assert block("Example.com").sending == ["a.example.com", "example.com"]
    assert block("example.com") == AffectedDomains([], [])
    assert not may_send("example.com", 1)
    assert may_send("b.other.com", 2)
    assert block("other.com").sending == ["b.other.com", "c.other.com"]
    assert not may_send("b.other.com", 2)
    assert not may_send("c.other.com", 3)


def test_a_block_stays_when_the_domain_is_deleted() -> None:
    store.create(domain("example.com"))
    block("example.com")
    sending_domain = store.get("example.com")
    assert sending_domain is not None
    assert sending_domain.status.compliance_status == "blocked"
    store.delete(sending_domain)
    assert not store.create(domain("example.com", account=2))
    assert unblock("example.com") == AffectedDomains([], [])
    assert store.create(domain("example.com", account=2))


def test_a_domain_that_another_block_covers_stays_blocked() -> None:
    for name in ("example.com", "a.example.com", "b.example.com"):
        store.create(domain(name))
    block("example.com")
    block("a.example.com")
    assert list(claims.blocked_names()) == ["a.example.com", "example.com"]
    assert unblock("example.com").sending == ["b.example.com", "example.com"]
    assert list(claims.blocked_names()) == ["a.example.com"]
    assert may_send("example.com", 1)
    assert may_send("b.example.com", 1)
    assert not may_send("a.example.com", 1)


@pytest.mark.parametrize("text", ["nodot", "co.uk"])
def test_text_that_names_no_domain_of_one_owner_cannot_be_blocked(text: str) -> None:
    with pytest.raises(BadName):
        block(text)
    assert list(claims.blocked_names()) == []


def test_only_a_name_that_is_blocked_itself_can_be_unblocked() -> None:
    block("example.com")
    with pytest.raises(NotBlocked):
        unblock("a.example.com")


def test_new_links_do_not_have_a_blocked_tracking_domain() -> None:
    make_account(1)
    make_account(2)
    store_tracking_domain("track.example.com", default=True)
    store_tracking_domain("track.other.com", account=2, default=True)
    before = choose(1, None, requested="track.example.com")
    assert block("example.com") == AffectedDomains([], ["track.example.com"])
    assert choose(1, None) != before
    with pytest.raises(ApiError) as error:
        choose(1, None, requested="track.example.com")
    assert error.value.status == 400
    assert choose(2, None) == "http://track.other.com"
    assert unblock("example.com").tracking == ["track.example.com"]
    assert choose(1, None) == before
    tracking_domain = tracking_domains.get("track.example.com")
    assert tracking_domain is not None
    assert tracking_domain.default


def test_a_blocked_domain_does_not_take_the_bounces_of_new_mail_and_does_not_sign() -> None:
    store.create(domain("bounces.example.com"))
    assert bounce_domain_for(1, None, "b@bounces.example.com") == "bounces.example.com"
    block("example.com")
    with pytest.raises(ApiError) as error:
        bounce_domain_for(1, None, "b@bounces.example.com")
    assert error.value.code == "7001"
    sending_domain = store.get("bounces.example.com")
    assert sending_domain is not None
    assert sending_domain.signing_key is None
    # Bounces of the mail before still come back to it
    assert sending_domain.takes_bounces
