"""Open, click and unsubscribe from messages in the inbox, and read the events."""

from __future__ import annotations

import email.policy
import http.client
import re
import smtplib
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from html import unescape
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.journey.service import KEY, Service, eventually

TARGET = "https://shop.example/a?b=1&copy=2#c"
HTML = """<html><body><p>Hi {{name}}</p>
<a href="https://shop.example/a?b=1&amp;copy=2#c" data-svc-linkname="Shop">shop</a>
<a href="{{elsewhere}}">not ours to track</a>
<a href="https://shop.example/bye" data-svc-unsubscribe="1">unsubscribe</a>
<a href="https://shop.example/x" data-svc-clicktrack="0">x</a> <a href="mailto:a@b.example">m</a>
</body></html>"""
TEXT = 'Read https://shop.example/t. Not https://shop.example/u[[data-svc-clicktrack="0"]]'
TRACKED = re.compile(r"http://localhost:\d+/(?:t|f)/[\w./-]+")
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
CONTENT = {"from": "hello@example.test", "subject": "Garden chairs", "html": HTML, "text": TEXT}


def transmit(service: Service, recipient: str, content: Any = None, **options: Any) -> None:
    """Send a message without waiting for it."""
    response = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "campaign_id": "spring",
            "metadata": {"shop": "north"},
            "substitution_data": {"name": "Ann", "elsewhere": "https://else.example/"},
            "recipients": [{"address": recipient, "tags": ["new"]}],
            "options": options,
            "content": content or CONTENT,
        },
    )
    assert response.status == 200, response.body


def send(service: Service, recipient: str, content: Any = None, **options: Any) -> EmailMessage:
    """Send a message and return it as it arrived."""
    transmit(service, recipient, content, **options)
    return arrived(service, recipient)


