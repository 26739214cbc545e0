"""The DNS records to publish for sending and tracking domains."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.dkim.dns_record import txt_record
from chalicelib.sending_domains.lookup import mail_domain
from chalicelib.tracking_domains.model import cname_target
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

SENDING, TRACKING = "/api/v1/sending-domains", "/api/v1/tracking-domains"
NAME = "news.example.test"


@pytest.fixture
def client(cloud: None) -> Client:
    make_account(1)
    return make_key(1)


def records(client: Client) -> dict[str, dict[str, Any]]:
    results = client.get(f"{SENDING}/{NAME}/dns-records").results
    return {each.pop("purpose"): each for each in results}


def test_the_records_are_those_that_verification_looks_for(client: Client) -> None:
    key = client.post(SENDING, {"domain": NAME}).results["dkim"]
    assert records(client) == {
        "dkim": {
            "type": "TXT",
            "name": f"{key['selector']}._domainkey.{NAME}",
            "value": txt_record(key["public"]),
            "required": True,
            "status": "unverified",
        },
        "cname": {
            "type": "CNAME",
            "name": NAME,
            "value": mail_domain(1),
            "required": False,
            "status": "unverified",
        },
        "dmarc": {
            "type": "TXT",
            "name": f"_dmarc.{NAME}",
            "value": f"v=DMARC1; p=none; rua=mailto:dmarc@bounces.{NAME}",
            "required": False,
        },
    }


def test_a_domain_without_a_key_has_no_record_of_one(client: Client) -> None:
    client.post(SENDING, {"domain": NAME, "generate_dkim": False})
    assert records(client).keys() == {"cname", "dmarc"}


def test_an_enterprise_account_may_take_bounces_by_mx(cloud: None) -> None:
    make_account(1, service_level="enterprise")
    client = make_key(1)
    client.post(SENDING, {"domain": NAME})
    record = records(client)["mx"]
    assert (record["type"], record["value"]) == ("MX", f"10 {mail_domain(1)}")


def test_a_tracking_domain_needs_one_record(client: Client) -> None:
    client.post(TRACKING, {"domain": NAME})
    assert client.get(f"{TRACKING}/{NAME}/dns-records").results == [
        {
            "purpose": "cname",
            "type": "CNAME",
            "name": NAME,
            "value": cname_target(),
            "required": True,
            "status": "unverified",
        }
    ]


def test_records_are_for_the_owner_of_a_domain(client: Client) -> None:
    client.post(SENDING, {"domain": NAME, "shared_with_subaccounts": True})
    subaccount = client.on_behalf_of(make_subaccount(1).id)
    assert subaccount.get(f"{SENDING}/{NAME}/dns-records").status == 404
    assert client.get(f"{SENDING}/other.test/dns-records").status == 404
    assert client.get(f"{TRACKING}/other.test/dns-records").status == 404
