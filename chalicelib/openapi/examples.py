"""Hold an example of each request body, for the description and for what is made from it."""

from __future__ import annotations

from typing import Any, Final

from chalicelib.core.json_types import Json

_MESSAGE: Final = {
    "from": {"email": "hello@example.test", "name": "Example"},
    "subject": "Welcome, {{name}}",
    "html": "<p>Hello {{name}}</p>",
    "text": "Hello {{name}}",
}
_PASSWORD: Final = "a long password of mine"  # pragma: allowlist secret
_RECIPIENTS: Final = [
    {
        "address": {"email": "anna@example.org", "name": "Anna"},
        "substitution_data": {"name": "Anna"},
    }
]
_AB_TEST: Final = {
    "id": "greeting",
    "name": "Greeting",
    "metric": "count_unique_clicked",
    "audience_selection": "percent",
    "test_mode": "bayesian",
    "start_time": "2027-01-15T09:00:00+00:00",
    "end_time": "2027-01-18T09:00:00+00:00",
    "total_sample_size": 1000,
    "confidence_level": 0.95,
    "default_template": {"template_id": "greeting-a", "percent": 50},
    "variants": [{"template_id": "greeting-b", "percent": 50}],
}
_WEBHOOK: Final = {
    "name": "Deliveries",
    "target": "https://example.com/hooks/mail",
    "events": ["delivery", "bounce"],
}
_RELAY_WEBHOOK: Final = {
    "name": "Replies",
    "target": "https://example.com/hooks/replies",
    "match": {"protocol": "SMTP", "domain": "in.example.com"},
}
_SEEDS: Final = {"threshold": 1000, "duration": 60, "reset": 24}
_EVENT: Final = '{"type":"delivery","email_id":"1","recipient":"anna@example.org"}'

