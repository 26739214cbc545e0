"""List the views that are looked at in every theme and size, with what they need to be full."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.browser.incoming import a_relayed_message
from tests.browser.set_up import (
    a_user,
    ab_test,
    ab_test_with_versions,
    api_key,
    failure_rules,
    receiver_with_a_request,
    sending_ip,
    set_up,
    suppressed,
    webhook_with_a_batch,
)
from tests.journey.service import Service, eventually

#: name of the picture → address after `#/`
VIEWS = {
    "overview": "overview",
    "mailbox": "mailbox",
    "message": "mailbox/{message}",
    "timeline": "mailbox/{message}?tab=timeline",
    "links": "mailbox/{message}?tab=links",
    "checks": "mailbox/{message}?tab=checks",
    "activity": "activity",
    "event": "activity/{bounce}",
    "metrics": "metrics?compare=1",
    "metrics-free": "metrics?window=free&from={day}T00:00&to={day}T23:59&zone=UTC&compare=1"
    "&by=bounce-reason/domain",
    "metrics-subjects": "metrics?by=subject-campaign",
    "send": "send",
    "send-list": "send?to=list&list=readers&kind=template",
    "transmission": "send/{transmission}",
    "templates": "templates",
    "template": "templates/edit/receipt",
    "template-data": "templates/edit/receipt?part=data&view=text",
    "template-settings": "templates/edit/receipt?part=settings&scheme=dark",
    "snippets": "templates/snippets",
    "snippet": "templates/snippets/footer",
    "snippet-settings": "templates/snippets/footer?part=settings&view=text",
    "ab-tests": "templates/ab-tests",
    "ab-test-form": "templates/ab-tests?form=new",
    "ab-test": "templates/ab-tests/greeting",
    "ab-test-version": "templates/ab-tests/autumn?version=1",
    "lists": "audience",
    "list": "audience/lists/readers",
    "suppressions": "audience/suppressions",
    "suppression": "audience/suppressions/bounce-hard@inbox.example",
    "validation": "audience/validation?address=ann@hotmial.com&list=readers",
    "domains": "domains",
    "domain": "domains/sending/news.example.org",
    "domain-keys": "domains/sending/news.example.org?part=keys",
    "domain-settings": "domains/sending/news.example.org?part=settings",
    "tracking": "domains/tracking/click.example.org",
    "tracking-settings": "domains/tracking/click.example.org?part=settings",
    "inbound": "domains?kind=inbound",
    "inbound-domain": "domains/inbound/reply.example.test",
    "inbound-routes": "domains/inbound/reply.example.test?part=routes",
    "received": "received",
    "received-message": "received/{received}",
    "received-verdicts": "received/{received}?tab=verdicts",
    "received-files": "received/{received}?tab=files",
    "relay-webhooks": "webhooks?kind=relay",
    "relay-webhook": "webhooks/relay/{relay_webhook}",
    "relay-batch": "webhooks/relay/{relay_webhook}/{received}",
    "webhooks": "webhooks",
    "webhook": "webhooks/{webhook}",
    "batch": "webhooks/{webhook}/{batch}",
    "api": "api",
    "api-operation": "api/post_transmissions",
    "account": "settings",
    "keys": "settings/keys",
    "subaccounts": "settings/subaccounts",
    "pools": "settings/pools",
    "seeding": "settings/seeding",
    "users": "users",
    "user": "users/{user}",
    "audit-log": "audit-log?days=free",
    "audit-line": "audit-log/{line}?resource=users&resource_id={user}",
    "failures": "failures",
    "receivers": "inspector",
    "receiver": "inspector/{receiver}",
    "request": "inspector/{receiver}/{request}",
}


_HTML = """\
<style>
  @media (prefers-color-scheme: dark) { h1 { color: #9db2ff } }
  .button { display: inline-block; padding: 8px 16px; border-radius: 8px }
</style>
<h1>Hello {{name}}</h1>
<p>Your trial has begun.</p>
<a class="button" style="background: #dfe5ff" href="https://example.com/start">Start</a>
"""


def fill(service: Service) -> dict[str, str]:
    """Send mail that meets every fate; return the views' addresses once its events are there."""
    set_up(service)
    api_key(service)
    sending_ip(service)
    ab_test(service)
    ab_test_with_versions(service)
    failure_rules(service)
    user = a_user(service)
    receiver = receiver_with_a_request(service)
    incoming = a_relayed_message(service)
    with webhook_with_a_batch(service) as webhook:
        ids = _mail(service)
    things = {**ids, **webhook, **receiver, **user, **incoming}
    return {name: view.format(**things) for name, view in VIEWS.items()}


def _mail(service: Service) -> dict[str, str]:
    fates = ("anna@inbox.example", "bounce-hard@inbox.example", "click@inbox.example")
    response = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "campaign_id": "welcome",
            "metadata": {"plan": "pro"},
            "recipients": [
                {"address": address, "tags": ["trial"], "substitution_data": {"name": "Anna"}}
                for address in (*fates, "complain@mail.example", "open@mail.example")
            ],
            "content": {
                "from": {"email": "hello@example.test", "name": "Ada of Example"},
                "subject": "Welcome, {{name}}",
                "text": "Hello {{name}}",
                "html": _HTML,
            },
        },
    )
    assert response.status == 200, response.body
    eventually(lambda: service.events(events="spam_complaint", recipients="complain@mail.example"))
    eventually(lambda: service.events(events="click", recipients="click@inbox.example"))
    eventually(lambda: suppressed(service, "bounce-hard@inbox.example"))
    return {
        "message": service.mailbox(to="anna@inbox.example")[0]["id"],
        "bounce": service.events(events="bounce")[0]["event_id"],
        "transmission": response.json["results"]["id"],
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
    }
