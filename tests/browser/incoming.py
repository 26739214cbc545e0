"""Send mail to an inbound domain of a running service, as a stranger's mail host does."""

from __future__ import annotations

import json
import smtplib
from typing import Any

from tests.http_target import serving
from tests.journey.service import Service, eventually

DOMAIN = "reply.example.test"
_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg"
    "gg=="
)
_MESSAGE = f"""\
From: Ann Reader <ann@reader.example>
To: tickets+4711@{DOMAIN}
Subject: {{subject}}
Message-ID: <{{subject}}@reader.example>
MIME-Version: 1.0
Content-Type: multipart/related; boundary=b

--b
Content-Type: multipart/alternative; boundary=c

--c
Content-Type: text/plain; charset=utf-8

Yes, please!

On Monday, shop@example.test wrote:
> Shall we send it?

--c
Content-Type: text/html; charset=utf-8

<p>Yes, <b>please</b>! <img src="cid:dot" alt="dot" width="40" height="40"></p>
<img src="{{remote}}" alt="remote"><script>document.title = "hacked"</script>

--c--
--b
Content-Type: image/png; name=dot.png
Content-Transfer-Encoding: base64
Content-ID: <dot>
Content-Disposition: inline; filename=dot.png

{_PIXEL}
--b
Content-Type: text/csv; name=orders.csv
Content-Disposition: attachment; filename=orders.csv

number,title
1,Book
--b--
"""


def receive(service: Service, subject: str, remote: str = "https://cdn.example.net/x.png") -> str:
    """Send a message to the inbound port, and return its id once it is stored."""
    port = json.loads((service.data_dir / "ports.json").read_text())["inbound"]
    content = _MESSAGE.format(subject=subject, remote=remote).replace("\n", "\r\n")
    with smtplib.SMTP("127.0.0.1", port, "mx.reader.example", 30) as client:
        client.sendmail("ann@reader.example", [f"tickets+4711@{DOMAIN}"], content.encode())
    query = {"subject": subject}
    return str(eventually(lambda: _messages(service, query))[0]["id"])


def inbound_domain(service: Service) -> None:
    """Register the domain with two routes, if it is not registered."""
    response = service.request("POST", "/api/v1/inbound-domains", {"domain": DOMAIN})
    assert response.status in (200, 409), response.body
    routes = [
        {"pattern": "sales*", "action": "forward", "forward_to": "sales@example.org"},
        {"pattern": "no-reply", "action": "drop"},
    ]
    path = f"/api/v1/inbound-domains/{DOMAIN}/routes"
    assert service.request("PUT", path, {"routes": routes}).status == 200


def a_relayed_message(service: Service) -> dict[str, str]:
    """Make an inbound domain, its relay webhook and a message that was posted; return their ids."""
    inbound_domain(service)
    with serving() as target:
        fields = {"name": "Tickets", "target": target.url, "match": {"domain": DOMAIN}}
        response = service.request("POST", "/api/v1/relay-webhooks", fields)
        assert response.status == 200, response.body
        webhook = response.json["results"]["id"]
        message = receive(service, "Posted")
        path = f"/api/v1/relay-webhooks/{webhook}/batch-status"
        eventually(lambda: _is_posted(service.request("GET", path).json["results"]))
    return {"relay_webhook": webhook, "received": message}


def _is_posted(posts: list[dict[str, Any]]) -> bool:
    return any(each["response_code"] == "200" for each in posts)


def _messages(service: Service, query: dict[str, str]) -> list[dict[str, Any]]:
    pairs = "&".join(f"{name}={value}" for name, value in query.items())
    response = service.request("GET", f"/api/v1/inbound-messages?{pairs}")
    assert response.status == 200, response.body
    messages: list[dict[str, Any]] = response.json["results"]
    return messages
