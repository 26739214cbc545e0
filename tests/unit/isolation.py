"""List for the isolation test how each route is called and whose things it may reach.

A route that needs a key and is not in ``CASES`` fails the test. To add one, add a function to
``SEEDS`` that creates such a thing for every owner, and add the route's body to ``CASES``. The
``things`` of an owner fill the parameters of the path.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from chalicelib.core import clock, dynamo
from chalicelib.core.json_types import Json
from chalicelib.domain_reports import store as domain_reports
from chalicelib.domain_reports.model import DMARC, TLS, Period
from chalicelib.domain_reports.store import DomainReport
from chalicelib.events import service as events
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import Action, InboundDomain, MailRoute
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.metrics.store import pending
from chalicelib.relay_webhooks import store as relay_webhooks
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.store import counters as seeding
from chalicelib.sending_domains import store as domains
from chalicelib.users.model import Passkey
from chalicelib.users.store import sessions, users
from chalicelib.webhooks.credentials import Credentials, seal
from chalicelib.webhooks.model import Webhook, WebhookBatch
from chalicelib.webhooks.store import batches
from chalicelib.webhooks.store import webhooks as webhooks
from tests.unit.calling import Client
from tests.unit.people import make_user, sign_in, transmission
from tests.unit.received_mail.examples import mail, octets_of, stored

#: A target that is refused before anything is posted
UNREACHABLE = "https://127.0.0.1/"

#: The end of the day that reports about domains are of, and days around it
_DAY = int(time.time()) // 86_400 * 86_400 - 1
_DAYS = "?" + "&".join(
    f"{name}={datetime.fromtimestamp(_DAY + days * 86_400, UTC):%Y-%m-%d}"
    for name, days in (("from", -5), ("to", 2))
)

#: What decides whose things a route reaches: the scope of the request, the account, the part of it
#: that the key or user is confined to, or the user who is signed in
Reach = Literal["scope", "account", "key", "user"]


@dataclass(slots=True)
class Owner:
    """The primary account or a subaccount. Its ids hold ``tag``, its contents ``mark`` as well.

    ``browser`` is that of a user of the owner's, for the routes that no key may call.
    """

    account: int
    subaccount: int | None
    tag: str
    client: Client
    browser: Client | None = None
    things: dict[str, str] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """A text that only callers who may see the owner's things may read."""
        return f"secret of {self.tag}"


@dataclass(frozen=True, slots=True)
class Case:
    """How a route is called. ``names`` says which thing a parameter of the path is, if not its own;
    the braces of ``query`` are things.

    ``is_unaimed``: the route is about the user of the request alone, and is not called.
    ``names_company``: the response has the name of the company, which is its account's mark.
    ``always_refused``: a body aimed at another owner is refused, although the path names none.
    ``primary_only``: subaccounts have no such thing. ``own_by_name``: the path names a thing that
    every owner may have, and the caller comes to its own. ``kind`` says under which path owners see
    what the route may have changed, if not under its own.
    """

    body: Json | Callable[[Owner], Json] | None = None
    reach: Reach = "scope"
    names: dict[str, str] = field(default_factory=dict)
    is_unaimed: bool = False
    names_company: bool = False
    always_refused: bool = False
    primary_only: bool = False
    own_by_name: bool = False
    kind: str = ""
    query: str = ""


def _hold(owner: Owner, path: str, body: Json) -> Any:
    response = owner.client.post(path, body)
    assert response.status in (200, 201), (path, response)
    return response.results


def _key(owner: Owner) -> None:
    resource = _hold(owner, "/api/v1/api-keys", {"label": owner.mark, "grants": ["smtp/inject"]})
    owner.things["api_key"] = resource["id"]


def _template(owner: Owner) -> None:
    for name in ("t", "v"):
        body = _new_template(owner) | {"id": f"{name}-{owner.tag}", "name": owner.mark}
        call = '{{ render_snippet("s-' + owner.tag + '") }}'
        body["content"] = body["content"] | {"text": call}
        _hold(owner, "/api/v1/templates", body)
    owner.things["template_id"] = f"t-{owner.tag}"


