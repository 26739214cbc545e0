"""What only the local runtime has: its mailbox, its live stream and its switches."""

from __future__ import annotations

import json
import smtplib
import ssl
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

from tests.journey.live_stream import Listener
from tests.journey.service import Service, eventually


def test_messages_and_their_events_come_over_the_live_stream(service: Service) -> None:
    with Listener(service) as listener:
        service.send("open+live@inbox.test", html="<p>Hello</p>", text="Hello")
        message = listener.message_to("open+live@inbox.test")
        assert message.data["subject"] == "Hello"
        assert message.data["unread"]
        event = listener.event_of("open+live@inbox.test", "open")
        assert event.data["message_id"] == message.data["message_id"]
        assert event.data["subject"] == "Hello"
        assert event.data["display_name"] == "Open"


def test_a_listener_that_comes_back_gets_what_it_missed(service: Service) -> None:
    with Listener(service) as listener:
        service.send("first@resumed.test")
        event_id = listener.message_to("first@resumed.test").event_id
    service.send("second@resumed.test")
    service.arrived("second@resumed.test")
    with Listener(service, event_id) as listener:
        assert listener.message_to("second@resumed.test")


def test_a_message_is_shown_with_what_the_service_knows_of_it(service: Service) -> None:
    response = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "campaign_id": "spring",
            "recipients": [
                {"address": "ann@shown.test", "tags": ["VIP"]},
                {"address": "ben@shown.test"},
            ],
            "content": {
                "from": "hello@example.test",
                "subject": "Grüße",
                "html": '<p>Look: <a href="https://example.com/shop">shop</a></p>',
                "text": "Look",
                "attachments": [{"name": "a.txt", "type": "text/plain", "data": "aGVsbG8="}],
            },
        },
    )
    transmission_id = response.json["results"]["id"]
    service.arrived("ben@shown.test")
    service.arrived("ann@shown.test")
    (entry,) = service.mailbox(q="tag:vip to:*@shown.test", details="true")
    assert entry["to"] == "ann@shown.test"
    assert entry["transmission_id"] == transmission_id
    assert (entry["campaign_id"], entry["tags"], entry["attachments"]) == ("spring", ["VIP"], 1)
    assert len(service.mailbox(q="has:attachment grüße to:@shown.test")) == 2
    path = f"/local/mailbox/{entry['id']}"
    content = service.request("GET", f"{path}/content", key=None).json["results"]
    (attachment,) = [part for part in content["parts"] if part["role"] == "attachment"]
    part = service.request("GET", f"{path}/parts/{attachment['part']}", key=None)
    assert part.body == b"hello"
    page = service.request("GET", f"{path}/html", key=None)
    assert page.headers["content-security-policy"].startswith("sandbox")


def test_flags_and_searches_survive_a_restart(own_service: Service) -> None:
    own_service.start()
    own_service.send("ann@inbox.test", subject="First")
    own_service.send("ann@inbox.test", subject="Second")
    eventually(lambda: len(own_service.mailbox()) == 2)
    message_id = own_service.mailbox(subject="first")[0]["id"]
    own_service.request("PUT", f"/local/mailbox/{message_id}", {"unread": False}, key=None)
    with Listener(own_service) as listener:
        own_service.stop()
        assert listener.has_ended()
    own_service.start()
    assert [each["subject"] for each in own_service.mailbox(q="is:unread")] == ["Second"]
    assert len(own_service.mailbox(q=quote("Hello"))) == 2


def test_acting_as_the_recipient_shows_up_in_the_events(service: Service) -> None:
    with Listener(service) as listener:
        service.send("ann@acting.test", html='<p><a href="https://example.com/shop">Shop</a></p>')
        message = listener.message_to("ann@acting.test").data
        path = f"/local/mailbox/{message['id']}"
        actions = {
            "open": "open",
            "click": "click",
            "unsubscribe": "list_unsubscribe",
            "bounce": "out_of_band",
            "reply": "out_of_band",
            "complain": "spam_complaint",
        }
        for action, kind in actions.items():
            response = service.request("POST", f"{path}/actions", {"action": action}, key=None)
            assert response.status == 200, response.body
            event = listener.event_of("ann@acting.test", kind)
            assert event.data["message_id"] == message["message_id"]
        links = service.request("GET", f"{path}/links", key=None).json["results"]
        assert [link["target"] for link in links if link["kind"] == "click"] == [
            "https://example.com/shop"
        ]


