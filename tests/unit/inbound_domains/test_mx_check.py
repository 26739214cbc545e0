"""Look at the MX records of inbound domains, at once and again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import clock, due
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.inbound_domains import recheck, store
from chalicelib.inbound_domains.mx_check import check_mx
from chalicelib.sending_domains import store as sending_domains
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.recheck import reverify_due as reverify_sending_domains
from tests.unit.audit_lines import lines
from tests.unit.calling import Client
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.people import make_account, make_key
from tests.unit.zones import Zone

PATH = "/api/v1/inbound-domains"
SERVICE_MX = ("MX", "10 postfinch.test")
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def owner(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> Client:
    # The fake cloud's transactions are not safe for several threads
    monkeypatch.setattr(recheck, "_THREADS", 1)
    make_account()
    return make_key()


def test_records_that_lead_elsewhere_and_a_null_mx_are_invalid(owner: Client, zone: Zone) -> None:
    domain = store_inbound_domain()
    assert "no MX record" in check_mx(domain).error
    zone.set("in.test", SERVICE_MX, ("MX", "5 mail.elsewhere.test"))
    result = check_mx(domain)
    assert result.records == ("5 mail.elsewhere.test", "10 postfinch.test")
    assert "alone" in result.error
    zone.set("in.test", ("MX", "0 ."))
    assert check_mx(domain).records == ("0 .",)
    assert check_mx(domain).apply_to(domain, 1).mx_status == "invalid"


def test_a_domain_of_an_enterprise_account_leads_to_its_own_mail_domain(
    owner: Client, zone: Zone
) -> None:
    make_account(2, service_level="enterprise")
    zone.set("in.test", SERVICE_MX)
    client = make_key(2)
    domain = client.post(PATH, {"domain": "in.test"}).results
    assert (domain["mx_status"], domain["dns_records"][0]["value"]) == (
        "invalid",
        "10 2.mail.postfinch.test",
    )
    zone.set("in.test", ("MX", "10 2.mail.postfinch.test"))
    assert client.post(f"{PATH}/in.test/verify", None).results["mx_status"] == "valid"


def test_the_name_of_the_mail_host_is_as_good_as_that_of_the_service(
    owner: Client, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_HOSTNAME", "mx1.Mail.example")
    settings.cache_clear()
    domain = store_inbound_domain()
    zone.set("in.test", SERVICE_MX, ("MX", "20 MX1.mail.example."))
    assert check_mx(domain).error == ""
    zone.set("in.test", ("MX", "20 mx2.mail.example."))
    assert "alone" in check_mx(domain).error


def test_a_dns_that_fails_refuses_no_domain_and_changes_no_status(
    owner: Client, zone: Zone
) -> None:
    zone.failing.add("in.test")
    domain = owner.post(PATH, {"domain": "in.test"}).results
    assert (domain["mx_status"], domain["mx_records"]) == ("unverified", [])
    assert "no answer" in domain["mx_error"]
    zone.failing.clear()
    zone.set("in.test", SERVICE_MX)
    domain = owner.post(f"{PATH}/in.test/verify", None).results
    assert (domain["mx_status"], domain["mx_error"]) == ("valid", "")
    assert len(lines()) == 2
    zone.failing.add("in.test")
    domain = owner.post(f"{PATH}/in.test/verify", None).results
    assert (domain["mx_status"], domain["mx_records"]) == ("valid", ["10 postfinch.test"])
    assert len(lines()) == 2


def test_a_valid_domain_is_checked_daily_and_a_new_one_hourly(owner: Client, zone: Zone) -> None:
    now_ms = clock.now_ms()
    store_inbound_domain("new.test", check_ms=now_ms)
    change = {"check_ms": now_ms, "created_ms": now_ms - 1}
    store.change(Scope(1, None), "new.test", lambda each: replace(each, **change))
    store_inbound_domain("old.test", check_ms=now_ms)
    store_inbound_domain("good.test", check_ms=now_ms)
    store_inbound_domain("later.test", check_ms=now_ms + 1)
    zone.set("good.test", SERVICE_MX)
    assert recheck.reverify_due(now_ms) == {"invalid": 2, "valid": 1}
    checks = {each.domain: each.check_ms - now_ms for each in store.of_account(1)}
    assert checks == {
        "new.test": HOUR_MS,
        "old.test": DAY_MS,
        "good.test": DAY_MS,
        "later.test": 1,
    }
    assert recheck.reverify_due(now_ms) == {}
    zone.clear("good.test")
    assert recheck.reverify_due(now_ms + DAY_MS)["invalid"] == 4


def test_what_is_due_of_a_deleted_domain_is_removed(owner: Client) -> None:
    domain = store_inbound_domain(check_ms=5)
    assert owner.delete(f"{PATH}/in.test").status == 200
    assert recheck.reverify_due(10) == {}
    due.add(store.due_entry(domain))
    assert recheck.reverify_due(10) == {"stale": 1}
    assert recheck.reverify_due(10) == {}


def test_an_inbound_domain_does_not_become_a_bounce_domain(owner: Client, zone: Zone) -> None:
    name, path = "in.example.com", "/api/v1/sending-domains"
    assert owner.post(path, {"domain": name}).status == 200
    assert owner.post(PATH, {"domain": name}).status == 200
    zone.set(name, ("CNAME", "postfinch.test"))
    response = owner.post(f"{path}/{name}/verify", {"cname_verify": True})
    assert (response.status, response.error["code"]) == (409, "1602")
    assert f"the inbound domain {name}" in response.error["description"]
    assert owner.delete(f"{PATH}/{name}").status == 200
    verified = owner.post(f"{path}/{name}/verify", {"cname_verify": True})
    assert verified.results["cname_status"] == "valid"


def test_a_later_check_makes_no_bounce_domain_of_an_inbound_domain(
    owner: Client, zone: Zone
) -> None:
    name, now = "in.example.com", clock.now()
    zone.set(name, ("CNAME", "postfinch.test"))
    status = DomainStatus(cname_status="invalid")
    fields = {"check_ms": int(now * 1000), "unverified_since": now}
    assert sending_domains.create(SendingDomain(name, 1, 1.0, status, **fields))
    store_inbound_domain(name)
    assert reverify_sending_domains(now) == {"unverified": 1}
    domain = sending_domains.get(name)
    assert domain
    assert not domain.takes_bounces
