"""Make what the views show: a template, domains, subaccounts, lists, a failing webhook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.http_target import Reply, serving
from tests.journey.service import Service, eventually

READERS = [
    {
        "address": {"email": f"reader{number}@list.example", "name": f"Reader {number}"},
        "tags": ["monthly"],
        "substitution_data": {"city": "Oslo"},
    }
    for number in range(12)
]

_TEMPLATE = {
    "id": "receipt",
    "name": "Receipt",
    "description": "After each order",
    "published": True,
    "content": {
        "from": {"email": "shop@example.test", "name": "Shop"},
        "subject": "Your order {{order.number}}",
        "text": "Thank you, {{name}}.\n{{each order.lines}}{{loop_var.title}}\n{{end}}"
        '{{ render_snippet("footer") }}',
        "html": '<h1 class="head">Thank you, {{name}}</h1>\n<ul>\n{{each order.lines}}\n'
        "  <li>{{loop_var.title}}</li>\n{{end}}\n</ul>\n",
    },
}


_SNIPPET = {
    "id": "footer",
    "name": "Footer",
    "shared_with_subaccounts": True,
    "content": {"html": "<p>Example Ltd, {{city}}</p>\n", "text": "Example Ltd, {{city}}\n"},
}


def set_up(service: Service) -> None:
    """Make one of each."""
    for path, body in (
        ("v1/templates", _TEMPLATE),
        ("labs/snippets", _SNIPPET),
        ("v1/sending-domains", {"domain": "news.example.org"}),
        ("v1/tracking-domains", {"domain": "click.example.org"}),
        ("v1/subaccounts", {"name": "Bakery", "setup_api_key": False}),
        ("v1/ip-pools", {"name": "Newsletters"}),
        ("v1/recipient-lists", {"id": "readers", "name": "Readers", "recipients": READERS}),
    ):
        response = service.request("POST", f"/api/{path}", body)
        assert response.status == 200, response.body


def sending_ip(service: Service) -> None:
    """Add an IP that warms up."""
    ip = ("192.0.2.10", "mail.example.com", "--pool", "newsletters", "--auto-warmup")
    service.operate("add-sending-ip", "1", *ip)


def ab_test(service: Service) -> None:
    """Schedule a test of two published templates, which runs at once."""
    second = {**_TEMPLATE, "id": "receipt-short", "name": "Short receipt"}
    test = {
        "id": "greeting",
        "name": "Greeting",
        "metric": "count_unique_clicked",
        "test_mode": "bayesian",
        "audience_selection": "percent",
        "default_template": {"template_id": "receipt", "percent": 50},
        "variants": [{"template_id": "receipt-short", "percent": 50}],
    }
    now = datetime.now(UTC)
    times = {"start_time": now.isoformat(), "end_time": (now + timedelta(days=7)).isoformat()}
    for path, body in (("templates", second), ("ab-test", test | times)):
        response = service.request("POST", f"/api/v1/{path}", body)
        assert response.status == 200, response.body


def api_key(service: Service) -> None:
    """Make a second API key, which may be changed and deleted, and two that end."""
    week, year = (datetime.now(UTC) + timedelta(days=days) for days in (5, 365))
    for label, grants, end in (
        ("Shop", ["transmissions/modify", "templates/view"], None),
        ("Newsletter", ["transmissions/modify", "smtp/inject"], week),
        ("Warehouse", ["message_events/view", "webhooks/view", "metrics/view"], year),
    ):
        fields = {"label": label, "grants": grants, "expires_at": end and end.isoformat()}
        response = service.request("POST", "/api/v1/api-keys", fields)
        assert response.status == 200, response.body


def a_user(service: Service) -> dict[str, str]:
    """Invite a user with chosen grants; return its id, and that of the line about it."""
    fields = {"email": "gus@view.example", "name": "Gus", "role": "custom"}
    grants = ["templates/view", "templates/modify", "users/view"]
    response = service.request("POST", "/api/v1/users", fields | {"grants": grants})
    assert response.status == 200, response.body
    user = response.json["results"]["id"]
    path = f"/api/v1/audit-log?resource=users&resource_id={user}"
    lines = service.request("GET", path).json["results"]
    return {"user": user, "line": lines[0]["id"]}


def ab_test_with_versions(service: Service) -> None:
    """Add a test that was cancelled, and a draft of its next version."""
    now = datetime.now(UTC)
    test = {
        "id": "autumn",
        "name": "Autumn",
        "metric": "count_unique_clicked",
        "test_mode": "learning",
        "audience_selection": "percent",
        "default_template": {"template_id": "receipt", "percent": 50},
        "variants": [{"template_id": "receipt-short", "percent": 50}],
        "start_time": now.isoformat(),
        "end_time": (now + timedelta(days=7)).isoformat(),
    }
    for method, path, body in (
        ("POST", "ab-test", test),
        ("POST", "ab-test/autumn/cancel", {}),
        ("PUT", "ab-test/draft/autumn", {"name": "Autumn again"}),
    ):
        response = service.request(method, f"/api/v1/{path}", body)
        assert response.status == 200, response.body


def suppressed(service: Service, recipient: str) -> list[dict[str, Any]]:
    """Return the entries of a recipient on the suppression list."""
    response = service.request("GET", f"/api/v1/suppression-list/{recipient}")
    return response.json["results"] if response.status == 200 else []


def failure_rules(service: Service) -> None:
    """Add rules to the failure lab, for domains that no test sends to."""
    for rule in (
        {"pattern": "*@full.view.example", "code": 452, "text": "4.2.2 Mailbox full", "times": 3},
        {"pattern": "*@lost.view.example", "step": "data", "code": None, "delay": 2},
        {"pattern": "*@paused.view.example", "step": "dot", "percent": 10, "enabled": False},
    ):
        response = service.request("POST", "/local/failures", rule)
        assert response.status == 201, response.body


def receiver_with_a_request(service: Service) -> dict[str, str]:
    """Make a receiver of the webhook inspector that got one request; return their names."""
    batch = [{"svc": {"message_event": {"type": "delivery", "rcpt_to": "anna@inbox.example"}}}]
    response = service.request("POST", "/local/webhooks/view", batch)
    assert response.status == 200, response.body
    response = service.request("PUT", "/local/webhooks/view", {"status": 503, "times": 2})
    assert response.status == 200, response.body
    requests = service.request("GET", "/local/webhooks/view/requests").json["results"]
    return {"receiver": "view", "request": str(requests[0]["id"])}


@contextmanager
def webhook_with_a_batch(service: Service) -> Iterator[dict[str, str]]:
    """Make a webhook whose target takes the test only; yield the ids, complete after the block.

    Events must happen within the block.
    """
    ids: dict[str, str] = {}
    with serving() as target:
        fields = {"name": "Orders", "target": target.url, "events": ["delivery", "bounce", "click"]}
        response = service.request("POST", "/api/v1/webhooks", fields)
        assert response.status == 200, response.body
        ids["webhook"] = response.json["results"]["id"]
        secret = f"/api/v1/webhooks/{ids['webhook']}/signing-secret"
        assert service.request("POST", secret, {}).status == 200
        target.answer = lambda _: Reply(503, b"<h1>Closed for repair</h1>")
        yield ids
        ids["batch"] = eventually(lambda: _batches(service, ids["webhook"]))[0]["batch_id"]


def _batches(service: Service, webhook: str) -> list[dict[str, Any]]:
    path = f"/api/v1/webhooks/{webhook}/batch-status"
    batches: list[dict[str, Any]] = service.request("GET", path).json["results"]
    return batches
