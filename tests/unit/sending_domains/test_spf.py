"""The SPF record of a sending domain, for the addresses that its mail leaves from."""

from __future__ import annotations

import subprocess
import sys

import pytest

from chalicelib.core.settings import settings
from chalicelib.fleet import store as fleets
from chalicelib.fleet.model import SendingIp
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dns_checks import check_spf
from chalicelib.sending_domains.recheck import reverify_due
from chalicelib.sending_domains.routes import show_domain, verify_domain
from tests.unit.sending_domains.accounts import create_account
from tests.unit.sending_domains.examples import domain
from tests.unit.sending_domains.requests import request, results
from tests.unit.zones import Zone

NAME = "mail.example.test"
SYSTEM = "postfinch.test"
IPS = ["192.0.2.1", "198.51.100.7"]


@pytest.fixture(autouse=True)
def service(zone: Zone) -> None:
    create_account(1)
    create_account(2, enterprise=True)
    zone.set(SYSTEM, ("A", "192.0.2.1"), ("TXT", "v=spf1 a -all"))


def verify(account: int = 1) -> dict[str, object]:
    body = {"cname_verify": True}
    view: dict[str, object] = results(verify_domain(request(body, account=account), NAME))
    return view


@pytest.mark.parametrize(
    ("record", "status"),
    [
        ("v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.7 -all", "valid"),
        ("V=SPF1 include:inner.test ~all", "valid"),
        ("v=spf1 redirect=inner.test", "valid"),
        ("v=spf1 mx:many.test -all", "valid"),
        ("v=spf1 exists:%{i}.list.test -all", "invalid"),
        ("v=spf1 ip4:192.0.2.1 -all", "invalid"),
        ("v=spf1 ip4:192.0.2.1 ?all", "invalid"),
        ("v=spf1 include:missing.test -all", "invalid"),
        ("v=spf1 moo", "invalid"),
        ("v=spf10 +all", "invalid"),
        ("v=spf1 include:mail.example.test -all", "invalid"),
        ("v=spf1 include:silent.test -all", "pending"),
    ],
)
def test_a_record_is_valid_if_it_lets_every_address_send(
    zone: Zone, record: str, status: str
) -> None:
    zone.set("inner.test", ("TXT", "v=spf1 ip4:192.0.2.1 ip4:198.51.100.7 -all"))
    zone.set("many.test", ("MX", "10 a.test"), ("MX", "20 b.test"))
    zone.set("a.test", ("A", "192.0.2.1"))
    zone.set("b.test", ("A", "198.51.100.7"))
    zone.failing.add("silent.test")
    zone.set(NAME, ("TXT", "unrelated"), ("TXT", record))
    outcome = check_spf(NAME, IPS)
    assert outcome.status_after("unverified") == status
    assert bool(outcome.error) == (status != "valid")


def test_two_records_are_invalid(zone: Zone) -> None:
    zone.set(NAME, ("TXT", "v=spf1 +all"), ("TXT", "v=spf1 -all"))
    outcome = check_spf(NAME, IPS)
    assert outcome.status_after("valid") == "invalid"
    assert "permerror" in outcome.error


def test_all_addresses_share_the_answers(zone: Zone) -> None:
    zone.set(NAME, ("TXT", "v=spf1 ip4:192.0.0.0/8 ip4:198.51.100.0/24 -all"))
    check_spf(NAME, [*IPS, "192.0.2.2", "192.0.2.3"])
    assert zone.queries.count(NAME) == 2


@pytest.mark.spec("2.5-t3")
def test_verification_sets_the_status_for_the_addresses_of_the_service(zone: Zone) -> None:
    store.create(domain())
    view = verify()
    assert view["spf_status"] == "invalid"
    zone.set(NAME, ("CNAME", SYSTEM))
    view = verify()
    assert (view["spf_status"], view["cname_status"]) == ("valid", "valid")
    assert isinstance(view["dns"], dict)
    assert view["dns"]["spf_record"] == "v=spf1 a -all"


@pytest.mark.spec("2.5-t3")
def test_the_sending_ips_of_the_account_decide_if_it_has_any(zone: Zone) -> None:
    store.create(domain())
    zone.set(NAME, ("CNAME", SYSTEM))
    fleets.change(1, lambda fleet: fleet.with_ip(SendingIp(IPS[1], "mta.test")))
    assert verify()["spf_status"] == "invalid"
    zone.set(NAME, ("TXT", f"v=spf1 ip4:{IPS[1]} -all"))
    assert verify()["spf_status"] == "valid"


def test_the_status_verifies_nothing_and_changes_with_the_daily_check(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.sending_domains.recheck._THREADS", 1)
    zone.set(NAME, ("TXT", "v=spf1 +all"))
    store.create(domain())
    view = verify()
    assert (view["spf_status"], view["ownership_verified"]) == ("valid", True)
    zone.clear(NAME)
    sending_domain = store.get(NAME)
    assert sending_domain is not None
    reverify_due(sending_domain.check_ms / 1000)
    sending_domain = store.get(NAME)
    assert sending_domain is not None
    assert sending_domain.status.spf_status == "invalid"


def test_a_dns_that_fails_changes_no_status(zone: Zone) -> None:
    zone.set(NAME, ("CNAME", SYSTEM))
    store.create(domain())
    assert verify()["spf_status"] == "valid"
    zone.failing.add(SYSTEM)
    assert verify()["spf_status"] == "valid"


@pytest.mark.spec("2.5-t9")
@pytest.mark.parametrize(
    ("account", "servers", "expected"),
    [
        (2, ["ns1.{own}", "ns2.{own}"], True),
        (2, ["ns1.{own}", "ns.elsewhere.test"], False),
        (2, [], False),
        (1, ["ns1.{own}"], False),
    ],
)
def test_an_enterprise_domain_is_delegated_if_all_its_name_servers_are_the_services(
    zone: Zone, account: int, servers: list[str], expected: bool
) -> None:
    own = settings().tenant_domain.format(account=account, system=SYSTEM)
    store.create(domain(account=account))
    zone.set(NAME, *(("NS", server.format(own=own)) for server in servers))
    verify(account)
    view = results(show_domain(request(account=account), NAME))
    assert view.get("delegated", False) is expected
    zone.clear(NAME)
    verify(account)
    assert "delegated" not in results(show_domain(request(account=account), NAME))


def test_the_library_is_not_imported_with_the_application() -> None:
    code = "import app, sys; assert 'spf' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
