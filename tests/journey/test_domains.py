"""Add a domain, verify it in the local DNS or by mail, and send from it."""

from __future__ import annotations

import email
import email.policy
from typing import Any

import dkim
import pytest

from tests.http_response import Response
from tests.journey.service import Service, eventually

DOMAINS = "/api/v1/sending-domains"
TRACKING = "/api/v1/tracking-domains"


def results(response: Response) -> Any:
    assert response.status == 200, response.body
    return response.json["results"]


def create(service: Service, domain: str, **body: Any) -> Any:
    return results(service.request("POST", DOMAINS, {"domain": domain, **body}))


def verify(service: Service, domain: str, **body: Any) -> Any:
    return results(service.request("POST", f"{DOMAINS}/{domain}/verify", body))


def send(service: Service, sender: str, to: str) -> Response:
    content = {"from": sender, "subject": "s", "text": "t"}
    body = {"recipients": [{"address": to}], "content": content}
    return service.request("POST", "/api/v1/transmissions", body)


def header(raw: bytes, name: str) -> str:
    return str(email.message_from_bytes(raw, policy=email.policy.default)[name])


def is_signed(service: Service, raw: bytes) -> bool:
    def lookup(name: bytes, timeout: float = 5) -> bytes:
        return b"".join(service.resolver().resolve(name.decode(), "TXT")[0].strings)

    return dkim.verify(raw[raw.index(b"DKIM-Signature") :], dnsfunc=lookup)


@pytest.mark.spec("3-t10")
@pytest.mark.spec("4.4-t1")
@pytest.mark.spec("4.4-t2")
def test_a_domain_can_send_after_dns_verification_and_signs_with_its_own_key(
    service: Service,
) -> None:
    domain = create(service, "signed.journey-shop.test", dkim_key_length=2048)
    response = send(service, "me@signed.journey-shop.test", "x@inbox.test")
    assert response.json["errors"][0]["code"] == "7001"
    domain_status = verify(service, "signed.journey-shop.test", dkim_verify=True, cname_verify=True)
    assert domain_status["ownership_verified"] is True
    assert (domain_status["dkim_status"], domain_status["cname_status"]) == ("valid", "valid")
    assert domain_status["spf_status"] == "valid"
    assert domain_status["dns"]["dkim_record"].endswith(domain["dkim"]["public"])
    assert domain_status["dns"]["cname_record"] == "postfinch.test"
    assert send(service, "me@signed.journey-shop.test", "domain-1@inbox.test").status == 200
    (raw,) = service.arrived("domain-1@inbox.test")
    assert is_signed(service, raw)
    assert "d=signed.journey-shop.test" in header(raw, "DKIM-Signature")


@pytest.mark.spec("3-t13")
def test_verifying_a_domain_with_wrong_records_reports_what_is_wrong(service: Service) -> None:
    create(service, "broken-journey.test")
    domain_status = verify(service, "broken-journey.test", dkim_verify=True, cname_verify=True)
    assert (domain_status["dkim_status"], domain_status["cname_status"]) == ("invalid", "invalid")
    assert domain_status["ownership_verified"] is False
    assert "p= tag" in domain_status["dns"]["dkim_error"]
    assert "wrong.invalid" in domain_status["dns"]["cname_error"]


