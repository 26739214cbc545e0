"""Each record that a machine needs is shown beside what is in the DNS now."""

from __future__ import annotations

import pytest

from chalicelib.core.dns import LookupFailed
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import generate_key
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.sending_domains.dmarc_record import dmarc_record
from chalicelib.sending_domains.model import VALID, DomainStatus, SendingDomain
from infrastructure.machine.checks import checklist, name_records, own_addresses, sender_records
from infrastructure.machine.checks.finding import OK, PROBLEM, WARNING
from tests.unit.infrastructure.machine.checks.conftest import DOMAIN, Installing, by_check
from tests.unit.zones import Zone

LOOPBACK = "127.0.0.1"
PUBLIC = "8.8.4.4"


@pytest.fixture(autouse=True)
def address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has one public address, and the loopback of every machine."""
    for module in (name_records, sender_records):
        monkeypatch.setattr(module, "public_addresses", lambda: [PUBLIC])
    monkeypatch.setattr(name_records, "is_own", lambda each: each in (PUBLIC, LOOPBACK))


def publish_all(zone: Zone) -> SendingDomain:
    """Publish every record that a machine with direct delivery needs; return its own domain."""
    key = sealed_key(generate_key(2048), "postfinch", DOMAIN)
    zone.set(
        DOMAIN,
        ("A", PUBLIC),
        ("MX", f"10 {DOMAIN}"),
        ("TXT", f"v=spf1 ip4:{PUBLIC} -all"),
    )
    zone.set(key.record_name, ("TXT", txt_record(key.public)))
    zone.set(f"_dmarc.{DOMAIN}", ("TXT", dmarc_record(DOMAIN, DOMAIN)))
    zone.set(f"track.{DOMAIN}", ("CNAME", DOMAIN))
    zone.set("4.4.8.8.in-addr.arpa", ("PTR", DOMAIN))
    status = DomainStatus(ownership_verified=True, dkim_status=VALID)
    return SendingDomain(domain=DOMAIN, account_id=0, created=0.0, status=status, dkim=key)


RECORDS = ("Address", "MX", "SPF", "DMARC", "Tracked links", "PTR and EHLO")


def test_nothing_is_left_when_every_record_is_published(install: Installing, zone: Zone) -> None:
    domain = publish_all(zone)
    subject = install(TRANSPORT="mx")
    checks = checklist.of_setup(subject, has_access=False)
    record_checks = {name: checks[name] for name in RECORDS}
    results = list(checklist.results(record_checks))
    assert {finding.status for finding in results} == {OK}, results
    assert len(results) == len(RECORDS) + 2  # an address has three names to be right
    assert sender_records.check_dkim(subject, lambda _: domain).status == OK


def test_each_missing_record_is_shown_as_it_is_to_be_published(
    install: Installing, zone: Zone
) -> None:
    subject = install(TRANSPORT="mx")
    checks = checklist.of_setup(subject, has_access=False)
    results = by_check(list(checklist.results({name: checks[name] for name in RECORDS})))
    assert {finding.status for finding in results.values()} == {PROBLEM}
    remedies = "\n".join(finding.remedy for finding in results.values())
    for record in (
        f"A {DOMAIN} {PUBLIC}",
        f"MX {DOMAIN} 10 {DOMAIN}",
        f"TXT {DOMAIN} v=spf1 ip4:{PUBLIC} -all",
        f"TXT _dmarc.{DOMAIN} {dmarc_record(DOMAIN, DOMAIN)}",
        f"CNAME track.{DOMAIN} {DOMAIN}",
        f"PTR 4.4.8.8.in-addr.arpa {DOMAIN}",
    ):
        assert record in remedies


def test_an_address_of_another_machine_is_a_problem(install: Installing, zone: Zone) -> None:
    zone.set(DOMAIN, ("A", PUBLIC), ("AAAA", "2606:4700::1"))
    (finding,) = name_records.check_addresses(install())
    assert finding.status == PROBLEM
    assert "no interface of this machine has 2606:4700::1" in finding.detail


def test_behind_a_translation_of_addresses_the_address_is_not_judged(
    install: Installing, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_records, "public_addresses", list)
    zone.set(DOMAIN, ("A", "8.8.8.8"))
    (finding,) = name_records.check_addresses(install())
    assert finding.status == WARNING


def test_the_name_of_the_api_is_checked_as_well(install: Installing, zone: Zone) -> None:
    zone.set(DOMAIN, ("A", PUBLIC))
    subject = install(PUBLIC_URL="https://api.acme.example")
    results = by_check(list(name_records.check_addresses(subject)))
    assert results[f"Address of {DOMAIN}"].status == OK
    assert results["Address of api.acme.example"].status == PROBLEM


def test_bounces_that_go_elsewhere_are_a_problem(install: Installing, zone: Zone) -> None:
    zone.set(DOMAIN, ("A", PUBLIC), ("MX", "10 mx.elsewhere.example"))
    zone.set("mx.elsewhere.example", ("A", "8.8.8.8"))
    finding = name_records.check_mx(install())
    assert (finding.status, finding.detail) == (PROBLEM, "mx.elsewhere.example gets the bounces")
    zone.set("mx.elsewhere.example", ("A", PUBLIC))
    assert name_records.check_mx(install()).status == OK


def test_tracked_links_that_lead_elsewhere_are_a_problem(install: Installing, zone: Zone) -> None:
    zone.set(DOMAIN, ("A", PUBLIC))
    zone.set(f"track.{DOMAIN}", ("A", "8.8.8.8"))
    assert name_records.check_track(install()).status == PROBLEM
    zone.set(f"track.{DOMAIN}", ("A", PUBLIC))
    assert name_records.check_track(install()).status == OK


def test_with_a_smarthost_its_operator_says_what_spf_includes(
    install: Installing, zone: Zone
) -> None:
    subject = install(SMARTHOST="relay.acme.example:587")
    assert "include:" in sender_records.check_spf_record(subject).remedy
    zone.set(DOMAIN, ("TXT", "v=spf1 include:relay.acme.example -all"), ("TXT", "other"))
    assert sender_records.check_spf_record(subject).status == OK
    zone.set(DOMAIN, ("TXT", "v=spf1 -all"), ("TXT", "v=spf1 a -all"))
    assert sender_records.check_spf_record(subject).detail == "there are 2 records"
    assert list(sender_records.check_address_names(subject)) == []


def test_before_the_first_start_there_is_no_key_to_publish(install: Installing) -> None:
    finding = sender_records.check_dkim(install(), sender_records.no_domain)
    assert finding.status == PROBLEM
    assert f"postfinch._domainkey.{DOMAIN} is not there" in finding.detail
    assert "start the service" in finding.remedy


def test_another_key_in_the_dns_is_a_problem_with_the_right_record(
    install: Installing, zone: Zone
) -> None:
    domain = publish_all(zone)
    assert domain.dkim
    other = txt_record(generate_key(2048).public_b64)
    zone.set(domain.dkim.record_name, ("TXT", other))
    finding = sender_records.check_dkim(install(), lambda _: domain)
    assert finding.status == PROBLEM
    assert txt_record(domain.dkim.public) in finding.remedy


def test_another_policy_is_fine_and_the_recommended_one_is_shown(
    install: Installing, zone: Zone
) -> None:
    zone.set("_dmarc.acme.example", ("TXT", "v=DMARC1; p=none"))
    finding = sender_records.check_dmarc(install())
    assert finding.status == OK
    assert dmarc_record(DOMAIN, DOMAIN) in finding.remedy


def test_an_address_without_its_name_is_a_problem(install: Installing, zone: Zone) -> None:
    publish_all(zone)
    zone.set("4.4.8.8.in-addr.arpa", ("PTR", "host4.provider.example"))
    zone.set("host4.provider.example", ("A", PUBLIC))
    results = by_check(list(sender_records.check_address_names(install(TRANSPORT="mx"))))
    assert results[f"{PUBLIC}: The address has a PTR record"].status == OK
    ehlo = results[f"{PUBLIC}: The name in EHLO is that of the PTR record"]
    assert ehlo.status == PROBLEM
    assert "PTR says host4.provider.example" in ehlo.detail


def test_a_dns_that_does_not_answer_is_a_problem_of_its_own(
    install: Installing, zone: Zone
) -> None:
    subject = install()
    zone.failing.add(DOMAIN)
    with pytest.raises(LookupFailed):
        name_records.check_mx(subject)
    (finding,) = checklist.results({"MX": lambda: name_records.check_mx(subject)})
    assert (finding.check, finding.status) == ("MX", PROBLEM)
    assert "DNS_SERVERS" in finding.remedy


def test_an_address_of_an_interface_is_known_without_asking_anybody() -> None:
    assert own_addresses.is_own(LOOPBACK)
    assert not own_addresses.is_own("192.0.2.1")
    assert LOOPBACK not in own_addresses.public_addresses()
