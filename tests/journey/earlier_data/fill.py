"""Create one of everything in a running service through its public interfaces, and record it.

To create the archive again, run the service from a checkout of the version whose data is wanted, on
an empty directory:

    env API_KEY=journey-key SECRET_KEY=$(python -m tests.journey.earlier_data.fill --secret-key) \
        RETRY_BASE=600 DATA_DIR=/tmp/data API_PORT=18080 SMTP_PORT=12525 \
        python -m infrastructure.local.run

Then run, from this checkout:

    python -m tests.journey.earlier_data.fill --data /tmp/data --api-port 18080 --smtp-port 12525
    kill <the service>
    python -m tests.journey.earlier_data.archive /tmp/data

`contents.json` in the data directory holds the time, the ids, and the response to each of `views`.
"""

from __future__ import annotations

import argparse
import base64
import json
import smtplib
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from tests.http_target import serving

API_KEY = "journey-key"
#: Not a secret: it seals the keys of invented domains in an archive that anybody can read
SECRET_KEY = base64.b64encode(b"data of an earlier version, test").decode()
CONTENTS = "contents.json"
IDEMPOTENCY_KEY = "sent-once"
ONCE: dict[str, Any] = {
    "content": {"from": "a@example.test", "subject": "Once", "text": "Hello"},
    "recipients": [{"address": "once@inbox.test"}],
}
DOMAIN = "earlier-shop.test"
HALF_AN_HOUR, TWO_DAYS = 1800, 2 * 86_400
HTML = (
    "<p>Hello {{name}}</p>"
    '<a href="https://shop.example/chairs" data-svc-linkname="chairs">Chairs</a>'
    '<a href="https://shop.example/bye" data-svc-unsubscribe="1">Unsubscribe</a>'
)
REACTING = ("open", "click", "unsubscribe", "oob", "complain", "bounce-hard", "bounce-soft")
_QUIET_SECONDS = 6.0
_DEADLINE_SECONDS = 120.0