@pytest.mark.spec("3-t11")
@pytest.mark.spec("3-t12")
def test_a_domain_is_verified_by_the_link_in_a_mail_and_its_button(service: Service) -> None:
    create(service, "mailbox-journey.test", generate_dkim=False)
    verify(service, "mailbox-journey.test", abuse_at_verify=True)
    service.arrived("abuse@mailbox-journey.test")
    verify(service, "mailbox-journey.test", abuse_at_verify=True)
    newest, oldest = (
        next(line for line in body.splitlines() if line.startswith("http"))
        for body in (
            raw.decode().partition("\r\n\r\n")[2]
            for raw in service.arrived("abuse@mailbox-journey.test", 2)
        )
    )
    paths = [link.removeprefix(f"http://localhost:{service.api_port}") for link in (newest, oldest)]
    page = service.request("GET", paths[0], key=None)
    assert (page.status, b"<button" in page.body) == (200, True)
    assert service.request("POST", paths[1], key=None).status == 410
    domain = results(service.request("GET", f"{DOMAINS}/mailbox-journey.test"))
    assert domain["status"]["ownership_verified"] is False
    assert service.request("POST", paths[0], key=None).status == 200
    domain = results(service.request("GET", f"{DOMAINS}/mailbox-journey.test"))
    assert domain["status"]["abuse_at_status"] == "valid"
    assert service.request("POST", paths[0], key=None).status == 410
    assert send(service, "me@mailbox-journey.test", "domain-2@inbox.test").status == 200
    (raw,) = service.arrived("domain-2@inbox.test")
    assert b"DKIM-Signature" not in raw


@pytest.mark.spec("2.5-t7")
def test_bounces_go_to_the_default_bounce_domain(service: Service) -> None:
    key = results(
        service.request("POST", "/api/v1/subaccounts", {"name": "Bounces", "setup_api_key": False})
    )
    headers = {"X-SVC-SUBACCOUNT": str(key["subaccount_id"])}
    body: dict[str, Any] = {"domain": "bounces-journey.test"}
    assert service.request("POST", DOMAINS, body, headers=headers).status == 200
    path = f"{DOMAINS}/bounces-journey.test"
    response = service.request("PUT", path, {"is_default_bounce_domain": True}, headers=headers)
    assert (response.status, response.json["errors"][0]["code"]) == (422, "1300")
    service.request("POST", f"{path}/verify", {"cname_verify": True}, headers=headers)
    body = {"is_default_bounce_domain": True}
    assert service.request("PUT", path, body, headers=headers).status == 200
    assert service.request("GET", path, headers={"X-SVC-SUBACCOUNT": "0"}).status == 404
    content = {"from": "me@example.test", "subject": "s", "text": "t"}
    transmission = {"recipients": [{"address": "domain-3@inbox.test"}], "content": content}
    response = service.request("POST", "/api/v1/transmissions", transmission, headers=headers)
    assert response.status == 200, response.body
    (raw,) = service.arrived("domain-3@inbox.test")
    assert header(raw, "Return-Path").endswith("@bounces-journey.test>")


def test_additional_dkim_keys_are_published_in_the_local_dns(service: Service) -> None:
    create(service, "keys-journey.test")
    path = f"{DOMAINS}/keys-journey.test/dkim-keys"
    for number in (1, 2):
        body = {"id": f"key-{number}", "selector": f"sel{number}"}
        assert service.request("POST", path, body).status == 200
        further_key = results(service.request("POST", f"{path}/key-{number}/verify", {}))
        assert further_key["dkim_status"] == "valid"
    assert service.request("GET", path).json["total_count"] == 2


def test_a_tracking_domain_is_verified_by_its_cname_and_a_page(service: Service) -> None:
    assert service.request("POST", TRACKING, {"domain": "track.journey-shop.test"}).status == 200
    path = f"{TRACKING}/track.journey-shop.test"
    assert service.request("PUT", path, {"default": True}).status == 422
    assert results(service.request("POST", f"{path}/verify", {}))["verified"] is True
    assert service.request("PUT", path, {"default": True}).status == 200
    assert results(service.request("GET", path))["default"] is True
    assert service.request("DELETE", path).status == 204
    service.request("POST", TRACKING, {"domain": "broken-track.test"})
    domain_status = results(service.request("POST", f"{TRACKING}/broken-track.test/verify", {}))
    assert (domain_status["verified"], domain_status["cname_status"]) == (False, "invalid")