def _new_template(owner: Owner) -> Json:
    content = {"from": "me@example.test", "subject": "Hello", "text": "Hello"}
    return {"id": f"t-{owner.tag}", "name": "new", "content": content, "published": True}


def _snippet(owner: Owner) -> None:
    _hold(owner, "/api/labs/snippets", _new_snippet(owner) | {"name": owner.mark})
    owner.things["snippet_id"] = f"s-{owner.tag}"


def _new_snippet(owner: Owner) -> Json:
    return {"id": f"s-{owner.tag}", "name": "new", "content": {"text": "Hello"}}


def _recipient_list(owner: Owner) -> None:
    if owner.subaccount is None:
        _hold(owner, "/api/v1/recipient-lists", _new_list(owner) | {"name": owner.mark})
        owner.things["list_id"] = f"l-{owner.tag}"


def _new_list(owner: Owner) -> Json:
    recipients = [{"address": "you@inbox.test"}]
    return {"id": f"l-{owner.tag}", "name": "new", "recipients": recipients}


def _list_validation(owner: Owner) -> None:
    if owner.subaccount is None:
        path = f"/api/v1/recipient-validation/list/{owner.things['list_id']}"
        _hold(owner, path, {"copy": {"id": f"copy-{owner.tag}", "keep": ["undeliverable"]}})


def _sending_domain(owner: Owner) -> None:
    name = f"{owner.tag}.test"
    _hold(owner, "/api/v1/sending-domains", {"domain": name})
    domains.change(
        name, lambda each: replace(each, status=replace(each.status, ownership_verified=True))
    )
    owner.things["domain"] = name
    day = Period(_DAY - 86_399, _DAY)
    for kind in (DMARC, TLS):
        report = DomainReport(kind, "reporter.test", owner.tag, owner.mark, day, [])
        domain_reports.save(owner.account, name, report)
    _hold(owner, f"/api/v1/sending-domains/{name}/dkim-keys", _new_dkim_key(owner))
    owner.things["dkim_key"] = f"k-{owner.tag}"


def _new_dkim_key(owner: Owner) -> Json:
    return {"id": f"k-{owner.tag}", "selector": f"sel-{owner.tag}"}


def _tracking_domain(owner: Owner) -> None:
    name = f"track.{owner.tag}.test"
    _hold(owner, "/api/v1/tracking-domains", {"domain": name})
    owner.things["tracking_domain"] = name


def _inbound_domain(owner: Owner) -> None:
    name = f"in.{owner.tag}.test"
    routes = (MailRoute(owner.mark, Action.DROP),)
    domain = InboundDomain(name, owner.account, 1, owner.subaccount, mx_error=owner.mark)
    assert inbound_domains.create(replace(domain, routes=routes))
    owner.things["inbound_domain"] = name


def _transmission(owner: Owner) -> None:
    owner.things["campaign_id"] = f"c-{owner.tag}"
    tomorrow = clock.iso_offset(clock.now() + 86_400)
    body = transmission(f"me@{owner.tag}.test", "a@inbox.test", "b@inbox.test") | {
        "campaign_id": f"c-{owner.tag}",
        "description": owner.mark,
        "metadata": {"note": owner.mark},
        "options": {"start_time": tomorrow},
    }
    owner.things["transmission_id"] = _hold(owner, "/api/v1/transmissions", body)["id"]


def _suppressed(owner: Owner) -> None:
    recipient = f"{owner.tag}@suppressed.test"
    body = {"type": "transactional", "description": owner.mark}
    assert owner.client.put(f"/api/v1/suppression-list/{recipient}", body).status == 200
    owner.things["recipient"] = recipient


def _suppression(owner: Owner) -> Json:
    return {"recipient": owner.things["recipient"], "type": "transactional", "description": "new"}


def _ip_pool(owner: Owner) -> None:
    if owner.subaccount is None:
        resource = _hold(owner, "/api/v1/ip-pools", {"name": owner.mark})
        owner.things["pool_id"] = resource["id"]


def _ab_tests(owner: Owner) -> None:
    for path, thing in (("/draft", "draft"), ("/draft", "second_draft"), ("", "ab_test")):
        body = _new_ab_test(owner) | {"id": f"{thing}-{owner.tag}", "name": owner.mark}
        owner.things[thing] = _hold(owner, f"/api/v1/ab-test{path}", body)["id"]


