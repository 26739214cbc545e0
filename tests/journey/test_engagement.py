"""From a message in the inbox back to its events: opens, clicks, unsubscribes."""

from __future__ import annotations

import email.policy
import html
import http.client
import re
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.journey.service import Service, eventually

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


def send(service: Service, recipient: str, **options: Any) -> EmailMessage:
    """Send the newsletter and return it as it arrived."""
    answer = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "campaign_id": "spring",
            "metadata": {"shop": "north"},
            "substitution_data": {"name": "Ann", "elsewhere": "https://else.example/"},
            "recipients": [{"address": recipient, "tags": ["new"]}],
            "options": options,
            "content": {
                "from": "hello@example.test",
                "subject": "Garden chairs",
                "html": HTML,
                "text": TEXT,
            },
        },
    )
    assert answer.status == 200, answer.body
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
    """Make a request as a browser would, but follow nothing."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=10)
    headers = {"User-Agent": BROWSER}
    if form is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    connection.request(method, parts.path, form, headers)
    answer = connection.getresponse()
    answer.body = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def event(service: Service, recipient: str, kind: str) -> dict[str, Any]:
    """Wait for the first event of a kind and return it."""
    return eventually(lambda: service.events(recipients=recipient, events=kind))[-1]


@pytest.mark.spec("2.1-t11")
@pytest.mark.spec("2.1-t13")
def test_opens_come_back_as_events_with_what_the_message_was(service: Service) -> None:
    recipient = "open+journey@inbox.test"
    sent = send(service, recipient)
    for kind in ("open", "initial_open"):
        opened = event(service, recipient, kind)
        assert opened["subject"] == "Garden chairs"
        assert opened["campaign_id"] == "spring"
        assert opened["rcpt_meta"] == {"shop": "north"}
        assert opened["rcpt_tags"] == ["new"]
        assert opened["sending_domain"] == "example.test"
        assert opened["user_agent_parsed"]["agent_family"] == "Thunderbird"
        assert opened["ip_address"] == "127.0.0.1"
        assert opened["display_name"]
    assert (
        html_of(sent).index("/t/i/") < html_of(sent).index("Hi Ann") < html_of(sent).index("/t/o/")
    )


@pytest.mark.spec("2.1-t12")
def test_a_click_redirects_to_its_target_and_comes_back_as_an_event(service: Service) -> None:
    recipient = "click+journey@inbox.test"
    send(service, recipient)
    clicked = event(service, recipient, "click")
    assert clicked["target_link_url"] == TARGET
    assert clicked["target_link_name"] == "Shop"
    assert clicked["campaign_id"] == "spring"


def test_links_lead_exactly_where_they_led(service: Service) -> None:
    recipient = "reader@inbox.test"
    message = send(service, recipient)
    shop, bye = TRACKED.findall(html_of(message).split("<a ", 1)[1].split("/t/o/")[0])
    assert visit(shop).getheader("Location") == TARGET
    assert 'href="https://else.example/"' in html.unescape(html_of(message))
    assert 'href="https://shop.example/x"' in html_of(message)
    assert "data-svc" not in html_of(message)
    assert visit(bye).status == 200
    (in_text,) = TRACKED.findall(text_of(message))
    assert visit(in_text.rstrip(".")).getheader("Location") == "https://shop.example/t"
    assert text_of(message).rstrip().endswith("Not https://shop.example/u")
    eventually(lambda: len(service.events(recipients=recipient, events="click")) == 2)
    assert service.events(recipients=recipient, events="link_unsubscribe") == []


def test_an_altered_link_leads_nowhere(service: Service) -> None:
    message = send(service, "altered@inbox.test")
    shop = TRACKED.findall(html_of(message).split("<a ", 1)[1])[0]
    for altered in (f"{shop[:-1]}{'A' if shop[-1] != 'A' else 'B'}", f"{shop}A", shop[:-20]):
        answer = visit(altered)
        assert (answer.status, answer.getheader("Location")) == (404, None)


def test_head_counts_nothing(service: Service) -> None:
    recipient = "head@inbox.test"
    message = send(service, recipient)
    for url in TRACKED.findall(html_of(message)):
        visit(url, "HEAD")
    visit(TRACKED.findall(html_of(message))[0])
    eventually(lambda: service.events(recipients=recipient, events="initial_open"))
    assert service.event_types(recipient) == ["injection", "delivery", "initial_open"]


def test_one_click_unsubscribes(service: Service) -> None:
    recipient = "unsubscribe+journey@inbox.test"
    message = send(service, recipient)
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    signed = message["DKIM-Signature"].lower()
    assert "list-unsubscribe:" in signed
    assert "list-unsubscribe-post" in signed
    unsubscribed = event(service, recipient, "list_unsubscribe")
    assert unsubscribed["rcpt_to"] == recipient
    assert unsubscribed["campaign_id"] == "spring"


def test_a_get_unsubscribes_nobody_and_the_button_does(service: Service) -> None:
    recipient = "button@inbox.test"
    message = send(service, recipient)
    header = message["List-Unsubscribe"].strip("<>").split(">")[0]
    link = TRACKED.findall(html_of(message))[2]
    for url in (header, link):
        answer = visit(url)
        assert (answer.status, answer.getheader("Location")) == (200, None)
        assert b'<form method="post">' in answer.body  # type: ignore[attr-defined]
    assert visit(link, "POST", "").getheader("Location") == "https://shop.example/bye"
    assert event(service, recipient, "link_unsubscribe")["target_link_url"].endswith("/bye")
    assert service.events(recipients=recipient, events="list_unsubscribe") == []
    assert visit(header, "POST", "List-Unsubscribe=One-Click").status == 200
    event(service, recipient, "list_unsubscribe")


def test_what_is_not_to_be_tracked_is_not(service: Service) -> None:
    message = send(
        service,
        "private@inbox.test",
        open_tracking=False,
        click_tracking=False,
        initial_open=False,
        transactional=True,
    )
    assert TRACKED.findall(html_of(message)) == TRACKED.findall(text_of(message)) == []
    assert 'href="https://shop.example/a?b=1&amp;copy=2#c"' in html_of(message)
    assert "data-svc" not in html_of(message) + text_of(message)
    assert message["List-Unsubscribe"] is None
