from __future__ import annotations

from dataclasses import asdict

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import lookup, store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.lookup import bounce_domain_for, check_usable, signing_key
from chalicelib.sending_domains.model import DomainStatus, SendingDomain, with_status
from tests.fake_cloud import aws_requests
from tests.unit.refusals import refusal
from tests.unit.sending_domains.accounts import create_account
from tests.unit.sending_domains.examples import KEY, VERIFIED, domain

pytestmark = pytest.mark.usefixtures("cloud")

NAME = "mail.example.test"


def refusal_text(name: str, account: int, subaccount: int | None) -> str:
    error = refusal(check_usable, store.get(name), name, account, subaccount)
    (only,) = error.errors
    assert (error.status, only["code"], only["message"]) == (400, "7001", "Invalid domain")
    return str(only["description"])


@pytest.mark.cost
def test_a_verified_domain_of_the_sender_is_returned() -> None:
    store.create(domain())
    with aws_requests() as requests:
        sending_domain = store.get("MAIL.example.test")
    assert check_usable(sending_domain, "MAIL.example.test", 1, None) == domain()
    assert len(requests) == 1


def test_an_international_domain_is_found_in_both_spellings() -> None:
    store.create(domain("bücher.test"))
    for name in ("bücher.test", "xn--bcher-kva.test"):
        assert check_usable(store.get(name), name, 1, None).domain == "xn--bcher-kva.test"


@pytest.mark.spec("4.1-r6")
@pytest.mark.spec("7-t26")
def test_a_domain_that_nobody_registered_is_unconfigured() -> None:
    assert refusal_text(NAME, 1, None) == f"Unconfigured Sending Domain <{NAME}>"


def test_a_domain_of_another_sender_gets_the_same_error_as_an_unknown_one() -> None:
    store.create(domain())
    description = f"Unconfigured Sending Domain <{NAME}>"
    assert refusal_text(NAME, 2, None) == description
    assert refusal_text(NAME, 1, 7) == description


@pytest.mark.spec("4.1-r6")
@pytest.mark.parametrize(
    ("status", "text"),
    [
        (DomainStatus(), "Unverified Sending Domain"),
        (
            DomainStatus(ownership_verified=True, compliance_status="blocked"),
            "Blocked Sending Domain",
        ),
    ],
)
def test_a_domain_that_is_unverified_or_blocked_is_refused(status: DomainStatus, text: str) -> None:
    store.create(domain(status=status))
    assert refusal_text(NAME, 1, None).startswith(text)


def with_keys(**statuses: str) -> SendingDomain:
    """Store a domain with further keys of these selectors and statuses."""
    store.create(domain())
    for selector, status in statuses.items():
        sending_domain = store.get(NAME)
        assert sending_domain is not None
        key = FurtherKey(f"id-{selector}", DkimKey(selector, NAME, "p", b"s"), 1.0, status)
        further_keys.add(sending_domain, key)
    sending_domain = store.get(NAME)
    assert sending_domain is not None
    return sending_domain


@pytest.mark.cost
def test_without_a_selector_the_domains_own_key_signs_and_nothing_is_read() -> None:
    sending_domain = with_keys(other="valid")
    with aws_requests() as requests:
        assert (
            signing_key(sending_domain)
            == signing_key(sending_domain, "")
            == signing_key(sending_domain, "S1")
            == KEY
        )
        assert signing_key(domain(status=DomainStatus(True))) is None
    assert requests == []


@pytest.mark.cost
def test_a_selector_chooses_among_the_verified_keys() -> None:
    sending_domain = with_keys(one="valid", two="valid")
    with aws_requests() as requests:
        key = signing_key(sending_domain, "TWO")
    assert key is not None
    assert (key.selector, len(requests)) == ("two", 1)
    by_id = signing_key(sending_domain, "id-one")
    assert by_id is not None
    assert by_id.selector == "one"


@pytest.mark.spec("4.1-r7")
@pytest.mark.spec("7-t14")
@pytest.mark.parametrize("selector", ["none", "new", "gone", "x" * 5000, "é", "s1"])
def test_an_unknown_or_unverified_key_is_refused(selector: str) -> None:
    sending_domain = with_keys(new="unverified", gone="invalid")
    if selector == "s1":
        sending_domain = domain(status=DomainStatus(True, dkim_status="invalid"))
    with pytest.raises(ApiError) as refusal_info:
        signing_key(sending_domain, selector)
    assert (refusal_info.value.status, refusal_info.value.code) == (400, "1100")