class Filler:
    """Creates things through the API of one service, and reads them back."""

    def __init__(self, api_port: int, smtp_port: int) -> None:
        self._url = f"http://127.0.0.1:{api_port}"
        self._smtp_port = smtp_port
        self.ids: dict[str, str] = {}

    def call(
        self, method: str, path: str, body: Any = None, key: str = API_KEY, **headers: str
    ) -> Any:
        """Make a request that must succeed; return the JSON of the response."""
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": key, "Content-Type": "application/json", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read()!r}") from error
        return json.loads(text) if text else None

    def post(self, path: str, body: dict[str, Any], key: str = API_KEY) -> Any:
        """Create something; return its ``results``."""
        return self.call("POST", path, body, key)["results"]

    def fill(self, webhook_target: str) -> None:
        """Create everything."""
        self._create_domains()
        self._create_content()
        self._create_account_things(webhook_target)
        self._create_lists()
        self._send()
        self._send_by_smtp()

    def _create_domains(self) -> None:
        self.post("/api/v1/sending-domains", {"domain": DOMAIN, "dkim_key_length": 1024})
        self.post(f"/api/v1/sending-domains/{DOMAIN}/verify", {"dkim_verify": True})
        self.post(
            f"/api/v1/sending-domains/{DOMAIN}/dkim-keys", {"id": "second", "selector": "second"}
        )
        self.post("/api/v1/tracking-domains", {"domain": f"track.{DOMAIN}"})

    def _create_content(self) -> None:
        content = {"from": f"news@{DOMAIN}", "subject": "Hello {{name}}", "html": HTML}
        for template_id in ("newsletter", "newsletter-b"):
            self.post(
                "/api/v1/templates", {"id": template_id, "content": content, "published": True}
            )
        draft = {"content": content | {"subject": "Second draft"}}
        self.call("PUT", "/api/v1/templates/newsletter", draft)
        self.post("/api/labs/snippets", {"id": "footer", "content": {"text": "Our footer"}})
        variants = {
            "metric": "count_unique_clicked",
            "audience_selection": "percent",
            "test_mode": "learning",
            "total_sample_size": 100,
            "start_time": _after(86_400),
            "default_template": {"template_id": "newsletter", "percent": 40},
            "variants": [{"template_id": "newsletter-b", "percent": 60}],
        }
        self.post("/api/v1/ab-test/draft", variants | {"id": "draft-test", "name": "Draft"})
        self.post("/api/v1/ab-test", variants | {"id": "subjects", "name": "Subjects"})

    def _create_account_things(self, webhook_target: str) -> None:
        subaccount = self.post("/api/v1/subaccounts", {"name": "North", "setup_api_key": False})
        self.ids["subaccount"] = str(subaccount["subaccount_id"])
        key = self.post(
            "/api/v1/api-keys",
            {
                "label": "North",
                "grants": ["transmissions/modify", "smtp/inject"],
                "subaccount_id": subaccount["subaccount_id"],
            },
        )
        self.ids["subaccount_key"] = key["key"]
        pool = self.post("/api/v1/ip-pools", {"name": "Marketing"})
        self.ids["pool"] = pool["id"]
        webhook = self.post(
            "/api/v1/webhooks",
            {"name": "Events", "target": webhook_target, "events": ["injection", "delivery"]},
        )
        self.ids["webhook"] = webhook["id"]
        self.post("/api/v1/inline-seeds/config", {"match": ["spring*"], "threshold": 1000})

    def _create_lists(self) -> None:
        readers = [
            {"address": {"email": f"reader-{n}@inbox.test", "name": f"Reader {n}"}}
            for n in range(5)
        ]
        self.post("/api/v1/recipient-lists", {"id": "readers", "recipients": readers})
        for number in range(3):
            path = f"/api/v1/suppression-list/gone-{number}@inbox.test"
            self.call("PUT", path, {"type": "non_transactional", "description": "Asked to"})

    def _send(self) -> None:
        recipients = [{"address": f"{name}@inbox.test"} for name in (*REACTING, "plain", "gone-1")]
        template: dict[str, Any] = {
            "content": {"template_id": "newsletter"},
            "campaign_id": "spring",
        }
        template |= {"metadata": {"shop": "north"}, "substitution_data": {"name": "Ann"}}
        transmission = self.post("/api/v1/transmissions", template | {"recipients": recipients})
        self.ids["transmission"] = transmission["id"]
        self.post("/api/v1/transmissions", template | {"recipients": {"list_id": "readers"}})
        # It stays in the queue until the first retry, which is due after the service has stopped
        self.post("/api/v1/transmissions", template | {"recipients": _to("defer")})
        for name, ahead in (("due", HALF_AN_HOUR), ("later", TWO_DAYS)):
            scheduled = template | {"options": {"start_time": _after(ahead)}}
            recipients = [*_to(f"{name}-a"), *_to(f"{name}-b")]
            transmission = self.post(
                "/api/v1/transmissions", scheduled | {"recipients": recipients}
            )
            self.ids[name] = transmission["id"]
        body = {"content": {"from": "a@example.test", "subject": "Sub", "text": "Hello"}}
        header = {"Idempotency-Key": IDEMPOTENCY_KEY}
        response = self.call("POST", "/api/v1/transmissions", ONCE, **header)
        self.ids["once"] = response["results"]["id"]
        key = self.ids["subaccount_key"]
        self.post("/api/v1/transmissions", body | {"recipients": _to("of-subaccount")}, key)

    def _send_by_smtp(self) -> None:
        message = EmailMessage()
        message["From"], message["To"] = f"shop@{DOMAIN}", "by-smtp@inbox.test"
        message["Subject"] = "Receipt"
        message.set_content("Thank you")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with smtplib.SMTP("127.0.0.1", self._smtp_port, timeout=120) as client:
            client.starttls(context=context)
            client.login("SMTP_Injection", API_KEY)
            client.send_message(message)

    def views(self, until: str) -> list[str]:
        """Return the paths that are read back; they leave out mail after ``until``."""
        window = f"from=2026-01-01T00:00&to={until}"
        figures = "count_targeted,count_injected,count_delivered,count_bounce,count_hard_bounce"
        figures += ",count_unique_rendered,count_unique_clicked,count_spam_complaint"
        deliverability = f"/api/v1/metrics/deliverability{{}}?{window}&metrics={figures}"
        return [
            "/api/v1/templates",
            "/api/v1/templates/newsletter?draft=true",
            "/api/v1/templates/newsletter?draft=false",
            "/api/labs/snippets",
            "/api/labs/snippets/footer",
            "/api/v1/sending-domains",
            f"/api/v1/sending-domains/{DOMAIN}",
            f"/api/v1/sending-domains/{DOMAIN}/dkim-keys",
            f"/api/v1/tracking-domains/track.{DOMAIN}",
            f"/api/v1/subaccounts/{self.ids['subaccount']}",
            "/api/v1/api-keys",
            "/api/v1/ip-pools",
            f"/api/v1/suppression-list?from=2026-01-01T00:00:00Z&to={until}:00Z",
            "/api/v1/suppression-list/gone-1@inbox.test",
            f"/api/v1/webhooks/{self.ids['webhook']}",
            f"/api/v1/webhooks/{self.ids['webhook']}/batch-status",
            "/api/v1/recipient-lists",
            "/api/v1/recipient-lists/readers?show_recipients=true",
            "/api/v1/ab-test/draft-test",
            "/api/v1/ab-test/subjects",
            "/api/v1/inline-seeds/config",
            f"/api/v1/transmissions/{self.ids['transmission']}",
            f"/api/v1/transmissions/{self.ids['later']}",
            f"/api/v1/events/message?{window}&per_page=1000",
            f"/api/v1/events/message?{window}&campaigns=spring&events=click",
            deliverability.format(""),
            deliverability.format("/campaign"),
            deliverability.format("/subaccount"),
            "/local/mailbox",
        ]

    def record(self, until: str) -> dict[str, Any]:
        """Return the response to each view."""
        return {path: self.call("GET", path) for path in self.views(until)}


