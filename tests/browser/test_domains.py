"""Add a domain, publish its records in the local DNS, and see it become ready."""

from __future__ import annotations

from email.parser import BytesParser
from itertools import count
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from playwright.sync_api import Route, expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually


def test_a_domain_is_added_published_and_verified(console: Console) -> None:
    page = console.open("domains")
    page.get_by_role("button", name="Add sending domain").first.click()
    dialog = page.get_by_role("dialog", name="Add sending domain")
    dialog.get_by_label("Domain", exact=True).fill("shop.example.org")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="shop.example.org", level=1)).to_be_visible()
    expect(page.get_by_text("Not verified")).to_be_visible()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("no TXT record")).to_be_visible()
    assert console.violations() == []
    page.get_by_role("button", name="Publish Signature (DKIM)").click()
    expect(page.get_by_text("Published", exact=True)).to_be_visible()
    expect(page.get_by_text("Ready", exact=True)).to_be_visible()
    console.open("domains")
    row = page.get_by_role("row", name="shop.example.org")
    expect(row.get_by_text("Ready")).to_be_visible()


def test_the_record_of_bounces_is_recommended_for_a_name_of_its_own(
    console: Console, service: Service
) -> None:
    names = ("mx.example.org", "bounces.mx.example.org")
    for name in names:
        body = {"domain": name}
        assert service.request("POST", "/api/v1/sending-domains", body).status == 200
    page = console.open(f"domains/sending/{names[0]}")
    expect(page.get_by_text("Add bounces.mx.example.org as a sending domain")).to_be_visible()
    expect(page.get_by_text("Better elsewhere", exact=True)).to_be_visible()
    assert console.violations() == []
    page = console.open(f"domains/sending/{names[1]}")
    expect(page.get_by_text("It must have no other records.")).to_be_visible()
    expect(page.get_by_text("Better elsewhere", exact=True)).to_have_count(0)


def _add(console: Console, domain: str) -> None:
    service = console.service
    body = {"domain": domain, "dkim": {"selector": "old"}}
    assert service.request("POST", "/api/v1/sending-domains", body).status == 200
    path = f"/api/v1/sending-domains/{domain}"
    record = service.request("GET", f"{path}/dns-records").json["results"][0]
    records = {"records": [{"type": "TXT", "value": record["value"]}]}
    assert service.request("PUT", f"/local/dns/{record['name']}", records).status == 200
    assert service.request("POST", f"{path}/verify", {"dkim_verify": True}).status == 200


def _selector(service: Service, recipient: str, domain: str) -> str:
    """Send from a domain, and return the selector of the key that signed."""
    response = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "recipients": [{"address": recipient}],
            "content": {"from": f"shop@{domain}", "subject": "Signed", "text": "Hello"},
        },
    )
    assert response.status == 200, response.body
    (message,) = service.arrived(recipient)
    signature = "".join(BytesParser().parsebytes(message)["DKIM-Signature"].split())
    return dict(tag.split("=", 1) for tag in signature.split(";") if tag)["s"]


def test_a_key_is_rotated_while_mail_stays_signed(console: Console) -> None:
    service = console.service
    _add(console, "rotated.example.org")
    assert _selector(service, "before@inbox.test", "rotated.example.org") == "old"
    page = console.open("domains/sending/rotated.example.org?part=keys")
    page.get_by_role("button", name="Rotate").click()
    dialog = page.get_by_role("dialog", name="Rotate the key")
    dialog.get_by_label("Selector").fill("fresh")
    assert console.violations() == []
    dialog.get_by_role("button", name="Make a new key").click()
    dialog.get_by_role("button", name="Check the DNS").click()
    expect(dialog.get_by_text("no TXT record")).to_be_visible()
    assert console.violations() == []
    assert _selector(service, "meanwhile@inbox.test", "rotated.example.org") == "old"
    dialog.get_by_role("button", name="Publish the new key").click()
    expect(dialog.get_by_text("The record is published")).to_be_visible()
    dialog.get_by_role("button", name="Sign with the new key").click()
    expect(dialog.get_by_text("Leave the old record")).to_be_visible()
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.get_by_text("fresh", exact=True)).to_be_visible()
    expect(page.get_by_text("No further key")).to_be_visible()
    # A process trusts the domain that it has read for a second
    numbers = count()
    eventually(
        lambda: (
            _selector(service, f"after-{next(numbers)}@inbox.test", "rotated.example.org")
            == "fresh"
        )
    )