#: operation → example of its body
_BODIES: Final[dict[str, Any]] = {
    "POST /api/v1/transmissions": {
        "campaign_id": "welcome",
        "recipients": _RECIPIENTS,
        "content": _MESSAGE,
    },
    "POST /api/v1/templates": {
        "id": "welcome",
        "name": "Welcome",
        "published": False,
        "content": _MESSAGE,
    },
    "PUT /api/v1/templates/{template_id}": {"content": _MESSAGE},
    "POST /api/v1/templates/{template_id}/preview": {"substitution_data": {"name": "Anna"}},
    "POST /api/v1/utils/content-previewer": {
        "content": _MESSAGE,
        "substitution_data": {"name": "Anna"},
    },
    "POST /api/v1/utils/content-validator": {
        "content": _MESSAGE,
        "substitution_data": {"name": "Anna"},
    },
    "POST /api/labs/snippets": {
        "id": "footer",
        "name": "Footer",
        "content": {"html": "<p>Example Ltd</p>", "text": "Example Ltd"},
    },
    "PUT /api/labs/snippets/{snippet_id}": {"content": {"html": "<p>Example Ltd, Oslo</p>"}},
    "POST /api/v1/ab-test": _AB_TEST,
    "PUT /api/v1/ab-test/{test_id}": {"end_time": "2027-01-20T09:00:00+00:00"},
    "POST /api/v1/ab-test/draft": _AB_TEST,
    "PUT /api/v1/ab-test/draft/{test_id}": {"name": "Greeting of autumn"},
    "POST /api/v1/ab-test/draft/{test_id}/schedule": {
        "start_time": "2027-01-15T09:00:00+00:00",
        "end_time": "2027-01-18T09:00:00+00:00",
    },
    "POST /api/v1/recipient-lists": {
        "id": "readers",
        "name": "Readers",
        "recipients": _RECIPIENTS,
    },
    "PUT /api/v1/recipient-lists/{list_id}": {"recipients": _RECIPIENTS},
    "POST /api/v1/recipient-validation/list/{list_id}": {"copy": {"id": "readers-valid"}},
    "POST /api/v1/sending-domains": {"domain": "news.example.com"},
    "PUT /api/v1/sending-domains/{domain}": {"tracking_domain": "click.example.com"},
    "POST /api/v1/sending-domains/{domain}/verify": {"dkim_verify": True, "cname_verify": True},
    "POST /api/v1/sending-domains/{domain}/dkim-keys": {"id": "autumn", "selector": "autumn"},
    "PUT /api/v1/sending-domains/{domain}/dkim-keys/{key_id}": {"selector": "winter"},
    "POST /api/v1/tracking-domains": {"domain": "click.example.com", "secure": True},
    "PUT /api/v1/tracking-domains/{domain}": {"default": True},
    "POST /api/v1/inbound-domains": {"domain": "reply.example.com"},
    "PUT /api/v1/inbound-domains/{domain}/routes": {
        "routes": [
            {"pattern": "sales*", "action": "forward", "forward_to": "sales@example.org"},
            {"pattern": "no-reply", "action": "drop"},
            {"pattern": "*", "action": "webhook"},
        ]
    },
    "POST /api/v1/subaccounts": {
        "name": "Newsletter",
        "setup_api_key": True,
        "key_label": "Newsletter",
        "key_grants": ["transmissions/modify"],
    },
    "PUT /api/v1/subaccounts/{subaccount_id}": {"status": "suspended"},
    "POST /api/v1/api-keys": {
        "label": "Sending",
        "grants": ["transmissions/modify", "templates/view"],
    },
    "PUT /api/v1/api-keys/{key_id}": {"label": "Sending", "valid_ips": ["192.0.2.0/24"]},
    "PUT /api/v1/account": {"options": {"click_tracking": True}},
    "POST /api/v1/users": {"email": "anna@example.org", "role": "developer", "name": "Anna"},
    "PUT /api/v1/users/{user_id}": {"role": "reporting"},
    "PUT /api/v1/me": {"name": "Anna"},
    "POST /api/v1/sign-in": {"email": "anna@example.org", "password": _PASSWORD},
    "POST /api/v1/second-factor": {"type": "totp"},
    "PUT /api/v1/second-factor": {"code": "123456"},
    "POST /api/v1/sign-in/passkey": {
        "credential": {"id": "...", "rawId": "...", "type": "public-key", "response": {}},
        "state": "...",
    },
    "POST /api/v1/invitations/{token}": {"password": _PASSWORD, "name": "Anna"},
    "POST /api/v1/password-reset": {"email": "anna@example.org"},
    "POST /api/v1/password-reset/{token}": {"password": _PASSWORD},
    "POST /api/v1/ip-pools": {"name": "Newsletter"},
    "PUT /api/v1/ip-pools/{pool_id}": {"signing_domain": "news.example.com"},
    "PUT /api/v1/sending-ips/{external_ip}": {"ip_pool": "newsletter"},
    "PUT /api/v1/suppression-list": {
        "recipients": [{"recipient": "anna@example.org", "type": "non_transactional"}]
    },
    "PUT /api/v1/suppression-list/{recipient}": {"type": "non_transactional"},
    "DELETE /api/v1/suppression-list/{recipient}": {"type": "non_transactional"},
    "POST /api/v1/data-privacy/rtbf-request": {"recipients": ["anna@example.org"]},
    "POST /api/v1/data-privacy/opt-out-request": {"recipients": ["anna@example.org"]},
    "POST /api/v1/webhooks": _WEBHOOK,
    "PUT /api/v1/webhooks/{webhook_id}": {"active": False},
    "POST /api/v1/webhooks/{webhook_id}/validate": {"message": {"msys": {}}},
    "POST /api/v1/relay-webhooks": _RELAY_WEBHOOK,
    "PUT /api/v1/relay-webhooks/{webhook_id}": {"name": "Answers"},
    "POST /api/v1/ingest/events": _EVENT,
    "POST /api/v1/inline-seeds/config": _SEEDS,
    "PUT /api/v1/inline-seeds/config": _SEEDS,
    "PUT /api/v1/inline-seeds/options": {"enabled": True},
}


def with_example(name: str, content: Json) -> Json:
    """Return the media types of an operation's body, each with an example; raises ``KeyError``."""
    body = _BODIES[name]
    return {media_type: {**media, "example": body} for media_type, media in content.items()}