def arrived(service: Service, recipient: str) -> EmailMessage:
    """Wait for the only message to a recipient and return it."""
    (raw,) = service.arrived(recipient)
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def html_of(message: EmailMessage) -> str:
    part = message.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def text_of(message: EmailMessage) -> str:
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def visit(url: str, method: str = "GET", form: str | None = None) -> http.client.HTTPResponse:
    """Make a request with a browser's user agent, without following redirects."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=120)
    headers = {"User-Agent": BROWSER}
    if form is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    connection.request(method, parts.path, form, headers)
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


def event(service: Service, recipient: str, kind: str) -> dict[str, Any]:
    """Wait for the first event of a kind and return it."""
    return eventually(lambda: service.events(recipients=recipient, events=kind))[-1]


def suppressed(service: Service, recipient: str) -> list[dict[str, Any]]:
    """Wait until a recipient is on the suppression list; return the entries."""

    def entries() -> list[dict[str, Any]]:
        response = service.request("GET", f"/api/v1/suppression-list/{quote(recipient)}")
        return response.json["results"] if response.status == 200 else []

    return eventually(entries)


@pytest.mark.spec("2.1-t11")
@pytest.mark.spec("2.1-t13")
def test_an_open_is_recorded_with_the_fields_of_its_message(service: Service) -> None:
    recipient = "open+journey@inbox.test"
    message = send(service, recipient)
    for kind in ("open", "initial_open"):
        open_event = event(service, recipient, kind)
        assert open_event["subject"] == "Garden chairs"
        assert open_event["campaign_id"] == "spring"
        assert open_event["rcpt_meta"] == {"shop": "north"}
        assert open_event["rcpt_tags"] == ["new"]
        assert open_event["sending_domain"] == "example.test"
        assert open_event["user_agent_parsed"]["agent_family"] == "Thunderbird"
        assert open_event["user_agent_parsed"]["is_prefetched"] is False
        assert open_event["ip_address"] == "127.0.0.1"
        assert (open_event["mailbox_provider"], open_event["mailbox_provider_region"]) == (
            "Other",
            "Unknown",
        )
        assert (open_event["open_tracking"], open_event["initial_pixel"]) == (True, True)
        assert open_event["display_name"]
    html = html_of(message)
    assert html.index("/t/i/") < html.index("Hi Ann") < html.index("/t/o/")


@pytest.mark.spec("2.1-t12")
def test_a_click_is_recorded_with_its_target(service: Service) -> None:
    recipient = "click+journey@inbox.test"
    send(service, recipient)
    click = event(service, recipient, "click")
    assert click["target_link_url"] == TARGET
    assert click["target_link_name"] == "Shop"
    assert click["campaign_id"] == "spring"
    assert click["click_tracking"] is True


def test_tracked_links_redirect_to_exactly_their_original_target(service: Service) -> None:
    recipient = "reader@inbox.test"
    message = send(service, recipient)
    shop, bye = TRACKED.findall(html_of(message).split("<a ", 1)[1].split("/t/o/")[0])
    assert visit(shop).getheader("Location") == TARGET
    assert 'href="https://else.example/"' in unescape(html_of(message))
    assert 'href="https://shop.example/x"' in html_of(message)
    assert "data-svc" not in html_of(message)
    assert visit(bye).status == 200
    (in_text,) = TRACKED.findall(text_of(message))
    assert visit(in_text.rstrip(".")).getheader("Location") == "https://shop.example/t"
    assert text_of(message).rstrip().endswith("Not https://shop.example/u")
    eventually(lambda: len(service.events(recipients=recipient, events="click")) == 2)
    assert service.events(recipients=recipient, events="link_unsubscribe") == []


def test_an_altered_tracking_link_is_404(service: Service) -> None:
    message = send(service, "altered@inbox.test")
    shop = TRACKED.findall(html_of(message).split("<a ", 1)[1])[0]
    for altered in (f"{shop[:-1]}{'A' if shop[-1] != 'A' else 'B'}", f"{shop}A", shop[:-20]):
        response = visit(altered)
        assert (response.status, response.getheader("Location")) == (404, None)


def test_a_head_request_records_no_open_and_no_click(service: Service) -> None:
    recipient = "head@inbox.test"
    message = send(service, recipient)
    for url in TRACKED.findall(html_of(message)):
        visit(url, "HEAD")
    visit(TRACKED.findall(html_of(message))[0])
    types = ["injection", "delivery", "initial_open"]
    assert eventually(lambda: service.event_types(recipient) == types)


@pytest.mark.spec("2.9-t3")
def test_a_recipient_who_unsubscribes_by_one_click_gets_no_more_mail(service: Service) -> None:
    recipient = "unsubscribe+journey@inbox.test"
    message = send(service, recipient)
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert ">, <mailto:" in message["List-Unsubscribe"]
    signed = re.search(r"h=([^;]*);", message["DKIM-Signature"])
    assert signed
    assert {"list-unsubscribe", "list-unsubscribe-post"} <= set(re.split(r"[:\s]+", signed[1]))
    unsubscription = event(service, recipient, "list_unsubscribe")
    assert unsubscription["rcpt_to"] == recipient
    assert unsubscription["campaign_id"] == "spring"
    (entry,) = suppressed(service, recipient)
    assert (entry["source"], entry["type"]) == ("List Unsubscribe", "non_transactional")
    transmit(service, recipient)
    assert event(service, recipient, "bounce")["bounce_class"] == "25"
    assert len(service.arrived(recipient)) == 1


def test_opening_an_unsubscribe_link_shows_a_button_that_unsubscribes(service: Service) -> None:
    recipient = "button@inbox.test"
    message = send(service, recipient)
    header = message["List-Unsubscribe"].strip("<>").split(">")[0]
    link = TRACKED.findall(html_of(message))[2]
    for url in (header, link):
        response = visit(url)
        assert (response.status, response.getheader("Location")) == (200, None)
        assert b'<form method="post">' in response.body  # type: ignore[attr-defined]
    assert visit(link, "POST", "").getheader("Location") == "https://shop.example/bye"
    assert event(service, recipient, "link_unsubscribe")["target_link_url"].endswith("/bye")
    (entry,) = suppressed(service, recipient)
    assert entry["source"] == "Unsubscribe Link"
    assert service.events(recipients=recipient, events="list_unsubscribe") == []
    assert visit(header, "POST", "List-Unsubscribe=One-Click").status == 200
    event(service, recipient, "list_unsubscribe")


def test_a_recipient_who_unsubscribes_from_mail_of_a_list_still_gets_other_mail(
    service: Service,
) -> None:
    recipient = "unsubscribe+of-a-list@inbox.test"
    list_content = CONTENT | {"headers": {"List-Id": "Garden news <garden.example.test>"}}
    send(service, recipient, list_content)
    (entry,) = suppressed(service, recipient)
    assert (entry["type"], entry["list_id"]) == ("non_transactional", "garden.example.test")
    unsubscription = event(service, recipient, "list_unsubscribe")
    assert "list_id" not in unsubscription
    transmit(service, recipient, list_content)
    assert event(service, recipient, "bounce")["bounce_class"] == "25"
    other = CONTENT | {"headers": {"List-Id": "<kitchen.example.test>"}}
    transmit(service, recipient, other)
    eventually(lambda: len(service.arrived(recipient, 2)) == 2)


def test_the_link_in_mail_of_a_list_unsubscribes_from_that_list(service: Service) -> None:
    recipient = "leaves-a-list@inbox.test"
    content = CONTENT | {"headers": {"List-Id": "<garden.example.test>"}}
    link = TRACKED.findall(html_of(send(service, recipient, content)))[2]
    assert visit(link, "POST", "").status == 303
    (entry,) = suppressed(service, recipient)
    assert (entry["source"], entry["list_id"]) == ("Unsubscribe Link", "garden.example.test")


@pytest.mark.spec("2.9-t2")
def test_opens_of_a_recipient_who_objects_to_open_tracking_are_not_recorded(
    service: Service,
) -> None:
    recipient = "objector@inbox.test"
    path = f"/api/v1/suppression-list/{recipient}"
    assert service.request("PUT", path, {"type": "open_tracking"}).status == 200
    message = send(service, recipient)
    for url in TRACKED.findall(html_of(message))[:2]:  # the first pixel and the shop link
        visit(url)
    event(service, recipient, "click")
    types = ["injection", "delivery", "click"]
    assert eventually(lambda: service.event_types(recipient) == types)


def test_a_message_with_tracking_turned_off_has_no_tracked_links_or_pixels(
    service: Service,
) -> None:
    off = {"open_tracking": False, "click_tracking": False, "initial_open": False}
    recipient = "private@inbox.test"
    message = send(service, recipient, **off, transactional=True)
    assert TRACKED.findall(html_of(message)) == TRACKED.findall(text_of(message)) == []
    assert 'href="https://shop.example/a?b=1&amp;copy=2#c"' in html_of(message)
    assert "data-svc" not in html_of(message) + text_of(message)
    assert message["List-Unsubscribe"] is None
    injection = event(service, recipient, "injection")
    assert injection["open_tracking"] is injection["initial_pixel"] is False


def test_a_pre_built_message_is_tracked_as_well(service: Service) -> None:
    built = EmailMessage()
    built["From"], built["Subject"] = "hello@example.test", "For {{name}}"
    built["List-Unsubscribe"] = "<https://own.example/>"
    built.set_content(TEXT)
    built.add_alternative(HTML, subtype="html", cte="base64")
    recipient = "click+built@inbox.test"
    message = send(service, recipient, {"email_rfc822": built.as_string()})
    assert html_of(message).index("/t/i/") < html_of(message).index("/t/o/")
    assert len(TRACKED.findall(text_of(message))) == 1
    assert "own.example" not in message["List-Unsubscribe"]
    assert event(service, recipient, "click")["target_link_name"] == "Shop"


def test_mail_over_smtp_is_tracked_only_on_request(service: Service) -> None:
    api_header = '{"options": {"open_tracking": true, "click_tracking": true}}'
    for recipient, header in (("quiet@inbox.test", ""), ("asked@inbox.test", api_header)):
        message = EmailMessage()
        message["From"], message["Subject"] = "hello@example.test", "Over SMTP"
        if header:
            message["X-SVC-API"] = header
        message.set_content(HTML, subtype="html")
        with smtplib.SMTP("127.0.0.1", service.smtp_port, timeout=120) as client:
            client.starttls()
            client.login("SMTP_Injection", KEY)
            client.send_message(message, "hello@example.test", [recipient])
    quiet = arrived(service, "quiet@inbox.test")
    assert TRACKED.findall(html_of(quiet)) == []
    assert "Hi {{name}}" in html_of(quiet)
    assert quiet["List-Unsubscribe-Post"]
    kinds = [
        urlsplit(url).path[:4] for url in TRACKED.findall(html_of(arrived(service, recipient)))
    ]
    assert kinds == ["/t/i", "/t/c", "/t/c", "/t/o"]


@pytest.mark.spec("2.1-t4")
def test_engagement_counts_for_an_ab_test(service: Service) -> None:
    for name in ("engaging-a", "engaging-b"):
        template = {"id": name, "published": True, "content": CONTENT}
        assert service.request("POST", "/api/v1/templates", template).status == 200
    start = datetime.now(UTC) + timedelta(seconds=1)
    body = {
        "id": "engaging",
        "name": "Engaging",
        "metric": "count_unique_clicked",
        "audience_selection": "percent",
        "test_mode": "learning",
        "start_time": start.isoformat(timespec="seconds"),
        "default_template": {"template_id": "engaging-a", "percent": 50},
        "variants": [{"template_id": "engaging-b", "percent": 50}],
    }
    response = service.request("POST", "/api/v1/ab-test", body)
    assert response.status == 200, response.body
    path = "/api/v1/ab-test/engaging"
    eventually(lambda: service.request("GET", path).json["results"]["status"] == "running")
    recipient = "click+abtest@inbox.test"
    transmit(service, recipient, {"ab_test_id": "engaging"})
    click = event(service, recipient, "click")
    assert click["ab_test_id"] == "engaging"

    def counted() -> bool:
        test = service.request("GET", path).json["results"]
        shares = [test["default_template"], *test["variants"]]
        (share,) = [each for each in shares if each["template_id"] == click["template_id"]]
        return (share["count_accepted"], share["count_unique_clicked"]) == (1, 1)

    assert eventually(counted)


def test_clicks_after_a_request_to_be_forgotten_carry_no_personal_data(service: Service) -> None:
    recipient = "forgotten@inbox.test"
    links = TRACKED.findall(html_of(send(service, recipient)))
    event(service, recipient, "delivery")
    body = {"recipients": [recipient.upper()]}
    assert service.request("POST", "/api/v1/data-privacy/rtbf-request", body).status == 200
    assert service.events(recipients=recipient) == []
    visit(next(link for link in links if "/t/c/" in link))
    (click,) = eventually(lambda: service.events(recipients=recipient))
    assert (click["rcpt_meta"], click["rcpt_tags"], click["subject"]) == ({}, [], "")
    assert (click["type"], click["rcpt_to"]) == ("click", recipient)
    assert click["campaign_id"] == "spring"
