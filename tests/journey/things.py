"""Create one thing of every kind in a running service, for generated requests to refer to.

Random ids are not found, and random content is refused early. So some of the generated requests get
the ids of existing things, and the fields that their operation needs.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from chalicelib.core.json_types import Json
from tests.journey.service import Service

DOMAIN = "things.test"
RECIPIENT = "somebody@inbox.test"
_TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")
_CONTENT = {"from": f"me@{DOMAIN}", "subject": "Hello {{name}}", "text": "Hello"}
_AB_TEST = {
    "metric": "count_unique_clicked",
    "audience_selection": "percent",
    "test_mode": "learning",
    "total_sample_size": 100,
    "start_time": _TOMORROW,
    "default_template": {"template_id": "thing", "percent": 40},
    "variants": [{"template_id": "other-thing", "percent": 60}],
}

#: Fields that replace generated ones in the body of an operation
BODIES: dict[str, Json] = {
    "POST /api/v1/transmissions": {
        "content": _CONTENT,
        "recipients": [{"address": RECIPIENT}, {"address": "nobody"}],
    },
    "POST /api/v1/templates": {"name": "Generated", "content": _CONTENT},
    "PUT /api/v1/templates/{template_id}": {"content": _CONTENT},
    "POST /api/v1/utils/content-previewer": {"content": _CONTENT, "substitution_data": {}},
    "POST /api/labs/snippets": {"content": {"text": "Hello"}},
    "PUT /api/labs/snippets/{snippet_id}": {"content": {"html": "<p>Hello</p>"}},
    "POST /api/v1/ab-test": _AB_TEST,
    "POST /api/v1/ab-test/draft": {"default_template": {"template_id": "thing"}},
    "POST /api/v1/sending-domains": {"domain": "more.test", "dkim_key_length": 1024},
    "POST /api/v1/tracking-domains": {"domain": "track.more.test"},
    "POST /api/v1/subaccounts": {"setup_api_key": False, "ip_pool": ""},
    "POST /api/v1/api-keys": {"grants": ["smtp/inject"], "valid_ips": []},
    "PUT /api/v1/api-keys/{key_id}": {"grants": ["smtp/inject"], "valid_ips": []},
    "PUT /api/v1/suppression-list/{recipient}": {"type": "transactional", "list_id": None},
    "POST /api/v1/inline-seeds/config": {"match": ["thing*"], "exclude": None, "reset": 24},
    "PUT /api/v1/suppression-list": {
        "recipients": [{"recipient": RECIPIENT, "type": "non_transactional"}]
    },
}
#: Optional query parameters that are removed, because few of their values are valid
RARE = ("cursor", "order_by", "precision", "query_filters", "timezone", "to")
SINCE = "2026-01-01T00:00"


def make_things(service: Service, target: str) -> dict[str, str]:
    """Create the things; return the values of path parameters that identify them.

    ``target`` is a URL that a webhook can have.
    """
    _sending_domain(service)
    for name in ("thing", "other-thing"):
        _post(service, "templates", {"id": name, "content": _CONTENT, "published": True})
    _post(service, "../labs/snippets", {"id": "thing", "content": {"text": "Hello"}})
    _post(service, "recipient-lists", {"id": "thing", "recipients": [{"address": RECIPIENT}]})
    _post(service, "tracking-domains", {"domain": DOMAIN})
    _post(service, "ab-test/draft", _AB_TEST | {"id": "thing", "name": "Thing"})
    _post(service, "inline-seeds/config", {"match": ["thing*"]})
    path = f"/api/v1/suppression-list/{RECIPIENT}"
    assert service.request("PUT", path, {"type": "transactional"}).status == 200
    service.send("reader@inbox.test", html='<a href="https://example.test/">Hello</a>')
    scheduled = {"content": _CONTENT, "options": {"start_time": _TOMORROW}}
    recipients = [{"address": "a@inbox.test"}, {"address": "b@inbox.test"}]
    transmission = _post(service, "transmissions", scheduled | {"recipients": recipients})
    key = _post(service, "api-keys", {"label": "Thing", "grants": ["smtp/inject"]})
    pool = _post(service, "ip-pools", {"name": "Thing"})
    hook = {"name": "Thing", "target": target, "events": ["delivery"]}
    webhook = _post(service, "webhooks", hook)
    subaccount = _post(service, "subaccounts", {"name": "Thing", "setup_api_key": False})
    return {
        **dict.fromkeys(("template_id", "snippet_id", "list_id", "test_id"), "thing"),
        "domain": DOMAIN,
        "key_id": key["id"],
        "webhook_id": webhook["id"],
        "pool_id": pool["id"],
        "recipient": RECIPIENT,
        "subaccount_id": str(subaccount["subaccount_id"]),
        "transmission_id": transmission["id"],
    }


def _sending_domain(service: Service) -> None:
    _post(service, "sending-domains", {"domain": DOMAIN})
    response = service.request(
        "POST", f"/api/v1/sending-domains/{DOMAIN}/verify", {"dkim_verify": True}
    )
    assert response.status == 200, response.body
    _post(service, f"sending-domains/{DOMAIN}/dkim-keys", {"id": "thing", "selector": "thing"})


def _post(service: Service, path: str, body: Json) -> Any:
    response = service.request("POST", f"/api/v1/{path}".replace("v1/../", ""), body)
    assert response.status == 200, (path, response.body)
    return response.json["results"]