def _new_ab_test(owner: Owner) -> Json:
    return {
        "id": f"ab_test-{owner.tag}",
        "name": "new",
        "metric": "count_unique_clicked",
        "audience_selection": "percent",
        "test_mode": "learning",
        "total_sample_size": 100,
        "start_time": clock.iso_offset(clock.now() + 86_400),
        "default_template": {"template_id": f"t-{owner.tag}", "percent": 40},
        "variants": [{"template_id": f"v-{owner.tag}", "percent": 60}],
    }


def _event(owner: Owner) -> None:
    sender = Sender(owner.account, owner.subaccount, "191930000000000001", "rest")
    about = recipient_fields(f"{owner.tag}@inbox.test", metadata={}, tags=[])
    base = sender.fields() | about | {"message_id": owner.tag, "subject": owner.mark}
    event_item = make_event("delivery", base, clock.now_ms() - 5000)
    shared = ("customer_id", "subaccount_id", "timestamp")
    outcome = {name: event_item[name] for name in shared if name in event_item}
    own = {"type": "success", "event_id": f"9{event_item['event_id'][1:]}", "batch_id": owner.mark}
    events.put_all([event_item, outcome | own])


def _webhook(owner: Owner) -> None:
    name = f"w-{owner.tag}"
    webhooks.create(
        Webhook(
            name,
            owner.account,
            owner.mark,
            UNREACHABLE,
            ("delivery",),
            clock.now_ms(),
            source=owner.subaccount or 0,
            subaccount_id=owner.subaccount,
            sealed=seal(Credentials(auth_token=owner.mark), name),
        )
    )
    batches.record(WebhookBatch(name, f"b-{owner.tag}", 1, clock.now_ms()), b"[]")
    owner.things |= {"webhook_id": name, "batch_id": f"b-{owner.tag}"}


def _relay_webhook(owner: Owner) -> None:
    """Store a relay webhook, its inbound domain, and a message that was posted to it."""
    number = 10 * owner.account + (owner.subaccount or 0)
    name, domain = f"{10**17 + number}", f"relay-{owner.tag}.test"
    of_owner = {"account_id": owner.account, "subaccount_id": owner.subaccount}
    now = clock.now_ms()
    inbound_domains.create(InboundDomain(domain, created_ms=now, relay_webhook_id=name, **of_owner))
    inbound_domain = inbound_domains.get(domain)
    assert inbound_domain is not None
    relay_webhooks.create(
        RelayWebhook(
            name,
            name=owner.mark,
            target=UNREACHABLE,
            domain=domain,
            created_ms=now,
            sealed=seal(Credentials(auth_token=owner.mark), name),
            **of_owner,
        ),
        inbound_domains.relay_webhook_write(inbound_domain, name),
    )
    message = stored(500 + number, octets_of(mail(owner.mark)), webhook_id=name, **of_owner)
    batches.record(WebhookBatch(name, message.id, 1, now), None)
    owner.things |= {"relay_webhook": name, "relay_batch": message.id, "relay_domain": domain}


def _counts(owner: Owner) -> None:
    mark = owner.mark
    sender = Sender(owner.account, owner.subaccount, "191930000000000001", "rest", mark, mark)
    base = sender.fields() | recipient_fields(f"a@{owner.tag}.test", metadata={}, tags=[])
    base |= {"message_id": owner.tag, "reason": mark, "target_link_name": mark, "subject": mark}
    delta = Delta()
    for kind in ("injection", "delivery", "bounce", "delay", "policy_rejection", "click"):
        delta.add(make_event(kind, base, clock.now_ms() - 5000))
    delta.add(make_event("inbox_seed", base, clock.now_ms()))
    dynamo.transact(pending.additions(owner.account, delta))
    roll_up_pending()


def _seeded_campaign(owner: Owner) -> None:
    campaign = Campaign(owner.subaccount, owner.mark, f"{owner.tag}.test")
    seeding.add(owner.account, campaign, 1, 5, clock.now_ms())