def _to(name: str) -> list[dict[str, Any]]:
    return [{"address": f"{name}@inbox.test"}]


def _after(seconds: int) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat(timespec="seconds")


def _when_quiet(read: Callable[[], Any]) -> Any:
    """Return the result of ``read`` once it has stayed the same for a while."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    result, since = read(), time.monotonic()
    while time.monotonic() < since + _QUIET_SECONDS:
        assert time.monotonic() < deadline, "the service does not come to rest"
        time.sleep(0.5)
        if (now := read()) != result:
            result, since = now, time.monotonic()
    return result


def main() -> None:
    """Fill the service that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--secret-key", action="store_true", help="print SECRET_KEY and end")
    parser.add_argument("--data", type=Path, help="the service's data directory")
    parser.add_argument("--api-port", type=int)
    parser.add_argument("--smtp-port", type=int)
    arguments = parser.parse_args()
    if arguments.secret_key:
        print(SECRET_KEY)
        return
    filler = Filler(arguments.api_port, arguments.smtp_port)
    with serving() as target:
        filler.fill(target.url)
        # The window ends three minutes from now, so that all recorded events lie in it
        until = f"{datetime.fromtimestamp(time.time() + 180, UTC):%Y-%m-%dT%H:%M}"
        views = _when_quiet(lambda: filler.record(until))
    contents: dict[str, Any] = {
        "at": time.time(),
        "until": until,
        "ids": filler.ids,
        "views": views,
    }
    contents["url"] = f"http://localhost:{arguments.api_port}"
    (arguments.data / CONTENTS).write_text(json.dumps(contents, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
