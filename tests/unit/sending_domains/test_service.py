"""Registering and updating sending domains, by ``POST`` and ``PUT /sending-domains``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock, defaults, due
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import read_public
from chalicelib.domain_claims import store as claims
from chalicelib.sending_domains import service, store
from chalicelib.sending_domains.dkim_request import DkimBody, imported_key
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.routes import create_domain, update_domain
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.model import TrackingDomain
from tests.unit.key_pairs import OTHER, PAIR
from tests.unit.sending_domains.accounts import create_account
from tests.unit.sending_domains.examples import VERIFIED, domain
from tests.unit.sending_domains.requests import error_of, request, results
from tests.unit.zones import Zone

NAME = "mail.example.test"
NOW = 1_769_850_000.0

pytestmark = pytest.mark.usefixtures("zone")


def create(domain: str = NAME, *, account: int = 1, part: int = 0, **body: Any) -> Any:
    return results(create_domain(request({"domain": domain, **body}, account=account, part=part)))


def create_refusal(domain: Any = NAME, *, account: int = 1, part: int = 0, **body: Any) -> Any:
    body = {"domain": domain, **body} if domain is not None else body
    return error_of(lambda: create_domain(request(body, account=account, part=part)))


def put(name: str = NAME, *, account: int = 1, part: int = 0, **body: Any) -> Any:
    return results(update_domain(request(body, account=account, part=part), name))


def update_refusal(
    name: str = NAME, *, account: int = 1, part: int = 0, **body: Any
) -> dict[str, Any]:
    return error_of(lambda: update_domain(request(body, account=account, part=part), name))


def load(name: str = NAME) -> SendingDomain:
    sending_domain = store.get(name)
    assert sending_domain is not None
    return sending_domain


@pytest.mark.spec("4.4-t1")
@pytest.mark.spec("2.5-t1")
@pytest.mark.spec("2.5-t4")
def test_a_domain_is_created_with_a_generated_key() -> None:
    with clock.use(lambda: NOW):
        result = create()
    assert result["message"] == "Successfully Created domain."
    assert result["domain"] == NAME
    key = result["dkim"]
    assert set(key) == {"public", "selector", "signing_domain", "headers"}
    assert (key["selector"], key["signing_domain"]) == ("scph0126", NAME)
    assert key["headers"] == "from:to:subject:date"
    assert read_public(key["public"]).key_size == 1024
    sending_domain = load()
    assert sending_domain.dkim is not None
    assert sending_domain.dkim.public == key["public"]
    assert (sending_domain.created, sending_domain.status.ownership_verified) == (NOW, False)


@pytest.mark.spec("8-t9")
def test_a_longer_key_is_generated_on_request() -> None:
    result = create(dkim_key_length=2048)
    assert read_public(result["dkim"]["public"]).key_size == 2048
    assert create_refusal("b.test", dkim_key_length=100)["code"] == "1300"
    create("b.test", dkim_key_length=100, generate_dkim=False)


def test_a_key_in_the_request_is_stored_and_not_shown_in_the_response() -> None:
    key = {"private": PAIR.private_pem, "public": PAIR.public_b64, "selector": "mine"}
    assert create(dkim=key) == {
        "message": "Successfully Created domain.",
        "domain": NAME,
    }
    sending_domain = load()
    assert sending_domain.dkim is not None
    assert (sending_domain.dkim.selector, sending_domain.dkim.public) == ("mine", PAIR.public_b64)


@pytest.mark.spec("2.5-r1")
def test_a_key_that_cannot_be_used_keeps_the_domain_from_being_created() -> None:
    error = create_refusal(dkim={"private": PAIR.private_pem, "public": OTHER.public_b64})
    assert (error["status"], error["code"]) == (422, "1300")
    assert "do not match" in error["description"]
    assert store.get(NAME) is None


def test_a_generated_key_has_the_selector_of_the_request() -> None:
    assert create(dkim={"selector": "mine", "headers": "from:to"})["dkim"]["selector"] == "mine"


def test_without_generate_dkim_there_is_no_key() -> None:
    assert "dkim" not in create(generate_dkim=False)
    sending_domain = load()
    assert sending_domain.dkim is None


def test_null_fields_count_as_left_out() -> None:
    result = create(
        generate_dkim=None,
        dkim=None,
        dkim_key_length=None,
        tracking_domain=None,
        shared_with_subaccounts=None,
    )
    assert "dkim" in result


@pytest.mark.parametrize(
    ("domain", "reason"),
    [
        ("nodot", "no dot"),
        ("", "no dot"),
        ("a..test", "too short"),
        ("under_score.test", "invalid characters"),
        ("spa ce.test", "invalid characters"),
        ("192.0.2.1", "a number"),
        ("x" * 300 + ".test", "more than 253"),
        (".".join("x" * 40) + ".test", "too many parts"),
    ],
)
def test_an_invalid_domain_name_is_refused_with_the_reason(domain: str, reason: str) -> None:
    error = create_refusal(domain)
    assert (error["status"], error["code"]) == (422, "1300")
    assert error["description"].startswith("Error validating domain name syntax for domain: '")
    assert reason in error["description"]


def test_a_missing_domain_and_one_of_the_wrong_type_have_different_codes() -> None:
    assert create_refusal(None)["code"] == "1400"
    assert create_refusal(7)["code"] == "1300"


def test_an_international_name_is_stored_in_its_ascii_form() -> None:
    assert create("Bücher.test")["domain"] == "xn--bcher-kva.test"
    assert create_refusal("BÜCHER.test")["code"] == "1602"
    sending_domain = load("bücher.test")
    assert sending_domain.dkim is not None
    assert sending_domain.dkim.signing_domain == "xn--bcher-kva.test"


@pytest.mark.spec("7-t25")
@pytest.mark.parametrize("domain", ["gmail.com", "mail.GMAIL.com", "co.uk", "github.io", "b.ck"])
def test_a_mailbox_providers_domain_and_a_public_suffix_are_restricted(domain: str) -> None:
    error = create_refusal(domain)
    assert (error["status"], error["code"]) == (400, "7000")
    assert error["message"] == "Restricted domain"


def test_restricted_domains_are_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTRICTED_DOMAINS", "ours.test")
    settings.cache_clear()
    assert create_refusal("a.ours.test")["code"] == "7000"
    create("notours.test")
    create("gmail.com")


@pytest.mark.spec("7-t27")
def test_a_domain_of_another_account_and_its_subdomains_are_refused() -> None:
    create("example.test")
    for name in ("example.test", "deep.mail.example.test"):
        error = create_refusal(name, account=2)
        assert (error["status"], error["code"]) == (400, "7004")
        assert error["message"] == "Domain in use by another account"


def test_a_domain_that_the_account_already_has_is_a_conflict() -> None:
    create()
    for part in (0, 7):
        error = create_refusal(part=part)
        assert (error["status"], error["code"]) == (409, "1602")


@pytest.mark.spec("4.4-t1")
def test_a_domain_that_compliance_blocks_is_refused() -> None:
    claims.block("example.test")
    error = create_refusal()
    assert (error["status"], error["code"]) == (400, "7000")


@pytest.mark.spec("2.5-t5")
@pytest.mark.spec("2.5-t6")
def test_the_subaccount_of_the_request_owns_the_domain_and_cannot_share_it() -> None:
    create(part=7)
    sending_domain = load()
    assert sending_domain.subaccount_id == 7
    assert create_refusal("b.test", part=7, shared_with_subaccounts=True)["code"] == "1300"
    create("c.test", shared_with_subaccounts=True)
    other = load("c.test")
    assert other.shared_with_subaccounts


@pytest.mark.spec("2.5-t2")
@pytest.mark.spec("7-t15")
def test_a_tracking_domain_must_be_registered_for_the_same_subaccount() -> None:
    tracking_domains.create(TrackingDomain("t.test", 1, 0.0))
    tracking_domains.create(TrackingDomain("t7.test", 1, 0.0, subaccount_id=7))
    tracking_domains.create(TrackingDomain("other.test", 2, 0.0))
    create("a.test", tracking_domain="T.test")
    create("b.test", part=7, tracking_domain="t7.test")
    sending_domain = load("a.test")
    assert sending_domain.tracking_domain == "t.test"
    for part, name in ((0, "t7.test"), (7, "t.test"), (0, "other.test"), (0, "unknown.test")):
        error = create_refusal("c.test", part=part, tracking_domain=name)
        assert (error["status"], error["code"]) == (400, "1200")
        assert (
            error["description"] == f"Tracking domain '{name}' is not a registered tracking domain"
        )
    assert store.get("c.test") is None


def test_a_new_domain_is_due_for_deletion_after_two_weeks() -> None:
    with clock.use(lambda: NOW):
        create()
    (entry,) = due.find(store.CONCERN, int((NOW + 14 * 86_400) * 1000))
    assert entry.key == NAME
    assert due.find(store.CONCERN, int((NOW + 14 * 86_400 - 1) * 1000)) == []


@pytest.mark.spec("4.4-t4")
def test_an_update_changes_only_the_fields_of_the_request() -> None:
    store.create(domain())
    assert put(shared_with_subaccounts=True) == {
        "message": "Successfully Updated Domain.",
        "domain": NAME,
    }
    assert load().shared_with_subaccounts
    put()
    put(shared_with_subaccounts=None)
    assert load().shared_with_subaccounts
    put(shared_with_subaccounts=False)
    assert not load().shared_with_subaccounts


@pytest.mark.spec("4.4-t4")
@pytest.mark.spec("2.5-t2")
def test_a_tracking_domain_is_linked_and_an_empty_one_removes_it() -> None:
    store.create(domain())
    store.create(domain("b.test", subaccount_id=7))
    tracking_domains.create(TrackingDomain("t.test", 1, 0.0))
    put(tracking_domain="t.test")
    put(shared_with_subaccounts=False)
    assert load().tracking_domain == "t.test"
    assert update_refusal(tracking_domain="unknown.test")["code"] == "1200"
    assert update_refusal("b.test", part=7, tracking_domain="t.test")["code"] == "1200"
    assert load().tracking_domain == "t.test"
    put(tracking_domain="")
    assert load().tracking_domain == ""


def test_only_a_domain_of_the_scope_can_be_changed() -> None:
    store.create(domain(shared_with_subaccounts=True))
    store.create(domain("b.test", subaccount_id=7))
    for name, account, part in ((NAME, 2, 0), (NAME, 1, 7), ("b.test", 1, 0), ("none.test", 1, 0)):
        error = update_refusal(name, account=account, part=part, shared_with_subaccounts=True)
        assert (error["status"], error["code"]) == (404, "1600")


@pytest.mark.spec("2.5-t5")
def test_a_subaccounts_domain_cannot_be_shared() -> None:
    store.create(domain(subaccount_id=7))
    assert update_refusal(part=7, shared_with_subaccounts=True)["code"] == "1300"
    put(part=7, shared_with_subaccounts=False)


@pytest.mark.spec("4.4-t4")
@pytest.mark.spec("7-t17")
def test_a_new_key_must_have_its_dns_record_before_the_update(zone: Zone) -> None:
    store.create(domain(status=DomainStatus()))
    key = {"private": PAIR.private_pem, "public": PAIR.public_b64, "selector": "new"}
    error = update_refusal(dkim=key, shared_with_subaccounts=True)
    assert (error["status"], error["code"]) == (400, "1404")
    assert error["message"] == "request to remote endpoint failed"
    assert error["description"].startswith(f"Unable to verify DKIM record of {NAME}. DNS DKIM")
    assert load() == domain(status=DomainStatus()), "nothing else was changed either"
    zone.set(f"new._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    put(dkim=key)
    after = load()
    assert after.dkim is not None
    assert (after.dkim.selector, after.dkim.public) == ("new", PAIR.public_b64)
    assert after.status.dkim_status == "valid"
    assert after.may_send
    assert after.signing_key == after.dkim


@pytest.mark.spec("7-t17")
def test_a_dns_that_does_not_answer_fails_the_update(zone: Zone) -> None:
    store.create(domain())
    zone.failing.add(f"new._domainkey.{NAME}")
    error = update_refusal(dkim={"private": PAIR.private_pem, "selector": "new"})
    assert error["code"] == "1404"
    assert "gave no answer" in error["description"]
    assert load() == domain()


def test_the_selector_alone_can_change(zone: Zone) -> None:
    body = DkimBody(private=PAIR.private_pem, selector="old")
    store.create(domain(dkim=imported_key(body, NAME)))
    zone.set(f"new._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    put(dkim={"selector": "new"})
    after = load().dkim
    assert after is not None
    assert (after.selector, after.public) == ("new", PAIR.public_b64)


def test_the_selector_of_a_further_key_is_not_free(zone: Zone) -> None:
    store.create(domain(dkim=None))
    owner = store.get(NAME)
    assert owner is not None
    key = imported_key(DkimBody(private=OTHER.private_pem, selector="Two"), NAME)
    further_keys.add(owner, FurtherKey("k1", key, 1.0))
    zone.set(f"two._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    error = update_refusal(dkim={"private": PAIR.private_pem, "selector": "two"})
    assert (error["status"], error["code"]) == (409, "1602")
    assert load().dkim is None


@pytest.mark.spec("2.5-r1")
@pytest.mark.parametrize(
    ("key", "code"),
    [
        ({"private": PAIR.private_pem, "public": OTHER.public_b64}, "1300"),
        ({"private": ""}, "1300"),
        ({"private": PAIR.private_pem, "selector": ""}, "1300"),
        ({"public": PAIR.public_b64}, "1400"),
        ("text", "1300"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused(key: Any, code: str) -> None:
    store.create(domain())
    error = update_refusal(dkim=key)
    assert (error["status"], error["code"]) == (422, code)
    assert load() == domain()


@pytest.mark.spec("2.5-t7")
def test_a_default_bounce_domain_needs_a_valid_cname_or_mx() -> None:
    store.create(domain("a.test", status=DomainStatus(True, dkim_status="valid")))
    store.create(domain("b.test", status=VERIFIED))
    store.create(domain("c.test", status=DomainStatus(True, mx_status="valid")))
    error = update_refusal("a.test", is_default_bounce_domain=True)
    assert (error["status"], error["code"]) == (422, "1300")
    for name in ("b.test", "c.test"):
        put(name, is_default_bounce_domain=True)
        assert load(name).is_default_bounce_domain


def test_a_blocked_domain_cannot_become_the_default_bounce_domain() -> None:
    store.create(domain("a.test", status=replace(VERIFIED, compliance_status="blocked")))
    error = update_refusal("a.test", is_default_bounce_domain=True)
    assert (error["status"], error["code"]) == (422, "1300")
    assert not load("a.test").is_default_bounce_domain


@pytest.mark.spec("2.5-t7")
def test_the_primary_account_and_each_subaccount_have_one_default_bounce_domain() -> None:
    for name, subaccount in (("a.test", None), ("b.test", None), ("c.test", 7), ("d.test", 8)):
        store.create(domain(name, subaccount_id=subaccount))
        put(name, part=subaccount or 0, is_default_bounce_domain=True)
        put(name, part=subaccount or 0, is_default_bounce_domain=True)
    flags = {name: load(name).is_default_bounce_domain for name in ("a.test", "b.test", "c.test")}
    assert flags == {"a.test": False, "b.test": True, "c.test": True}
    assert defaults.of_owner(store.BOUNCE, 1, None) == "b.test"
    put("a.test", is_default_bounce_domain=False)
    assert defaults.of_owner(store.BOUNCE, 1, None) == "b.test"
    put("b.test", is_default_bounce_domain=False)
    assert defaults.of_owner(store.BOUNCE, 1, None) is None
    assert defaults.of_owner(store.BOUNCE, 1, 7) == "c.test"


@pytest.mark.spec("2.5-t7")
def test_enterprise_accounts_have_no_default_bounce_domain() -> None:
    create_account(1, enterprise=True)
    store.create(domain())
    assert update_refusal(is_default_bounce_domain=True)["status"] == 403
    put(is_default_bounce_domain=False)


def test_all_changes_of_one_request_are_made_in_one_write(zone: Zone) -> None:
    tracking_domains.create(TrackingDomain("t.test", 1, 0.0))
    store.create(domain())
    zone.set(f"new._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    with clock.use(lambda: 2_000_000_000.0):
        put(
            tracking_domain="t.test",
            shared_with_subaccounts=True,
            is_default_bounce_domain=True,
            dkim={"private": PAIR.private_pem, "selector": "new"},
        )
    after = load()
    assert after.shared_with_subaccounts
    assert after.is_default_bounce_domain
    assert after.tracking_domain == "t.test"
    assert after.check_ms == int((2_000_000_000 + settings().domain_recheck) * 1000)
    assert after.revision == 1


def test_a_concurrent_change_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    store.create(domain())
    real: Callable[..., None] = service._save
    others = iter([lambda: put(shared_with_subaccounts=True)])

    def interrupted(*arguments: Any) -> None:
        for other in others:
            other()
        real(*arguments)

    monkeypatch.setattr(service, "_save", interrupted)
    put(is_default_bounce_domain=True)
    assert load().is_default_bounce_domain
    assert load().shared_with_subaccounts