def test_bounces_go_to_the_services_own_domain_when_there_is_no_default() -> None:
    store.create(domain())
    assert bounce_domain_for(1, None) == bounce_domain_for(1, 7) == settings().system_domain


@pytest.mark.spec("2.5-r5")
@pytest.mark.spec("2.5-t7")
def test_bounces_go_to_the_senders_own_default() -> None:
    store.create(domain("main.test", is_default_bounce_domain=True, shared_with_subaccounts=True))
    store.create(domain("sub.test", subaccount_id=7, is_default_bounce_domain=True))
    assert bounce_domain_for(1, None) == "main.test"
    assert bounce_domain_for(1, 7) == "sub.test"
    assert bounce_domain_for(2, None) == settings().system_domain


@pytest.mark.spec("2.5-t7")
@pytest.mark.parametrize("shared", [True, False])
def test_a_subaccount_does_not_use_the_default_of_the_primary_account(shared: bool) -> None:
    main = domain("main.test", is_default_bounce_domain=True, shared_with_subaccounts=shared)
    store.create(main)
    assert bounce_domain_for(1, 7) == settings().system_domain
    assert bounce_domain_for(1, 7, sending=main) == settings().system_domain


@pytest.mark.spec("2.5-t7")
@pytest.mark.parametrize("reason", ["cname", "block"])
def test_a_default_that_takes_no_bounces_is_not_used_until_it_does_again(reason: str) -> None:
    bad = {"cname": {"cname_status": "invalid"}, "block": {"compliance_status": "blocked"}}[reason]
    store.create(domain(is_default_bounce_domain=True))
    for changes, expected in ((bad, settings().system_domain), (asdict(VERIFIED), NAME)):
        after = store.change(NAME, lambda before, c=changes: with_status(before, **c))
        assert after is not None
        assert after.is_default_bounce_domain
        assert bounce_domain_for(1, None) == expected
        assert bounce_domain_for(1, None, sending=after) == expected


@pytest.mark.cost
def test_no_request_is_made_when_the_sending_domain_is_the_default() -> None:
    sending_domain = domain(is_default_bounce_domain=True)
    store.create(sending_domain)
    with aws_requests() as requests:
        assert bounce_domain_for(1, None, sending=sending_domain) == NAME
        assert bounce_domain_for(1, 0, sending=sending_domain) == NAME
    assert requests == []
    assert bounce_domain_for(1, 7, sending=sending_domain) == settings().system_domain


@pytest.mark.spec("2.1-t9")
@pytest.mark.spec("2.5-r5")
def test_a_return_path_chooses_among_the_domains_that_may_take_bounces() -> None:
    store.create(domain("cname.test", status=DomainStatus(True, cname_status="valid")))
    store.create(domain("mx.test", status=DomainStatus(True, mx_status="valid")))
    store.create(domain("dkim.test", status=DomainStatus(True, dkim_status="valid")))
    store.create(domain("other.test", account=2))
    assert bounce_domain_for(1, None, "any@CNAME.test") == "cname.test"
    assert bounce_domain_for(1, None, "any@mx.test") == "mx.test"
    for address in ("a@dkim.test", "a@other.test", "a@unknown.test"):
        with pytest.raises(ApiError) as refusal_info:
            bounce_domain_for(1, None, address)
        assert (refusal_info.value.status, refusal_info.value.code) == (400, "7001")
    with pytest.raises(ApiError):
        bounce_domain_for(1, 7, "any@cname.test")


def test_an_enterprise_account_may_name_any_return_path() -> None:
    create_account(1, enterprise=True)
    assert bounce_domain_for(1, None, "any@unknown.test") == "unknown.test"


def test_a_domain_from_a_batch_read_is_checked_the_same() -> None:
    assert lookup.check_usable(domain(), NAME, 1, None) == domain()
    with pytest.raises(ApiError):
        lookup.check_usable(None, NAME, 1, None)
