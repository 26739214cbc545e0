"""``GET /ip-pools/{id}/requirements`` tells what mail hosts miss at sending addresses."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.settings import settings
from chalicelib.fleet import sending_ips
from chalicelib.fleet.model import SendingIp
from chalicelib.sender_requirements.model import MET, UNDECIDED, UNMET
from tests.unit.calling import Client
from tests.unit.people import make_subaccount
from tests.unit.zones import Zone

PATH = "/api/v1/ip-pools/default/requirements"
ADDRESS, HOST = "192.0.2.1", "out.system.test"
REVERSE = "1.2.0.192.in-addr.arpa"


def requirements(client: Client) -> dict[str, Any]:
    """Return the requirements of the only address, by id."""
    (address,) = client.get(PATH).results
    assert (address["external_ip"], address["hostname"]) == (ADDRESS, HOST)
    return {each["id"]: each for each in address["requirements"]}


def states(client: Client) -> list[str]:
    return [each["state"] for each in requirements(client).values()]


@pytest.fixture
def owner(client: Client) -> Client:
    sending_ips.add(1, SendingIp(ADDRESS, HOST))
    return client


def test_an_address_whose_names_agree_meets_all_rules(owner: Client, zone: Zone) -> None:
    zone.set(REVERSE, ("PTR", HOST))
    zone.set(HOST, ("A", ADDRESS))
    assert states(owner) == [MET, MET, MET]


def test_an_address_without_a_ptr_record_is_shown_the_record(owner: Client, zone: Zone) -> None:
    zone.set(HOST, ("A", ADDRESS))
    results = requirements(owner)
    for name in ("ptr", "forward_confirmed", "ehlo"):
        assert results[name]["state"] == UNMET
        record = {"type": "PTR", "name": REVERSE, "value": HOST}
        assert results[name]["remedy"]["record"] == record


def test_a_name_that_does_not_lead_back_is_shown_the_record(owner: Client, zone: Zone) -> None:
    zone.set(REVERSE, ("PTR", HOST))
    zone.set(HOST, ("A", "192.0.2.2"))
    results = requirements(owner)
    assert [each["state"] for each in results.values()] == [MET, UNMET, UNMET]
    record = {"type": "A", "name": HOST, "value": ADDRESS}
    assert results["forward_confirmed"]["remedy"]["record"] == record
    assert results["ehlo"]["remedy"]["record"] == record


def test_an_ehlo_name_other_than_the_ptr_name_is_unmet(owner: Client, zone: Zone) -> None:
    zone.set(REVERSE, ("PTR", "other.system.test"))
    zone.set("other.system.test", ("A", ADDRESS))
    zone.set(HOST, ("A", ADDRESS))
    assert states(owner) == [MET, MET, UNMET]


def test_without_an_answer_nothing_is_decided(owner: Client, zone: Zone) -> None:
    zone.failing.add(REVERSE)
    assert states(owner) == [UNDECIDED] * 3


def test_the_ehlo_of_a_smarthost_is_its_own(client: Client, zone: Zone) -> None:
    sending_ips.add(1, SendingIp(ADDRESS, HOST, smarthost="smtp.other.test:25"))
    zone.set(REVERSE, ("PTR", HOST))
    zone.set(HOST, ("A", ADDRESS))
    assert states(client) == [MET, MET, UNDECIDED]


def test_an_ipv6_address_is_compared_as_a_number(client: Client, zone: Zone) -> None:
    sending_ips.add(1, SendingIp("2001:db8::1", HOST))
    zone.set(HOST, ("AAAA", "2001:0db8:0:0::1"))
    zone.set("1." + "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa", ("PTR", HOST))
    (address,) = client.get(PATH).results
    assert [each["state"] for each in address["requirements"]] == [MET, MET, MET]


def test_an_account_without_ips_sends_from_the_addresses_of_the_service(
    client: Client, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone.set("system.test", ("A", "192.0.2.10"))
    (address,) = client.get(PATH).results
    assert (address["external_ip"], address["hostname"]) == ("192.0.2.10", "mail.system.test")
    monkeypatch.setenv("TRANSPORT", "smtp")
    settings.cache_clear()
    assert client.get(PATH).results == [], "the addresses of the smarthost are not known"


def test_only_pools_that_the_caller_sees_are_checked(owner: Client) -> None:
    assert owner.get("/api/v1/ip-pools/other/requirements").status == 404
    owner.post("/api/v1/ip-pools", {"name": "own"})
    subaccount = make_subaccount(1, ip_pool="own")
    assert owner.on_behalf_of(subaccount.id).get(PATH).status == 404