def test_a_message_of_the_service_passes_the_checks(service: Service) -> None:
    service.send("ann@checked.test", html="<p>Hello</p>", text="Hello")
    (entry,) = eventually(lambda: service.mailbox(to="ann@checked.test"))
    checks = service.request("GET", f"/local/mailbox/{entry['id']}/checks", key=None)
    statuses = {check["check"]: check["status"] for check in checks.json["results"]}
    assert statuses == {
        "dkim": "pass",
        "alignment": "pass",
        "list_unsubscribe": "pass",
        "size": "pass",
        "text_part": "pass",
        "image_alt": "none",
    }


def test_a_failure_rule_is_in_force_at_once(service: Service) -> None:
    rule = {"pattern": "*@ruled.test", "code": 550, "text": "5.7.1 By rule"}
    response = service.request("POST", "/local/failures", rule, key=None)
    rule_id = response.json["results"]["id"]
    service.send("ann@ruled.test")
    bounce = eventually(lambda: service.events(recipients="ann@ruled.test", events="bounce"))[0]
    assert "5.7.1 By rule" in bounce["raw_reason"]
    service.request("DELETE", f"/local/failures/{rule_id}", key=None)
    service.send("ben@ruled.test")
    assert service.arrived("ben@ruled.test")


def test_a_webhook_that_fails_is_posted_again_until_the_receiver_recovers(
    service: Service,
) -> None:
    hook = "/local/webhooks/repaired"
    response = service.request(
        "POST",
        "/api/v1/webhooks",
        {
            "name": "Inspected",
            "target": f"http://localhost:{service.api_port}{hook}",
            # Mail of other tests, which was deferred, may be delivered meanwhile
            "events": ["injection"],
        },
    )
    assert response.status == 200, response.body
    webhook = f"/api/v1/webhooks/{response.json['results']['id']}"
    service.request("PUT", hook, {"status": 503, "times": 1}, key=None)

    def requests() -> list[dict[str, Any]]:
        return service.request("GET", f"{hook}/requests", key=None).json["results"]

    with Listener(service) as listener:
        service.send("ann@hooked.test")
        listener.next(lambda each: each.kind == "webhook" and each.data["receiver"] == "repaired")

    def posts() -> list[dict[str, Any]]:
        """All requests with their headers and bodies, the newest first."""
        paths = [f"{hook}/requests/{each['id']}" for each in requests()]
        return [service.request("GET", path, key=None).json["results"] for path in paths]

    def batch_of(post: dict[str, Any]) -> str:
        headers = {each["name"]: each["value"] for each in post["headers"]}
        return headers["x-svc-batch-id"]

    def repeated_batch() -> str:
        statuses: dict[str, list[int]] = {}
        for post in posts():
            statuses.setdefault(batch_of(post), []).append(post["status"])
        return next((each for each in statuses if statuses[each] == [200, 503]), "")

    # Late events of other tests may be posted, and fail, before
    eventually(lambda: any("ann@hooked.test" in post["body"] for post in posts()))
    batch_id = eventually(repeated_batch)
    reply = service.request("POST", f"{webhook}/signing-secret").json["results"]
    service.request("PUT", hook, {"secret": reply["signing_secret"]}, key=None)

    def is_signed() -> bool:
        # A secret is in use a moment after its creation
        service.request("POST", f"{webhook}/batches/{batch_id}/redeliver")
        return any(each["signature"] == "valid" for each in requests())

    eventually(is_signed)
    service.request("DELETE", webhook)


def test_no_other_site_reads_or_changes_what_is_local(service: Service) -> None:
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": f"evil.example:{service.api_port}"},
        {"Origin": "null"},
    ):
        for method, path in (
            ("GET", "/local/mailbox"),
            ("GET", "/local/stream"),
            ("DELETE", "/local/mailbox"),
            ("POST", "/local/failures"),
            ("POST", "/local/webhooks/mine"),
            ("PUT", "/local/dns/a.test"),
        ):
            assert service.request(method, path, key=None, headers=headers).status == 403


def test_clients_that_insist_on_tls_reach_the_api_the_console_and_the_relay(
    service: Service,
) -> None:
    address = json.loads((service.data_dir / "service.json").read_text())
    trust = ssl.create_default_context(cafile=address["authority"])
    url = f"https://localhost:{address['api_tls_port']}"
    request = Request(f"{url}/api/v1/account", headers={"Authorization": address["api_key"]})
    for target in (request, f"{url}/console/", f"{url}/local/mailbox"):
        with urlopen(target, context=trust) as response:
            assert response.status == 200
    with smtplib.SMTP_SSL("localhost", address["smtp_tls_port"], context=trust) as client:
        client.login("SMTP_Injection", address["api_key"])
        message = "From: a@example.test\r\nSubject: Sealed\r\n\r\nHello\r\n"
        client.sendmail("a@example.test", ["secure@inbox.test"], message)
    (arrived,) = service.arrived("secure@inbox.test")
    assert b"Subject: Sealed" in arrived
