"""Receive mail at an inbound domain: it is posted, forwarded, and matched with what it answers."""

from __future__ import annotations

import email
import email.policy
import json
import smtplib
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

import pytest

from tests.http_target import Post, Target, serving
from tests.journey.service import Service, eventually

DOMAIN = "answers.example.test"
DOMAINS, WEBHOOKS = "/api/v1/inbound-domains", "/api/v1/relay-webhooks"


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    """A target that takes every post."""
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def inbound(service: Service, target: Target) -> Iterator[Service]:
    """The service with an inbound domain, whose mail is posted unless a route says otherwise."""
    assert service.request("POST", DOMAINS, {"domain": DOMAIN}).status == 200
    routes = [{"pattern": "desk", "action": "forward", "forward_to": "ann+desk@inbox.test"}]
    assert service.request("PUT", f"{DOMAINS}/{DOMAIN}/routes", {"routes": routes}).status == 200
    match = {"protocol": "SMTP", "domain": DOMAIN}
    body = {"name": "Answers", "target": target.url, "match": match}
    webhook = service.request("POST", WEBHOOKS, body)
    assert webhook.status == 200, webhook.body
    yield service
    path = f"{WEBHOOKS}/{webhook.json['results']['id']}"
    assert service.request("DELETE", path).status in (200, 204)
    assert service.request("DELETE", f"{DOMAINS}/{DOMAIN}").status in (200, 204)


def mail_in(service: Service, to: str, message: EmailMessage) -> None:
    """Send a message to the inbound port, as another host does."""
    port = json.loads((service.data_dir / "ports.json").read_text())["inbound"]
    with smtplib.SMTP("127.0.0.1", port, "mx.inbox.test", timeout=120) as host:
        host.send_message(message, "ann@inbox.test", [to])


def answer(text: str = "Yes, please.", subject: str = "Re: Order", **fields: str) -> EmailMessage:
    message = EmailMessage()
    usual = {"From": "Ann <ann@inbox.test>", "To": f"Help <help@{DOMAIN}>", "Subject": subject}
    for name, value in (usual | fields).items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


def posted(target: Target, rcpt_to: str) -> dict[str, Any]:
    """Wait for the post of a message; return its ``relay_message``, and that in its header."""

    def find() -> Post | None:
        posts = [post for post in target.batches() if post.events()]
        return next((each for each in posts if each.events()[0]["rcpt_to"] == rcpt_to), None)

    post = eventually(find)
    (relay_message,) = post.events()
    assert post.batch_id == relay_message["relay_id"]
    return dict(relay_message)


def types(service: Service, **query: str) -> list[str]:
    return sorted(event["type"] for event in service.events(**query))


def test_a_message_is_posted_with_all_its_fields_and_its_events_are_found(
    inbound: Service, target: Target
) -> None:
    to = f"help+7@{DOMAIN}"
    message = answer("Yes, please.\n\n> Do you want it?\n", subject="Zoë's order")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="a.png")
    mail_in(inbound, to, message)
    relay_message = posted(target, to)
    content = relay_message["content"]
    assert (content["subject"], content["to"]) == ("Zoë's order", [f"help@{DOMAIN}"])
    assert content["text"].startswith("Yes, please.")
    assert {"Received", "From", "Subject"} <= {name for each in content["headers"] for name in each}
    assert (relay_message["msg_from"], relay_message["friendly_from"]) == ("ann@inbox.test",) * 2
    assert (relay_message["reply_text"], relay_message["tag"]) == ("Yes, please.", "7")
    assert relay_message["in_reply_to"] is None
    assert set(relay_message["verdicts"]) == {"spf", "dkim", "dmarc", "arc", "spam", "virus"}
    (attachment,) = relay_message["attachments"]
    assert (attachment["name"], attachment["type"], attachment["size"]) == ("a.png", "image/png", 4)
    eventually(lambda: types(inbound, recipients=to) == ["relay_delivery", "relay_injection"])
    (event,) = inbound.events(recipients=to, events="relay_injection")
    assert event["relay_id"] == relay_message["relay_id"]
    assert event["webhook_id"] == relay_message["webhook_id"]


def test_an_answer_is_in_the_timeline_of_the_message_that_it_answers(
    inbound: Service, target: Target
) -> None:
    recipient = "customer@inbox.test"
    body = {
        "content": {
            "from": "Shop <me@example.test>",
            "subject": "Your order",
            "text": "Do you want it?",
            "reply_to": "Desk <desk@example.test>",
        },
        "recipients": [{"address": recipient}],
        "options": {"reply_domain": DOMAIN},
    }
    reply = inbound.request("POST", "/api/v1/transmissions", body)
    assert reply.status == 200, reply.body
    (raw,) = inbound.arrived(recipient)
    original = email.message_from_bytes(raw, policy=email.policy.default)
    (reply_to,) = original["Reply-To"].addresses
    assert (reply_to.display_name, reply_to.domain) == ("Desk", DOMAIN)
    # Its headers name another message: the address counts
    mail_in(inbound, reply_to.addr_spec, answer(In_Reply_To="<other@x.test>"))
    in_reply_to = posted(target, reply_to.addr_spec)["in_reply_to"]
    assert in_reply_to["rcpt_to"] == recipient
    assert in_reply_to["transmission_id"] == reply.json["results"]["id"]
    # One that was sent to another address is matched by its headers
    to = f"other@{DOMAIN}"
    mail_in(inbound, to, answer(In_Reply_To=original["Message-ID"]))
    assert posted(target, to)["in_reply_to"] == in_reply_to
    for query in ("messages", "message_id"), ("transmissions", "transmission_id"):
        timeline = {query[0]: in_reply_to[query[1]]}
        eventually(lambda timeline=timeline: "relay_injection" in types(inbound, **timeline))
        assert {"injection", "delivery"} < set(types(inbound, **timeline))


def test_a_message_is_forwarded_as_a_new_one(inbound: Service) -> None:
    mail_in(inbound, f"desk@{DOMAIN}", answer(subject="For the desk"))
    (raw,) = inbound.arrived("ann+desk@inbox.test")
    message = email.message_from_bytes(raw, policy=email.policy.default)
    (author,) = message["From"].addresses
    assert (author.display_name, author.domain) == (f"Ann via {DOMAIN}", "example.test")
    assert [each.addr_spec for each in message["Reply-To"].addresses] == ["ann@inbox.test"]
    assert message["Subject"] == "For the desk"


def test_other_recipients_are_refused(inbound: Service) -> None:
    for address in ("x@elsewhere.test", f"x@sub.{DOMAIN}"):
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            mail_in(inbound, address, answer())