def _user(owner: Owner) -> None:
    """Store a user and an invited one, and begin a session of the first."""
    for thing, status in (("user_id", "active"), ("invited", "invited")):
        user = make_user(
            owner.account,
            f"{thing}-{owner.tag}@acme.example",
            "reporting",
            name=owner.mark,
            status=status,
            subaccount_id=owner.subaccount,
        )
        owner.things[thing] = user.id
        if status == "active":
            sign_in(user)
            owner.things["session"] = sessions.of_user(user)[0].id


def _own_session(owner: Owner) -> None:
    """Give the user who has the owner's browser another session and a passkey."""
    if owner.browser:
        user_id = str(owner.browser.headers["Cookie"]).split(".")[1]
        user = users.get(user_id)
        assert user
        (first,) = sessions.of_user(user)
        sign_in(user)
        (second,) = {each.id for each in sessions.of_user(user)} - {first.id}
        owner.things["own_session"] = second
        passkey = Passkey(f"passkey_{owner.tag:A<8}", "", 0, owner.mark, clock.now())
        users.change(user.id, lambda each: replace(each, passkeys=(passkey,)))
        for session in sessions.of_user(user):
            sessions.show_second_factor(session)
        owner.things["passkey_id"] = passkey.id


def _new_user(owner: Owner) -> Json:
    return {"email": f"new-{owner.tag}@acme.example", "role": "reporting", "name": "new"}


def _received_message(owner: Owner) -> None:
    """Store a message that came in for the owner."""
    number = 10 * owner.account + (owner.subaccount is not None)
    message = mail(owner.mark, Subject=owner.mark)
    message.add_attachment(owner.mark, filename="a.txt")
    of_owner = {"account_id": owner.account, "subaccount_id": owner.subaccount}
    owner.things["message_id"] = stored(number, octets_of(message), **of_owner).id
    owner.things["number"] = "1"


SEEDS = [
    _key,
    _template,
    _snippet,
    _recipient_list,
    _list_validation,
    _sending_domain,
    _tracking_domain,
    _inbound_domain,
    _transmission,
    _suppressed,
    _ip_pool,
    _ab_tests,
    _event,
    _webhook,
    _relay_webhook,
    _counts,
    _seeded_campaign,
    _user,
    _own_session,
    _received_message,
]

_DKIM_KEY = {"key_id": "dkim_key"}
_INVITED = {"user_id": "invited"}
_TRACKING = {"domain": "tracking_domain"}
_RELAY = {"webhook_id": "relay_webhook", "batch_id": "relay_batch"}
_INBOUND = {"domain": "inbound_domain"}
_NAMED = {"name": "taken over"}
_DRAFT = {"test_id": "draft"}
_AB_TEST = {"test_id": "ab_test"}
_SUBACCOUNT = {"name": "taken over", "status": "terminated"}
_VALUES = "campaigns templates domains sending-domains ip-pools sending-ips mailbox-providers"
_VALUES += " mailbox-provider-regions subject-campaigns"
_REPORTS = {
    "count_targeted": " /domain /campaign /template /sending-ip /ip-pool /sending-domain"
    " /subaccount /mailbox-provider /mailbox-provider-region /watched-domain"
    " /time-series /rejection-reason /rejection-reason/domain /delay-reason /delay-reason/domain"
    " /query-filters-schema",
    "count_inbox_seed": "/subject-campaign",
    "count_bounce": "/bounce-reason /bounce-reason/domain /bounce-classification",
    "count_clicked": "/link-name",
    "count_delivered": "/attempt",
}
_SINCE = f"?from={datetime.fromtimestamp(_DAY, UTC):%Y-%m-%d}T00:00"