def test_a_further_key_is_brought_along_published_and_deleted(console: Console) -> None:
    console.expected = ("422 (Unprocessable Entity)",)
    _add(console, "brands.example.org")
    pem = generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    page = console.open("domains/sending/brands.example.org?part=keys")
    page.get_by_role("button", name="Add key").click()
    dialog = page.get_by_role("dialog", name="Add key")
    dialog.get_by_label("Id").fill("brand one")
    dialog.get_by_label("Key", exact=True).select_option("own")
    dialog.get_by_label("Private key").fill("nonsense")
    dialog.get_by_label("Selector").fill("brand")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("id must be 1 to 64 letters")
    dialog.get_by_label("Id").fill("brand")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("dkim")
    dialog.get_by_label("Private key").fill(pem.decode())
    dialog.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Verify brand").click()
    expect(page.get_by_text("no TXT record")).to_be_visible()
    page.get_by_role("button", name="Publish brand").click()
    further = page.get_by_role("list", name="Further keys")
    expect(further.get_by_text("Published", exact=True)).to_be_visible()
    assert console.violations() == []
    page.get_by_role("button", name="Delete brand").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No further key")).to_be_visible()


def test_a_domain_gets_its_uses_and_refusals_are_shown(console: Console) -> None:
    console.expected = ("422 (Unprocessable Entity)",)
    service = console.service
    _add(console, "uses.example.org")
    page = console.open("domains/sending/uses.example.org?part=settings")
    page.get_by_role("switch", name="Subaccounts may send from it").click()
    eventually(lambda: _domain(service, "uses.example.org")["shared_with_subaccounts"], 20)
    page.get_by_role("switch", name="Default bounce domain").click()
    expect(page.get_by_role("status").get_by_text("bounce")).to_be_visible()
    expect(page.get_by_role("switch", name="Default bounce domain")).not_to_be_checked()
    assert console.violations() == []


def test_a_domain_is_added_with_a_key_of_its_owner(console: Console) -> None:
    page = console.open("domains")
    page.get_by_role("button", name="Add sending domain").first.click()
    dialog = page.get_by_role("dialog", name="Add sending domain")
    dialog.get_by_label("Domain", exact=True).fill("longer.example.org")
    dialog.get_by_text("DKIM key").click()
    dialog.get_by_label("Length").select_option("4096")
    dialog.get_by_label("Selector").fill("big")
    assert console.violations() == []
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="longer.example.org", level=1)).to_be_visible()
    dkim = _domain(console.service, "longer.example.org")["dkim"]
    assert dkim["selector"] == "big"
    assert len(dkim["public"]) > 700


def test_a_domain_is_verified_by_mail(console: Console) -> None:
    service = console.service
    assert (
        service.request("POST", "/api/v1/sending-domains", {"domain": "mailed.example.org"}).status
        == 200
    )
    page = console.open("domains/sending/mailed.example.org")
    page.get_by_role("button", name="Verify postmaster@mailed.example.org").click()
    dialog = page.get_by_role("dialog", name="Verify by mail")
    dialog.get_by_role("button", name="Send the mail").click()
    expect(dialog.get_by_text("The mail is on its way")).to_be_visible()
    assert console.violations() == []
    (message,) = service.arrived("postmaster@mailed.example.org")
    text = BytesParser().parsebytes(message).get_payload(decode=True).decode()
    token = next(word for word in text.split() if "/verify-domain/" in word).rpartition("/")[2]
    dialog.get_by_label("Token").fill(token)
    dialog.get_by_role("button", name="Verify", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("Verified", exact=True)).to_be_visible()
    assert _domain(service, "mailed.example.org")["status"]["ownership_verified"]


def test_a_tracking_domain_is_verified_and_becomes_the_default_one(console: Console) -> None:
    service = console.service
    path = "/api/v1/tracking-domains/links.example.org"
    body = {"domain": "links.example.org"}
    assert service.request("POST", "/api/v1/tracking-domains", body).status == 200
    page = console.open("domains/tracking/links.example.org?part=settings")
    expect(page.get_by_role("switch", name="Links begin with https")).to_be_disabled()
    page.get_by_role("tab", name="Records").click()
    page.get_by_role("button", name="Publish Links").click()
    expect(page.get_by_text("Ready", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("switch", name="Default tracking domain").click()
    eventually(lambda: service.request("GET", path).json["results"]["default"], 20)
    page.get_by_role("switch", name="Links begin with https").click()
    eventually(lambda: service.request("GET", path).json["results"]["secure"], 20)
    expect(page.get_by_role("switch", name="Links begin with https")).to_be_checked()
    assert console.violations() == []
    assert service.request("DELETE", path).status in (200, 204)


def _domain(service: Service, name: str) -> dict[str, Any]:
    results: dict[str, Any] = service.request("GET", f"/api/v1/sending-domains/{name}").json[
        "results"
    ]
    return results


def test_the_identity_of_a_domain_in_ses_is_shown(console: Console) -> None:
    _add(console, "identity.example.org")
    states = [{"status": "pending"}, {"status": "failed", "error": "the domain has no DKIM key"}]

    def with_identity(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["results"]["ses"] = states[0]
        route.fulfill(response=answer, json=body)

    console.page.route("**/api/v1/sending-domains/identity.example.org", with_identity)
    page = console.open("domains/sending/identity.example.org")
    expect(page.get_by_text("Waiting for Amazon SES")).to_be_visible()
    assert console.violations() == []
    del states[0]
    page.reload()
    expect(page.get_by_text("the domain has no DKIM key")).to_be_visible()
