"""Use accounts as an owner, a subaccount and an operator do."""

from __future__ import annotations

import smtplib
import ssl
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from typing import Any

import pytest

from tests.http_response import Response
from tests.journey.service import KEY, Service, eventually

GRANTS = ["transmissions/modify", "smtp/inject", "message_events/view"]


def new_subaccount(service: Service, name: str) -> dict[str, Any]:
    """Create a subaccount with a key that can send and read."""
    body = {"name": name, "key_label": name, "key_grants": GRANTS}
    response = service.request("POST", "/api/v1/subaccounts", body)
    assert response.status == 200, response.body
    return response.json["results"]


def post(service: Service, recipient: str, key: str, **headers: str) -> Response:
    """Send a message over HTTP with a key."""
    body = {
        "recipients": [{"address": recipient}],
        "content": {"from": "hello@example.test", "subject": "Hello", "text": "Hello"},
    }
    return service.request("POST", "/api/v1/transmissions", body, key=key, headers=headers)


def post_by_smtp(service: Service, recipient: str, username: str, key: str) -> None:
    """Send a message through the relay; errors of ``smtplib`` are passed on."""
    message = EmailMessage()
    message["From"] = "hello@example.test"
    message["To"] = recipient
    message["Subject"] = "Hello"
    message.set_content("Hello")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with smtplib.SMTP("127.0.0.1", service.smtp_port, timeout=120) as client:
        client.starttls(context=context)
        client.login(username, key)
        client.send_message(message)


def used_today(service: Service) -> int:
    """Return the number of recipients that the account has used today."""
    response = service.request("GET", "/api/v1/account?include=usage")
    return response.json["results"]["usage"]["day"]["used"]


@pytest.mark.spec("4.5-t1")
@pytest.mark.spec("5-r6")
@pytest.mark.spec("5-r7")
def test_a_subaccount_sends_with_its_key_and_with_the_header(service: Service) -> None:
    subaccount = new_subaccount(service, "North")
    number = subaccount["subaccount_id"]
    before = used_today(service)
    response_with_key = post(service, "sub-own@inbox.test", subaccount["key"])
    response_with_header = post(
        service, "sub-named@inbox.test", KEY, **{"X-SVC-SUBACCOUNT": str(number)}
    )
    response_with_alias = post(
        service, "sub-alias@inbox.test", KEY, **{"X-MSYS-SUBACCOUNT": str(number)}
    )
    responses = (response_with_key, response_with_header, response_with_alias)
    assert {response.status for response in responses} == {200}
    post_by_smtp(service, "sub-smtp@inbox.test", "SMTP_Injection", subaccount["key"])
    username = f"SMTP_Injection:X-SVC-SUBACCOUNT={number}"
    post_by_smtp(service, "sub-smtp-named@inbox.test", username, KEY)
    for name in ("sub-own", "sub-named", "sub-alias", "sub-smtp", "sub-smtp-named"):
        recipient = f"{name}@inbox.test"
        service.arrived(recipient)
        eventually(lambda recipient=recipient: "delivery" in service.event_types(recipient))
        assert service.events(recipients=recipient)[0]["subaccount_id"] == str(number)
    eventually(lambda: used_today(service) >= before + 5)


@pytest.mark.spec("3-t7")
@pytest.mark.spec("2.6-t3")
def test_a_suspended_subaccount_cannot_send_and_can_read(service: Service) -> None:
    subaccount = new_subaccount(service, "South")
    path = f"/api/v1/subaccounts/{subaccount['subaccount_id']}"
    assert service.request("PUT", path, {"status": "suspended"}).status == 200
    response = eventually(
        lambda: (
            (response := post(service, "never@inbox.test", subaccount["key"])).status == 403
            and response
        )
    )
    assert "suspended" in response.json["errors"][0]["description"]
    with pytest.raises(smtplib.SMTPDataError) as refusal:
        post_by_smtp(service, "never@inbox.test", "SMTP_Injection", subaccount["key"])
    assert refusal.value.smtp_code == 550
    assert b"5.7.1" in refusal.value.smtp_error
    reading = service.request("GET", "/api/v1/events/message", key=subaccount["key"])
    assert reading.status == 200
    assert service.request("PUT", path, {"status": "active"}).status == 200
    eventually(lambda: post(service, "again@inbox.test", subaccount["key"]).status == 200)


@pytest.mark.spec("5-r2")
@pytest.mark.spec("5-r4")
def test_an_api_key_works_only_from_its_ip_addresses_until_it_is_deleted(service: Service) -> None:
    body = {"label": "here", "grants": GRANTS, "valid_ips": ["127.0.0.0/8", "::1"]}
    api_key = service.request("POST", "/api/v1/api-keys", body).json["results"]
    path = f"/api/v1/api-keys/{api_key['id']}"
    forged = {"X-Forwarded-For": "127.0.0.1"}
    assert post(service, "here@inbox.test", api_key["key"]).status == 200
    post_by_smtp(service, "here-smtp@inbox.test", "SMTP_Injection", api_key["key"])
    assert service.request("PUT", path, {"valid_ips": ["198.51.100.7"]}).status == 200
    eventually(lambda: post(service, "h@inbox.test", api_key["key"], **forged).status == 403)
    assert service.request("DELETE", path).status == 204
    eventually(lambda: post(service, "h@inbox.test", api_key["key"]).status == 401)

    def is_refused_by_smtp() -> bool:
        try:
            post_by_smtp(service, "h@inbox.test", "SMTP_Injection", api_key["key"])
        except smtplib.SMTPResponseException as refusal:
            # 530: a login by the cached key is over by the time of the message
            return refusal.smtp_code == 535
        return False

    eventually(is_refused_by_smtp)


@pytest.mark.spec("8-t2")
@pytest.mark.spec("7-t9")
def test_a_daily_limit_set_by_an_operator_holds_exactly(own_service: Service) -> None:
    own_service.start(KEY_CACHE_SECONDS="0")
    assert post(own_service, "first@inbox.test", KEY).status == 200
    eventually(lambda: used_today(own_service) == 1)
    own_service.operate("set-plan", "1", "--daily", "21")
    with ThreadPoolExecutor(12) as pool:
        responses = list(
            pool.map(lambda n: post(own_service, f"race-{n}@inbox.test", KEY), range(60))
        )
    assert sorted({response.status for response in responses}) == [200, 420]
    assert sum(response.status == 200 for response in responses) == 20
    assert used_today(own_service) == 21
    with pytest.raises(smtplib.SMTPDataError) as refusal:
        post_by_smtp(own_service, "late@inbox.test", "SMTP_Injection", KEY)
    assert refusal.value.smtp_code == 451
    assert b"4.7.1" in refusal.value.smtp_error


def test_another_account_sees_nothing_of_the_first(
    service: Service,
) -> None:
    output = dict(
        line.rsplit(" ", 1) for line in service.operate("create-account", "Other Ltd").splitlines()
    )
    key, number = output["key"], output["account"]
    account = service.request("GET", "/api/v1/account", key=key).json["results"]
    assert (str(account["customer_id"]), account["company_name"]) == (number, "Other Ltd")
    assert service.request("GET", "/api/v1/subaccounts", key=key).json["results"] == []
    assert service.request("GET", "/api/v1/events/message", key=key).json["total_count"] == 0
    assert post(service, "foreign@inbox.test", key).json["errors"][0]["code"] == "7001"
    assert f"{number}\tactive\tstandard\tOther Ltd" in service.operate("list-accounts")
    service.operate("revoke-key", number, output["key id"])
    eventually(lambda: service.request("GET", "/api/v1/account", key=key).status == 401)