CASES: dict[tuple[str, str], Case] = {
    ("GET", "/api/v1/metrics"): Case(reach="key"),
    **{
        ("GET", f"/api/v1/metrics/{name}"): Case(reach="key", query=_SINCE)
        for name in _VALUES.split()
    },
    **{
        ("GET", f"/api/v1/metrics/deliverability{path}"): Case(
            reach="key", query=f"{_SINCE}&metrics={metric}"
        )
        for metric, paths in _REPORTS.items()
        for path in paths.split(" ")
    },
    ("GET", "/api/v1/account"): Case(reach="account"),
    ("PUT", "/api/v1/account"): Case({"company_name": "taken over"}, reach="account"),
    ("GET", "/api/v1/usage"): Case(reach="account"),
    ("GET", "/api/v1/counts"): Case(),
    ("GET", "/api/v1/delivery-queue"): Case(reach="account"),
    ("GET", "/api/v1/users"): Case(reach="account"),
    ("POST", "/api/v1/users"): Case(_new_user, reach="account"),
    ("GET", "/api/v1/users/{user_id}"): Case(reach="account"),
    ("PUT", "/api/v1/users/{user_id}"): Case({"name": "new"}, reach="account"),
    ("DELETE", "/api/v1/users/{user_id}"): Case(reach="account", names=_INVITED),
    ("POST", "/api/v1/users/{user_id}/invitation"): Case(reach="account", names=_INVITED),
    ("DELETE", "/api/v1/users/{user_id}/second-factor"): Case(reach="account"),
    ("GET", "/api/v1/users/{user_id}/sessions"): Case(reach="account"),
    ("DELETE", "/api/v1/users/{user_id}/sessions"): Case(reach="account"),
    ("DELETE", "/api/v1/users/{user_id}/sessions/{session_id}"): Case(
        reach="account", names={"session_id": "session"}
    ),
    ("GET", "/api/v1/me"): Case(reach="user", names_company=True),
    ("PUT", "/api/v1/me"): Case({"name": "new"}, reach="user", names_company=True),
    ("GET", "/api/v1/sessions"): Case(reach="user"),
    ("DELETE", "/api/v1/sessions/{session_id}"): Case(
        reach="user", names={"session_id": "own_session"}
    ),
    ("POST", "/api/v1/sign-out"): Case(is_unaimed=True),
    ("GET", "/api/v1/second-factor"): Case(reach="user"),
    ("POST", "/api/v1/second-factor"): Case({"type": "passkey"}, reach="user"),
    ("PUT", "/api/v1/second-factor"): Case({"code": "000000"}, reach="user"),
    ("POST", "/api/v1/second-factor/recovery-codes"): Case(is_unaimed=True),
    ("DELETE", "/api/v1/second-factor"): Case(is_unaimed=True),
    ("DELETE", "/api/v1/second-factor/totp"): Case(is_unaimed=True),
    ("DELETE", "/api/v1/second-factor/passkeys/{passkey_id}"): Case(reach="user"),
    ("GET", "/api/v1/authenticate/grants"): Case(),
    ("GET", "/api/v1/api-keys"): Case(),
    # Refused requests show what they asked for, such as the ids of other owners
    ("GET", "/api/v1/audit-log"): Case(query="?outcome=done"),
    ("POST", "/api/v1/api-keys"): Case({"label": "new", "grants": ["smtp/inject"]}),
    ("GET", "/api/v1/api-keys/current"): Case(),
    ("GET", "/api/v1/api-keys/{key_id}"): Case(names={"key_id": "api_key"}),
    ("PUT", "/api/v1/api-keys/{key_id}"): Case({"label": "taken"}, names={"key_id": "api_key"}),
    ("DELETE", "/api/v1/api-keys/{key_id}"): Case(names={"key_id": "api_key"}),
    ("GET", "/api/v1/subaccounts"): Case(reach="account"),
    ("POST", "/api/v1/subaccounts"): Case({"name": "new", "setup_api_key": False}, reach="account"),
    ("GET", "/api/v1/subaccounts/summary"): Case(reach="account"),
    ("GET", "/api/v1/subaccounts/{subaccount_id}"): Case(reach="account"),
    ("PUT", "/api/v1/subaccounts/{subaccount_id}"): Case(_SUBACCOUNT, reach="account"),
    ("GET", "/api/v1/events/message"): Case(reach="key"),
    ("GET", "/api/v1/events/message/counts"): Case(
        reach="key", query="?transmissions=191930000000000001"
    ),
    ("GET", "/api/v1/events/ingest"): Case(reach="key"),
    ("POST", "/api/v1/ingest/events"): Case({"type": "delivery"}, primary_only=True),
    ("POST", "/api/v1/transmissions"): Case(
        lambda owner: transmission(f"me@{owner.things['domain']}"), always_refused=True
    ),
    ("GET", "/api/v1/webhooks"): Case(),
    ("POST", "/api/v1/webhooks"): Case(
        {"name": "new", "target": UNREACHABLE, "events": ["delivery"]}
    ),
    ("GET", "/api/v1/webhooks/{webhook_id}"): Case(),
    ("PUT", "/api/v1/webhooks/{webhook_id}"): Case({"name": "taken over"}),
    ("DELETE", "/api/v1/webhooks/{webhook_id}"): Case(),
    ("POST", "/api/v1/webhooks/{webhook_id}/validate"): Case(),
    ("GET", "/api/v1/webhooks/{webhook_id}/batch-status"): Case(),
    ("POST", "/api/v1/webhooks/{webhook_id}/signing-secret"): Case(),
    ("DELETE", "/api/v1/webhooks/{webhook_id}/signing-secret"): Case(),
    ("GET", "/api/v1/webhooks/{webhook_id}/batches/{batch_id}"): Case(),
    ("POST", "/api/v1/webhooks/{webhook_id}/batches/{batch_id}/redeliver"): Case(),
    ("GET", "/api/v1/relay-webhooks"): Case(),
    ("POST", "/api/v1/relay-webhooks"): Case(
        lambda owner: {
            "target": UNREACHABLE,
            "match": {"protocol": "SMTP", "domain": owner.things["relay_domain"]},
        }
    ),
    ("GET", "/api/v1/relay-webhooks/{webhook_id}"): Case(names=_RELAY),
    ("PUT", "/api/v1/relay-webhooks/{webhook_id}"): Case({"name": "taken over"}, names=_RELAY),
    ("DELETE", "/api/v1/relay-webhooks/{webhook_id}"): Case(names=_RELAY),
    ("POST", "/api/v1/relay-webhooks/{webhook_id}/validate"): Case(names=_RELAY),
    ("GET", "/api/v1/relay-webhooks/{webhook_id}/batch-status"): Case(names=_RELAY),
    ("POST", "/api/v1/relay-webhooks/{webhook_id}/signing-secret"): Case(names=_RELAY),
    ("DELETE", "/api/v1/relay-webhooks/{webhook_id}/signing-secret"): Case(names=_RELAY),
    ("GET", "/api/v1/relay-webhooks/{webhook_id}/batches/{batch_id}"): Case(names=_RELAY),
    ("POST", "/api/v1/relay-webhooks/{webhook_id}/batches/{batch_id}/redeliver"): Case(
        names=_RELAY
    ),
    ("GET", "/api/v1/seeds"): Case(reach="account"),
    ("GET", "/api/v1/inbound-messages"): Case(),
    ("GET", "/api/v1/inbound-messages/{message_id}"): Case(),
    ("GET", "/api/v1/inbound-messages/{message_id}/raw"): Case(),
    ("GET", "/api/v1/inbound-messages/{message_id}/attachments/{number}"): Case(),
    ("DELETE", "/api/v1/inbound-messages/{message_id}"): Case(),
    ("GET", "/api/v1/inline-seeds/config"): Case(reach="account"),
    ("POST", "/api/v1/inline-seeds/config"): Case({"match": ["taken over"]}, reach="account"),
    ("PUT", "/api/v1/inline-seeds/config"): Case({"exclude": ["taken over"]}, reach="account"),
    ("GET", "/api/v1/inline-seeds/status"): Case(),
    ("GET", "/api/v1/inline-seeds/options"): Case(),
    ("PUT", "/api/v1/inline-seeds/options"): Case({"enabled": True}),
    ("GET", "/api/v1/transmissions"): Case(),
    ("GET", "/api/v1/transmissions/{transmission_id}"): Case(),
    ("GET", "/api/v1/transmissions/{transmission_id}/content"): Case(),
    ("DELETE", "/api/v1/transmissions/{transmission_id}"): Case(),
    ("DELETE", "/api/v1/transmissions"): Case(query="?campaign_id={campaign_id}"),
    ("GET", "/api/v1/suppression-list"): Case(),
    ("GET", "/api/v1/suppression-list/summary"): Case(),
    ("PUT", "/api/v1/suppression-list"): Case(lambda owner: {"recipients": [_suppression(owner)]}),
    ("GET", "/api/v1/suppression-list/{recipient}"): Case(),
    ("PUT", "/api/v1/suppression-list/{recipient}"): Case(_suppression, own_by_name=True),
    ("DELETE", "/api/v1/suppression-list/{recipient}"): Case(),
    ("POST", "/api/v1/data-privacy/rtbf-request"): Case(
        lambda owner: {"recipients": [owner.things["recipient"]]}, kind="/api/v1/suppression-list"
    ),
    ("POST", "/api/v1/data-privacy/opt-out-request"): Case(
        lambda owner: {"recipients": [owner.things["recipient"]]}, kind="/api/v1/suppression-list"
    ),
    ("GET", "/api/v1/ip-pools"): Case(reach="account"),
    ("POST", "/api/v1/ip-pools"): Case(
        lambda owner: {"name": owner.things["pool_id"]}, reach="account", primary_only=True
    ),
    ("GET", "/api/v1/ip-pools/{pool_id}"): Case(reach="account"),
    ("GET", "/api/v1/ip-pools/{pool_id}/requirements"): Case(reach="account"),
    ("PUT", "/api/v1/ip-pools/{pool_id}"): Case(_NAMED, reach="account"),
    ("DELETE", "/api/v1/ip-pools/{pool_id}"): Case(reach="account"),
    ("GET", "/api/v1/sending-ips"): Case(reach="account"),
    ("GET", "/api/v1/sending-ips/{external_ip}"): Case(reach="account"),
    ("GET", "/api/v1/sending-ips/{external_ip}/warmup"): Case(reach="account"),
    ("PUT", "/api/v1/sending-ips/{external_ip}"): Case({"ip_pool": "default"}, reach="account"),
    ("GET", "/api/v1/ab-test"): Case(),
    ("POST", "/api/v1/ab-test"): Case(_new_ab_test),
    ("GET", "/api/v1/ab-test/{test_id}"): Case(names=_AB_TEST),
    ("PUT", "/api/v1/ab-test/{test_id}"): Case(_NAMED, names=_AB_TEST),
    ("DELETE", "/api/v1/ab-test/{test_id}"): Case(names=_AB_TEST),
    ("POST", "/api/v1/ab-test/{test_id}/cancel"): Case(names=_AB_TEST),
    ("POST", "/api/v1/ab-test/draft"): Case(_new_ab_test),
    ("GET", "/api/v1/ab-test/draft/{test_id}"): Case(names=_DRAFT),
    ("PUT", "/api/v1/ab-test/draft/{test_id}"): Case(_NAMED, names=_DRAFT),
    ("DELETE", "/api/v1/ab-test/draft/{test_id}"): Case(names=_DRAFT),
    ("POST", "/api/v1/ab-test/draft/{test_id}/schedule"): Case(names={"test_id": "second_draft"}),
    ("GET", "/api/v1/templates"): Case(),
    ("POST", "/api/v1/templates"): Case(_new_template),
    ("GET", "/api/v1/templates/{template_id}"): Case(),
    ("PUT", "/api/v1/templates/{template_id}"): Case(_NAMED),
    ("DELETE", "/api/v1/templates/{template_id}"): Case(),
    ("POST", "/api/v1/templates/{template_id}/preview"): Case({"substitution_data": {}}),
    ("POST", "/api/v1/utils/content-previewer"): Case(
        lambda owner: {
            "substitution_data": {},
            "content": {
                "from": "me@example.test",
                "subject": "s",
                "text": '{{ render_snippet("' + owner.things["snippet_id"] + '") }}',
            },
        }
    ),
    ("POST", "/api/v1/utils/content-validator"): Case(
        lambda owner: {
            "content": {"text": '{{ render_snippet("' + owner.things["snippet_id"] + '") }}'},
        }
    ),
    ("GET", "/api/labs/snippets"): Case(),
    ("POST", "/api/labs/snippets"): Case(_new_snippet),
    ("GET", "/api/labs/snippets/{snippet_id}"): Case(),
    ("GET", "/api/labs/snippets/{snippet_id}/templates"): Case(),
    ("PUT", "/api/labs/snippets/{snippet_id}"): Case(_NAMED),
    ("DELETE", "/api/labs/snippets/{snippet_id}"): Case(),
    ("GET", "/api/v1/recipient-lists"): Case(primary_only=True),
    ("POST", "/api/v1/recipient-lists"): Case(_new_list, primary_only=True),
    ("GET", "/api/v1/recipient-lists/{list_id}"): Case(primary_only=True),
    ("PUT", "/api/v1/recipient-lists/{list_id}"): Case(_NAMED, primary_only=True),
    ("DELETE", "/api/v1/recipient-lists/{list_id}"): Case(primary_only=True),
    ("GET", "/api/v1/recipient-validation/single/{address}"): Case(
        names={"address": "recipient"}, own_by_name=True
    ),
    ("POST", "/api/v1/recipient-validation/list/{list_id}"): Case({}, primary_only=True),
    ("GET", "/api/v1/recipient-validation/list/{list_id}"): Case(primary_only=True),
    ("GET", "/api/v1/sending-domains"): Case(),
    ("POST", "/api/v1/sending-domains"): Case(
        lambda owner: {"domain": owner.things["domain"], "generate_dkim": False}
    ),
    ("GET", "/api/v1/sending-domains/{domain}"): Case(),
    ("GET", "/api/v1/sending-domains/{domain}/dns-records"): Case(),
    ("GET", "/api/v1/sending-domains/{domain}/requirements"): Case(),
    ("GET", "/api/v1/sending-domains/{domain}/dmarc-reports"): Case(query=_DAYS),
    ("GET", "/api/v1/sending-domains/{domain}/tls-reports"): Case(query=_DAYS),
    ("PUT", "/api/v1/sending-domains/{domain}"): Case({"tracking_domain": ""}),
    ("DELETE", "/api/v1/sending-domains/{domain}"): Case(),
    ("POST", "/api/v1/sending-domains/{domain}/verify"): Case({"dkim_verify": True}),
    ("GET", "/api/v1/sending-domains/{domain}/dkim-keys"): Case(),
    ("POST", "/api/v1/sending-domains/{domain}/dkim-keys"): Case({"id": "new", "selector": "new"}),
    ("GET", "/api/v1/sending-domains/{domain}/dkim-keys/{key_id}"): Case(names=_DKIM_KEY),
    ("PUT", "/api/v1/sending-domains/{domain}/dkim-keys/{key_id}"): Case(
        {"selector": "other"}, names=_DKIM_KEY
    ),
    ("DELETE", "/api/v1/sending-domains/{domain}/dkim-keys/{key_id}"): Case(names=_DKIM_KEY),
    ("POST", "/api/v1/sending-domains/{domain}/dkim-keys/{key_id}/verify"): Case(
        {}, names=_DKIM_KEY
    ),
    ("GET", "/api/v1/inbound-domains"): Case(),
    ("POST", "/api/v1/inbound-domains"): Case(
        lambda owner: {"domain": owner.things["inbound_domain"]}
    ),
    ("GET", "/api/v1/inbound-domains/{domain}"): Case(names=_INBOUND),
    ("DELETE", "/api/v1/inbound-domains/{domain}"): Case(names=_INBOUND),
    ("GET", "/api/v1/inbound-domains/{domain}/dns-records"): Case(names=_INBOUND),
    ("POST", "/api/v1/inbound-domains/{domain}/verify"): Case({}, names=_INBOUND),
    ("GET", "/api/v1/inbound-domains/{domain}/routes"): Case(names=_INBOUND),
    ("PUT", "/api/v1/inbound-domains/{domain}/routes"): Case({"routes": []}, names=_INBOUND),
    ("GET", "/api/v1/tracking-domains"): Case(),
    ("POST", "/api/v1/tracking-domains"): Case(
        lambda owner: {"domain": owner.things["tracking_domain"]}
    ),
    ("GET", "/api/v1/tracking-domains/{domain}"): Case(names=_TRACKING),
    ("GET", "/api/v1/tracking-domains/{domain}/dns-records"): Case(names=_TRACKING),
    ("PUT", "/api/v1/tracking-domains/{domain}"): Case({"secure": True}, names=_TRACKING),
    ("DELETE", "/api/v1/tracking-domains/{domain}"): Case(names=_TRACKING),
    ("POST", "/api/v1/tracking-domains/{domain}/verify"): Case({}, names=_TRACKING),
}
