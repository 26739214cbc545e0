"""``PUT /sending-domains/{domain}``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.core import clock, defaults
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import generate_key
from chalicelib.sending_domains import service, store
from chalicelib.sending_domains.dkim_request import DkimBody, imported_key
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.routes import update_domain
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.model import TrackingDomain
from tests.unit.sending_domains.accounts import create_account
from tests.unit.sending_domains.examples import VERIFIED, domain
from tests.unit.sending_domains.requests import refused, request, results
from tests.unit.zones import Zone

PAIR, OTHER = generate_key(1024), generate_key(1024)
NAME = "mail.example.test"


@pytest.fixture(autouse=True)
def dns(zone: Zone) -> Zone:
    return zone


def put(name: str = NAME, *, account: int = 1, part: int = 0, **body: Any) -> Any:
    return results(update_domain(request(body, account=account, part=part), name))


def refusal(name: str = NAME, *, account: int = 1, part: int = 0, **body: Any) -> dict[str, Any]:
    return refused(lambda: update_domain(request(body, account=account, part=part), name))


def stored(name: str = NAME) -> SendingDomain:
    found = store.get(name)
    assert found is not None
    return found


@pytest.mark.spec("4.4-t4")
def test_an_update_says_what_it_changed() -> None:
    store.create(domain())
    assert put(shared_with_subaccounts=True) == {
        "message": "Successfully Updated Domain.",
        "domain": NAME,
    }
    assert stored().shared_with_subaccounts
    put()
    put(shared_with_subaccounts=None)
    assert stored().shared_with_subaccounts
    put(shared_with_subaccounts=False)
    assert not stored().shared_with_subaccounts


@pytest.mark.spec("4.4-t4")
@pytest.mark.spec("2.5-t2")
def test_a_tracking_domain_is_linked_and_an_empty_one_removes_it() -> None:
    store.create(domain())
    store.create(domain("b.test", subaccount_id=7))
    tracking_domains.create(TrackingDomain("t.test", 1, 0.0))
    put(tracking_domain="t.test")
    put(shared_with_subaccounts=False)
    assert stored().tracking_domain == "t.test"
    assert refusal(tracking_domain="unknown.test")["code"] == "1200"
    assert refusal("b.test", part=7, tracking_domain="t.test")["code"] == "1200"
    assert stored().tracking_domain == "t.test"
    put(tracking_domain="")
    assert stored().tracking_domain == ""


def test_only_a_domain_of_the_scope_can_be_changed() -> None:
    store.create(domain(shared_with_subaccounts=True))
    store.create(domain("b.test", subaccount_id=7))
    for name, account, part in ((NAME, 2, 0), (NAME, 1, 7), ("b.test", 1, 0), ("none.test", 1, 0)):
        error = refusal(name, account=account, part=part, shared_with_subaccounts=True)
        assert (error["status"], error["code"]) == (404, "1600")


@pytest.mark.spec("2.5-t5")
def test_a_subaccounts_domain_cannot_be_shared() -> None:
    store.create(domain(subaccount_id=7))
    assert refusal(part=7, shared_with_subaccounts=True)["code"] == "1300"
    put(part=7, shared_with_subaccounts=False)


@pytest.mark.spec("4.4-t4")
@pytest.mark.spec("7-t17")
def test_a_new_key_needs_its_record_in_the_dns_beforehand(zone: Zone) -> None:
    store.create(domain(status=DomainStatus()))
    key = {"private": PAIR.private_pem, "public": PAIR.public_b64, "selector": "new"}
    error = refusal(dkim=key, shared_with_subaccounts=True)
    assert (error["status"], error["code"]) == (400, "1404")
    assert error["message"] == "request to remote endpoint failed"
    assert error["description"].startswith(f"Unable to verify DKIM record of {NAME}. DNS DKIM")
    assert stored() == domain(status=DomainStatus()), "nothing else was changed either"
    zone.set(f"new._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    put(dkim=key)
    after = stored()
    assert after.dkim is not None
    assert (after.dkim.selector, after.dkim.public) == ("new", PAIR.public_b64)
    assert after.status.dkim_status == "valid"
    assert after.may_send
    assert after.signing_key == after.dkim


@pytest.mark.spec("7-t17")
def test_a_dns_that_does_not_answer_fails_the_update(zone: Zone) -> None:
    store.create(domain())
    zone.failing.add(f"new._domainkey.{NAME}")
    error = refusal(dkim={"private": PAIR.private_pem, "selector": "new"})
    assert error["code"] == "1404"
    assert "gave no answer" in error["description"]
    assert stored() == domain()


def test_the_selector_alone_can_change(zone: Zone) -> None:
    body = DkimBody(private=PAIR.private_pem, selector="old")
    store.create(domain(dkim=imported_key(body, NAME)))
    zone.set(f"new._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    put(dkim={"selector": "new"})
    after = stored().dkim
    assert after is not None
    assert (after.selector, after.public) == ("new", PAIR.public_b64)


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
    error = refusal(dkim=key)
    assert (error["status"], error["code"]) == (422, code)
    assert stored() == domain()


@pytest.mark.spec("2.5-t7")
def test_a_default_bounce_domain_needs_a_valid_cname_or_mx() -> None:
    store.create(domain("a.test", status=DomainStatus(True, dkim_status="valid")))
    store.create(domain("b.test", status=VERIFIED))
    store.create(domain("c.test", status=DomainStatus(True, mx_status="valid")))
    error = refusal("a.test", is_default_bounce_domain=True)
    assert (error["status"], error["code"]) == (422, "1300")
    for name in ("b.test", "c.test"):
        put(name, is_default_bounce_domain=True)
        assert stored(name).is_default_bounce_domain


@pytest.mark.spec("2.5-t7")
def test_the_primary_account_and_each_subaccount_have_one_default_each() -> None:
    for name, subaccount in (("a.test", None), ("b.test", None), ("c.test", 7), ("d.test", 8)):
        store.create(domain(name, subaccount_id=subaccount))
        put(name, part=subaccount or 0, is_default_bounce_domain=True)
        put(name, part=subaccount or 0, is_default_bounce_domain=True)
    flags = {name: stored(name).is_default_bounce_domain for name in ("a.test", "b.test", "c.test")}
    assert flags == {"a.test": False, "b.test": True, "c.test": True}
    assert defaults.current(store.BOUNCE, 1, None) == "b.test"
    put("a.test", is_default_bounce_domain=False)
    assert defaults.current(store.BOUNCE, 1, None) == "b.test"
    put("b.test", is_default_bounce_domain=False)
    assert defaults.current(store.BOUNCE, 1, None) is None
    assert defaults.current(store.BOUNCE, 1, 7) == "c.test"


@pytest.mark.spec("2.5-t7")
def test_enterprise_accounts_have_no_default_bounce_domain() -> None:
    create_account(1, enterprise=True)
    store.create(domain())
    assert refusal(is_default_bounce_domain=True)["status"] == 403
    put(is_default_bounce_domain=False)


def test_everything_in_one_request_is_changed_together(zone: Zone) -> None:
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
    after = stored()
    assert after.shared_with_subaccounts
    assert after.is_default_bounce_domain
    assert after.tracking_domain == "t.test"
    assert after.check_ms == int((2_000_000_000 + settings().domain_recheck) * 1000)
    assert after.revision == 1


def test_a_change_by_somebody_else_in_between_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    store.create(domain())
    real: Callable[..., None] = service._save
    others = iter([lambda: put(shared_with_subaccounts=True)])

    def interrupted(before: SendingDomain, after: SendingDomain) -> None:
        for other in others:
            other()
        real(before, after)

    monkeypatch.setattr(service, "_save", interrupted)
    put(is_default_bounce_domain=True)
    assert stored().is_default_bounce_domain
    assert stored().shared_with_subaccounts