def test_a_real_domain_is_verified_by_records_written_to_the_local_dns(
    own_service: Service,
) -> None:
    service = own_service
    service.start()
    domain = create(service, "mycompany.com")
    create(service, "bounces.mycompany.com", generate_dkim=False)
    tracking = f"{TRACKING}/track.mycompany.com"
    assert service.request("POST", TRACKING, {"domain": "track.mycompany.com"}).status == 200
    assert verify(service, "mycompany.com", dkim_verify=True)["dkim_status"] == "invalid"
    bounces = verify(service, "bounces.mycompany.com", cname_verify=True)
    assert bounces["cname_status"] == "invalid"
    assert results(service.request("POST", f"{tracking}/verify", {}))["verified"] is False

    dkim_key = domain["dkim"]
    dkim_name = f"{dkim_key['selector']}._domainkey.mycompany.com"
    service.publish(dkim_name, ("TXT", f"v=DKIM1; k=rsa; h=sha256; p={dkim_key['public']}"))
    service.publish("mycompany.com", ("MX", "10 mail.mycompany.com"), ("TXT", "v=spf1 -all"))
    service.publish("bounces.mycompany.com", ("CNAME", "postfinch.test"))
    service.publish("track.mycompany.com", ("CNAME", "track.postfinch.test"))
    assert verify(service, "mycompany.com", dkim_verify=True)["dkim_status"] == "valid"
    bounces = verify(service, "bounces.mycompany.com", cname_verify=True)
    assert bounces["cname_status"] == "valid"
    assert results(service.request("POST", f"{tracking}/verify", {}))["verified"] is True

    content = {
        "from": "me@mycompany.com",
        "subject": "s",
        "html": "<a href='https://shop.example/'>Shop</a>",
    }
    body = {
        "recipients": [{"address": "click+1@inbox.test"}],
        "content": content,
        "return_path": "bounces@bounces.mycompany.com",
    }
    assert service.request("PUT", tracking, {"default": True}).status == 200
    response = service.request("POST", "/api/v1/transmissions", body)
    assert response.status == 200, response.body
    (raw,) = service.arrived("click+1@inbox.test")
    assert is_signed(service, raw)
    assert "d=mycompany.com" in header(raw, "DKIM-Signature")
    assert header(raw, "Return-Path").endswith("@bounces.mycompany.com>")
    assert b"http://track.mycompany.com:" in raw
    eventually(lambda: "click" in service.event_types("click+1@inbox.test"))

    service.stop()
    service.start()
    answers = results(service.request("GET", "/local/dns", key=None))
    origins = {answer["name"]: answer["origin"] for answer in answers}
    assert (origins["mycompany.com"], origins["example.test"]) == ("user", "service")
    assert verify(service, "mycompany.com", dkim_verify=True)["dkim_status"] == "valid"
    assert service.request("DELETE", f"/local/dns/{dkim_name}", key=None).status == 200
    assert verify(service, "mycompany.com", dkim_verify=True)["dkim_status"] == "invalid"


@pytest.mark.spec("4.4-t5")
def test_a_deleted_domain_can_no_longer_send(service: Service) -> None:
    create(service, "gone-journey.test")
    verify(service, "gone-journey.test", dkim_verify=True)
    assert send(service, "me@gone-journey.test", "domain-4@inbox.test").status == 200
    service.arrived("domain-4@inbox.test")
    assert service.request("DELETE", f"{DOMAINS}/gone-journey.test").status == 204
    response = send(service, "me@gone-journey.test", "domain-4@inbox.test")
    assert response.json["errors"][0]["code"] == "7001"


def test_the_first_domain_exists_and_stays_verified_after_a_check(service: Service) -> None:
    domain_status = verify(service, "example.test", dkim_verify=True, cname_verify=True)
    assert (domain_status["dkim_status"], domain_status["cname_status"]) == ("valid", "valid")
    eventually(lambda: results(service.request("GET", DOMAINS + "?is_default_bounce_domain=true")))
