"""``GET /sending-domains/{domain}/requirements`` tells what mail hosts miss at a domain."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import canonical_public
from chalicelib.dkim.model import DkimKey
from chalicelib.fleet import sending_ips
from chalicelib.fleet.model import SendingIp
from chalicelib.sender_requirements.domain_checks import check_policy, check_replies
from chalicelib.sender_requirements.model import MET, UNDECIDED, UNMET
from chalicelib.sender_requirements.service_checks import check_unsubscribe
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from tests.unit.calling import Client
from tests.unit.key_pairs import PAIR
from tests.unit.people import make_key, make_subaccount
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone

NAME = "news.example.test"
PATH = f"/api/v1/sending-domains/{NAME}/requirements"
VERIFIED = DomainStatus(ownership_verified=True, dkim_status="valid")
SIGNED = {"selector": "s1", "private": PAIR.private_pem, "headers": "from:to:subject"}
RECORD = f"s1._domainkey.{NAME}"


def add(client: Client, **fields: Any) -> None:
    """Register the domain with a key of 1024 bits."""
    response = client.post("/api/v1/sending-domains", {"domain": NAME, "dkim": SIGNED | fields})
    assert response.status == 200, response


def verify(client: Client, zone: Zone) -> None:
    zone.set(RECORD, ("TXT", txt_record(canonical_public(PAIR.public_b64))))
    path = f"/api/v1/sending-domains/{NAME}/verify"
    assert client.post(path, {"dkim_verify": True}).results["dkim_status"] == "valid"


def requirements(client: Client) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in client.get(PATH).results["requirements"]}


def states(client: Client) -> dict[str, str]:
    return {name: each["state"] for name, each in requirements(client).items()}


def publish_all(zone: Zone) -> None:
    zone.set("system.test", ("A", "192.0.2.10"), ("TXT", "v=spf1 a -all"))
    zone.set("_dmarc.example.test", ("TXT", "v=DMARC1; p=reject; rua=mailto:d@example.test"))
    zone.set(NAME, ("MX", "10 in.example.test"))
    zone.set("in.example.test", ("A", "192.0.2.20"))


def test_a_domain_with_all_records_meets_all_rules(client: Client, zone: Zone) -> None:
    add(client)
    verify(client, zone)
    publish_all(zone)
    results = client.get(PATH).results
    assert (results["domain"], results["return_path_domain"]) == (NAME, "system.test")
    assert set(states(client).values()) == {MET}
    for each in results["requirements"]:
        assert each["title"]
        assert each["found"]
        assert all(source["source"].startswith("https://") for source in each["required_by"])


def test_an_empty_zone_meets_none_of_the_rules_about_records(client: Client, zone: Zone) -> None:
    add(client)
    zone.set("system.test", ("A", "192.0.2.10"))
    results = requirements(client)
    assert {name for name, each in results.items() if each["state"] == UNMET} == {
        *("spf", "dkim", "dmarc", "replies")
    }
    assert {name: results[name]["remedy"]["record"] for name in ("spf", "dkim", "dmarc")} == {
        "spf": {"type": "TXT", "name": "system.test", "value": "v=spf1 ip4:192.0.2.10 -all"},
        "dkim": {"type": "TXT", "name": RECORD, "value": txt_record(PAIR.public_b64)},
        "dmarc": {
            "type": "TXT",
            "name": f"_dmarc.{NAME}",
            "value": f"v=DMARC1; p=none; rua=mailto:dmarc@bounces.{NAME}",
        },
    }


def test_without_an_answer_nothing_is_decided(client: Client, zone: Zone) -> None:
    add(client)
    zone.set("system.test", ("A", "192.0.2.10"))
    zone.failing |= {RECORD, f"_dmarc.{NAME}", NAME, "system.test"}
    undecided = {name for name, state in states(client).items() if state == UNDECIDED}
    assert undecided == {"spf", "dkim", "dmarc", "alignment", "replies"}


def test_a_published_key_that_is_not_verified_does_not_sign(client: Client, zone: Zone) -> None:
    add(client)
    zone.set(RECORD, ("TXT", txt_record(PAIR.public_b64)))
    dkim = requirements(client)["dkim"]
    assert (dkim["state"], "record" in dkim["remedy"]) == (UNMET, False)
    assert "dkim_verify" in dkim["remedy"]["text"]


def test_a_key_of_1024_bits_is_enough_and_2048_are_recommended(client: Client) -> None:
    add(client)
    length = requirements(client)["dkim_key_length"]
    assert length["state"] == MET
    assert "1024 bits" in length["found"]
    assert "2048" in length["remedy"]["text"]


def test_a_domain_without_a_key_is_not_signed(client: Client) -> None:
    client.post("/api/v1/sending-domains", {"domain": NAME, "generate_dkim": False})
    assert states(client)["dkim"] == states(client)["dkim_key_length"] == UNMET
    assert states(client)["alignment"] == UNMET


@pytest.mark.parametrize(
    ("record", "policy", "advice"),
    [
        ("v=DMARC1; p=none", MET, "rua"),
        ("v=DMARC1; p=none; rua=https://example.test/", MET, "add rua=mailto:"),
        ("v=DMARC1; p=none; rua=mailto:d@example.test", MET, "p=quarantine"),
        ("v=DMARC1;p=quarantine;rua=mailto:d@example.test", MET, ""),
        ("v=DMARC1; p=monitor", UNMET, "publish"),
        ("v=DMARC1", UNMET, "publish"),
        ("v=DMARC1; rua=mailto:d@example.test", MET, "no p tag"),
        ("v=DMARC1; p=reject; sp=all; rua=mailto:d@example.test", MET, "the tag sp must be"),
        ("v=DMARC1; p=none; p=reject", UNMET, "publish"),
        ("v=DMARC2; p=none", UNMET, "publish"),
    ],
)
def test_a_dmarc_record_needs_a_policy(zone: Zone, record: str, policy: str, advice: str) -> None:
    zone.set(f"_dmarc.{NAME}", ("TXT", record))
    dmarc, _ = check_policy(domain(NAME), "system.test", "system.test")
    assert dmarc.state == policy
    assert advice in (dmarc.remedy.text if dmarc.remedy else "")
    assert (dmarc.remedy is not None) == bool(advice)


def test_the_key_of_another_owner_does_not_match_the_from_domain(
    client: Client, zone: Zone
) -> None:
    add(client, signing_domain="mail.other.test")
    alignment = requirements(client)["alignment"]
    assert alignment["state"] == UNMET
    assert alignment["remedy"]["text"] == f"sign with a key whose signing_domain is {NAME}"


def test_the_key_of_a_domain_above_matches_unless_dmarc_is_strict(
    client: Client, zone: Zone
) -> None:
    add(client, signing_domain="example.test")
    alignment = requirements(client)["alignment"]
    assert alignment["state"] == MET
    assert alignment["remedy"]["record"] == {
        "type": "CNAME",
        "name": f"bounces.{NAME}",
        "value": "system.test",
    }
    zone.set("_dmarc.example.test", ("TXT", "v=DMARC1; p=none; adkim=s"))
    assert states(client)["alignment"] == UNMET


def test_under_strict_dmarc_the_domain_itself_matches(zone: Zone) -> None:
    zone.set(f"_dmarc.{NAME}", ("TXT", "v=DMARC1; p=none; adkim=s; aspf=s"))
    key = DkimKey("s1", NAME, PAIR.public_b64, b"")
    _, alignment = check_policy(domain(NAME, dkim=key), "system.test", "system.test")
    assert alignment.state == MET
    _, alignment = check_policy(domain(NAME, dkim=None), f"bounces.{NAME}", "system.test")
    assert alignment.state == UNMET


def test_a_return_path_of_the_same_owner_matches(client: Client, zone: Zone) -> None:
    add(client, signing_domain="other.test")
    bounces = domain(
        "bounces.example.test",
        status=DomainStatus(ownership_verified=True, cname_status="valid"),
        is_default_bounce_domain=True,
        dkim=None,
    )
    assert domains.create(bounces)
    domains.make_default(bounces, bounces)
    zone.set("bounces.example.test", ("CNAME", "system.test"))
    zone.set("system.test", ("A", "192.0.2.10"), ("TXT", "v=spf1 mx -all"))
    assert client.get(PATH).results["return_path_domain"] == "bounces.example.test"
    results = requirements(client)
    assert results["alignment"]["state"] == MET
    assert results["spf"]["remedy"]["record"] == {
        "type": "TXT",
        "name": "system.test",
        "value": "v=spf1 ip4:192.0.2.10 mx -all",
    }


def test_spf_is_judged_for_the_sending_ips_of_the_account(client: Client, zone: Zone) -> None:
    add(client)
    zone.set("system.test", ("A", "192.0.2.10"), ("TXT", "v=spf1 a -all"))
    assert states(client)["spf"] == MET
    sending_ips.add(1, SendingIp("192.0.2.77", "ip.system.test"))
    spf = requirements(client)["spf"]
    assert spf["state"] == UNMET
    assert spf["remedy"]["record"]["value"] == "v=spf1 ip4:192.0.2.77 a -all"


def test_two_spf_records_are_one_too_many(client: Client, zone: Zone) -> None:
    add(client)
    zone.set("system.test", ("A", "192.0.2.10"), ("TXT", "v=spf1 a -all"), ("TXT", "v=spf1 -all"))
    spf = requirements(client)["spf"]
    assert (spf["state"], "record" in spf["remedy"]) == (UNMET, False)


def test_behind_a_smarthost_spf_and_tls_are_undecided(
    client: Client, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPORT", "smtp")
    settings.cache_clear()
    add(client)
    publish_all(zone)
    assert states(client)["spf"] == states(client)["tls"] == UNDECIDED


def test_a_domain_that_refuses_mail_gets_no_replies(zone: Zone) -> None:
    zone.set(NAME, ("MX", "0 ."))
    assert "refuses all mail" in check_replies(NAME).evidence
    zone.set(NAME, ("MX", "10 nowhere.test"))
    assert check_replies(NAME).state == UNMET
    zone.set(NAME, ("A", "192.0.2.1"))
    assert check_replies(NAME).state == MET


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("https://api.system.test", MET),
        ("http://api.system.test", UNMET),
        ("http://localhost:8080", UNDECIDED),
        ("http://127.0.0.1:8080", UNDECIDED),
    ],
)
def test_one_click_needs_https(
    zone: Zone, monkeypatch: pytest.MonkeyPatch, url: str, state: str
) -> None:
    monkeypatch.setenv("PUBLIC_URL", url)
    settings.cache_clear()
    assert check_unsubscribe().state == state


def test_requirements_are_for_the_owner_of_a_domain(client: Client) -> None:
    add(client)
    assert client.on_behalf_of(make_subaccount(1).id).get(PATH).status == 404
    assert make_key(1, grants=("ip_pools/view",)).get(PATH).status == 403
