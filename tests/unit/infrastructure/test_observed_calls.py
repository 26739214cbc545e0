"""Check that every AWS request of a function is allowed by its policy.

The deployment derives policies from the imports of the code. These tests run the code: every route
of the API, the function of every queue, every schedule and the relay, with payloads in the bucket
and keys in KMS. They compare the observed requests with the policies. A second test makes sure that
the observation is complete: every table that a policy allows must have been used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from moto import mock_aws

import app
from chalicelib.core import aws, clock, ses
from chalicelib.core.caches import clear_caches
from chalicelib.core.http import App
from chalicelib.core.lambda_events import scheduled_event, sqs_event
from chalicelib.core.settings import settings
from chalicelib.delivery import attempts, route
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import Action, MailRoute
from chalicelib.received_mail.inbound_queue import MOST_IN_QUEUE
from chalicelib.relay_webhooks import store as relay_webhooks
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.sending_domains import recheck
from chalicelib.sending_domains import store as domains
from chalicelib.webhooks.credentials import Credentials, seal
from infrastructure.deployment.functions import FunctionKind, functions
from infrastructure.deployment.merge_template import TEMPLATES, read
from infrastructure.deployment.permissions import relay_statements, statements, target_statement
from relay.backend import SubmittedEnvelope
from relay.inbound import MailAcceptor
from relay.submission import ApiKeyAuthenticator, TransmissionAcceptor
from tests.fake_cloud import create_resources
from tests.http_target import Post, Reply, Target, serving
from tests.ses_stand_in import ses_stand_in
from tests.unit import test_isolation as isolation
from tests.unit import test_schedules as schedules
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.delivery.examples import DEFERRED, REFUSED
from tests.unit.delivery.mail_host import MailHost
from tests.unit.event_export.aws_targets import ARNS, make_targets
from tests.unit.inbound.samples import dsn, group
from tests.unit.inbound.ses_notifications import records
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.infrastructure.observing import (
    Observer,
    Permission,
    allowed,
    clear_all_caches,
    covers,
)
from tests.unit.ingest.examples import batch_body, outside_event
from tests.unit.key_pairs import PAIR
from tests.unit.moving_clock import Clock
from tests.unit.people import make_account, make_key
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone, served_zone

RESOURCES: dict[str, Any] = read(TEMPLATES / "template.yaml")["Resources"]
FUNCTIONS = {function.name: function for function in functions()}
OF_QUEUE = {each.queue: each for each in FUNCTIONS.values() if each.kind is FunctionKind.QUEUE}
SCHEDULES = sorted(name for name, each in FUNCTIONS.items() if each.kind is FunctionKind.SCHEDULE)
API, RELAY = "api_handler", "relay"
POLICIES = {name: statements(each, RESOURCES) for name, each in FUNCTIONS.items()}
for name, function in FUNCTIONS.items():
    if of_targets := target_statement(function):
        POLICIES[name].append(of_targets)
POLICIES[RELAY] = relay_statements(RESOURCES)

DOMAIN = "observed.test"
HOUR = 3_600_000
# Payloads go through the bucket whenever possible, and nothing waits
SETTINGS = {
    "QUEUE_INLINE_BYTES": "1",
    "ITEM_INLINE_BYTES": "1",
    "REDELIVERY_BASE": "0",
    "RETRY_BASE": "0",
    "RATE_LIMIT_PER_SECOND": "0",
    "ALLOW_PRIVATE_ADDRESSES": "true",
    "WEBHOOK_ANY_PORT": "true",
    "WEBHOOK_START": "0",
    "EVENT_TARGETS": ",".join(ARNS.values()),
}


class Service:
    """Calls the functions in this process as AWS does, and observes their requests."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.observer = Observer()
        self.observer.watch(patch)
        self.host = MailHost().install(patch)
        self._patch = patch
        original = App.__call__

        def observed_call(this: App, event: Any, context: Any) -> Any:
            with self.observer.working_as(API):
                return original(this, event, context)

        patch.setattr(App, "__call__", observed_call)

    def work_off_queues(self) -> None:
        """Call the functions of the queues until no message is left."""
        while any(self._consume(queue) for queue in app.QUEUE_HANDLERS):
            pass

    def call(self, schedule: str) -> None:
        """Call the function of a schedule."""
        with self.observer.working_as(schedule):
            app.SCHEDULES[schedule](scheduled_event(schedule), None)

    def fail_once(self, queue: str) -> None:
        """Let the function of a queue fail once with an invalid message."""
        url = self._url(queue)
        aws.sqs().send_message(QueueUrl=url, MessageBody="not a message of ours")
        (message,) = self._receive(queue)
        assert self._handle(queue, [message])["batchItemFailures"]
        self._delete(queue, self._receive(queue))

    def use_ses(self) -> None:
        """Deliver mail by SES from now on."""
        boto3.client("sesv2").create_email_identity(EmailIdentity=DOMAIN)
        self._patch.setenv("TRANSPORT", "ses")
        self._patch.setattr(attempts, "transport", route.transport)

    def _consume(self, queue: str) -> bool:
        messages = self._receive(queue)
        if messages:
            assert self._handle(queue, messages) == {"batchItemFailures": []}
            self._delete(queue, messages)
        return bool(messages)

    def _handle(self, queue: str, messages: list[Any]) -> Any:
        with self.observer.working_as(OF_QUEUE[queue].name):
            return app.QUEUE_HANDLERS[queue](sqs_event(queue, messages), None)

    def _receive(self, queue: str) -> list[Any]:
        response: Any = aws.sqs().receive_message(
            QueueUrl=self._url(queue), MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        return list(response.get("Messages", []))

    def _delete(self, queue: str, messages: list[Any]) -> None:
        for message in messages:
            handle = message["ReceiptHandle"]
            aws.sqs().delete_message(QueueUrl=self._url(queue), ReceiptHandle=handle)

    def _url(self, queue: str) -> str:
        return aws.sqs().get_queue_url(QueueName=settings().queue(queue))["QueueUrl"]


def call_every_route(service: Service, patch: pytest.MonkeyPatch) -> None:
    """Call every route as two accounts and their subaccounts, on their own things."""
    world = isolation.build()
    in_order = sorted(isolation.ROUTES, key=lambda each: isolation._LAST[each.method])
    for each in in_order:
        if not each.path.endswith("/verify"):
            for owner in world.owners[:2]:
                isolation.call(owner.client, each, isolation.case_of(each), owner)
    for each in isolation.PUBLIC_ROUTES:
        isolation.raw_call(each.method, re.sub(r"\{\w+\}", "guess", each.path))


def send_messages(service: Service, patch: pytest.MonkeyPatch) -> None:
    """Send by HTTP and SMTP to recipients who accept, open, click, defer and refuse."""
    for zone in served_zone(patch):
        make_account(options={"inline_seeds": True})
        client = make_key()
        with serving() as target:
            target.answer = grant_tokens
            make_webhooks(client, target)
            make_domain(client, zone)
            make_stored_things(client)
            send_all_kinds(service, client)
            service.work_off_queues()
            for name in ("start_transmissions", "roll_up_metrics"):
                service.call(name)
            service.work_off_queues()
            react(service)
            receive_mail(service, target)
            ingest_events(service, client)
            service.work_off_queues()
            service.call("roll_up_metrics")
            redeliver(client)
            target.answer = lambda _: Reply(500)
            send(client, "late@inbox.test", "later@inbox.test")
            service.work_off_queues()
        for queue in app.QUEUE_HANDLERS:
            if queue != "ses-notifications":  # what it cannot read is dropped
                service.fail_once(queue)
        service.use_ses()
        send(client, "one@inbox.test")
        send(client, "two@inbox.test", "three@inbox.test")
        service.work_off_queues()


def grant_tokens(post: Post) -> Reply:
    """Reply as the target of a webhook, and as the OAuth server that issues tokens for it."""
    if post.path == "/token":
        return Reply(200, b'{"access_token": "t", "expires_in": 3600}')
    return Reply()


def results_of(response: Any) -> Any:
    assert response.status in (200, 204), response
    return response.body["results"] if response.body else None


def make_webhooks(client: Client, target: Target) -> None:
    webhook = {"target": target.url, "events": ["injection", "delivery", "bounce", "open", "click"]}
    basic = {"auth_type": "basic", "auth_credentials": {"username": "u", "password": "p"}}
    token = {"url": target.url.replace("/hook", "/token"), "body": {"grant_type": "client"}}
    oauth = {"auth_type": "oauth2", "auth_request_details": token}
    for authentication in (basic, oauth):
        results_of(client.post("/api/v1/webhooks", {"name": "Mine", **webhook, **authentication}))


def make_domain(client: Client, zone: Zone) -> None:
    dkim = results_of(client.post("/api/v1/sending-domains", {"domain": DOMAIN}))["dkim"]
    record = f"v=DKIM1; k=rsa; p={dkim['public']}"
    zone.set(f"{dkim['selector']}._domainkey.{DOMAIN}", ("TXT", record))
    path = f"/api/v1/sending-domains/{DOMAIN}"
    assert results_of(client.post(f"{path}/verify", {"dkim_verify": True}))["ownership_verified"]
    results_of(client.put(path, {"dkim": {"headers": "from:to:subject:date"}}))


def make_stored_things(client: Client) -> None:
    content = {"from": f"me@{DOMAIN}", "subject": "Hello", "text": "{{ render_snippet('s') }}"}
    results_of(client.post("/api/labs/snippets", {"id": "s", "content": {"text": "Hello"}}))
    for name in ("a", "b"):
        template = {"id": name, "content": content, "published": True}
        results_of(client.post("/api/v1/templates", template))
    recipients = [{"address": f"listed{number}@inbox.test"} for number in range(2)]
    results_of(client.post("/api/v1/recipient-lists", {"id": "l", "recipients": recipients}))
    test = {
        "id": "ab",
        "name": "Which?",
        "metric": "count_unique_clicked",
        "audience_selection": "percent",
        "test_mode": "learning",
        "total_sample_size": 100,
        "default_template": {"template_id": "a", "percent": 40},
        "variants": [{"template_id": "b", "percent": 60}],
        "start_time": clock.iso_offset(clock.now() + 1),
    }
    results_of(client.post("/api/v1/ab-test", test))
    results_of(
        client.post("/api/v1/inline-seeds/config", {"match": ["spring*"], "threshold": 1000})
    )
    results_of(client.put("/api/v1/inline-seeds/options", {"enabled": True}))
    suppressed = "/api/v1/suppression-list/unwilling@inbox.test"
    results_of(client.put(suppressed, {"type": "non_transactional"}))


def send(client: Client, *recipients: str, **fields: Any) -> None:
    content = {
        "from": f"me@{DOMAIN}",
        "subject": "Hello",
        "html": '<a href="https://example.test/">Hello</a>',
    }
    body = {"recipients": [{"address": each} for each in recipients], "content": content} | fields
    results_of(client.post("/api/v1/transmissions", body))


def send_all_kinds(service: Service, client: Client) -> None:
    service.host.answers = {
        "deferred@inbox.test": [DEFERRED],
        "refused@inbox.test": [REFUSED],
        "refused-alone@inbox.test": [REFUSED],
    }
    mixed = ("ann@inbox.test", "deferred@inbox.test", "refused@inbox.test", "unwilling@inbox.test")
    send(client, *mixed, campaign_id="spring", metadata={"order": 7})
    send(client, "alone@inbox.test")
    send(client, "refused-alone@inbox.test")
    send(client, *(f"bulk{number}@inbox.test" for number in range(120)), campaign_id="spring")
    send(client, recipients={"list_id": "l"})
    send(client, "t@inbox.test", "u@inbox.test", content={"template_id": "a"})
    send(client, "v@inbox.test", content={"ab_test_id": "ab"})
    send(client, "broken@inbox.test", content={"template_id": "a"}, metadata={"x": 1})
    soon = clock.iso_offset(clock.now())
    send(client, "x@inbox.test", "y@inbox.test", options={"start_time": soon})
    once = Client(client.key, {"Idempotency-Key": "once"})
    for _ in range(2):
        send(once, "idempotent@inbox.test")
    send_by_smtp(service, client)


def send_by_smtp(service: Service, client: Client) -> None:
    data = f"From: me@{DOMAIN}\r\nTo: smtp@inbox.test\r\nSubject: s\r\n\r\nHello\r\n".encode()
    to = ("smtp@inbox.test", "smtp2@inbox.test")
    envelope = SubmittedEnvelope(f"me@{DOMAIN}", to, data, "192.0.2.1", smtp_utf8=False)
    with service.observer.working_as(RELAY):
        identity = ApiKeyAuthenticator().authenticate(client.key, None, "192.0.2.1")
        TransmissionAcceptor().accept(identity, envelope)


def visit(method: str, path: str) -> int:
    """Request a page without a key; return the status."""
    return int(app.app(event(app.app, method, path), None)["statusCode"])


def react(service: Service) -> None:
    """Open, click, unsubscribe from and bounce the delivered message."""
    messages = [each for each in service.host.messages if each.recipient == "ann@inbox.test"]
    text = messages[0].data.decode().replace("=\r\n", "").replace("=3D", "=")
    paths = set(re.findall(r"http://localhost:8080(/[tf]/[\w./~-]+)", text))
    assert paths
    for path in paths:
        assert visit("GET", path) in (200, 302)
        if path.startswith("/t/u/"):
            assert visit("POST", path) == 200
    reports = MailAcceptor()
    data = dsn(group()).replace("\n", "\r\n").encode()
    envelope = SubmittedEnvelope("", (messages[0].sender,), data, "192.0.2.1", smtp_utf8=False)
    with service.observer.working_as(RELAY):
        assert reports.place_of(messages[0].sender) is None
        reports.accept(envelope)
    notify(service, messages[0].sender.partition("@")[0])


def notify(service: Service, report_id: str) -> None:
    """Let SES tell of the message with this return path."""
    url = service._url("ses-notifications")
    example = ses.tag_value(records.report_id())
    for body in (records.delivery(), records.late_bounce()):
        body = body.replace(example, ses.tag_value(report_id))
        aws.sqs().send_message(QueueUrl=url, MessageBody=body)
    service.work_off_queues()


def receive_mail(service: Service, target: Target) -> None:
    """Receive mail that is posted, forwarded and stored, and that answers a message."""
    routes = (MailRoute("desk", Action.FORWARD, "desk@inbox.test"),)
    sealed = seal(Credentials(), "17")
    webhook = RelayWebhook("17", 1, "Ours", target.url, "in.test", 0, sealed=sealed)
    before = store_inbound_domain(routes=routes)
    relay_webhooks.create(webhook, inbound_domains.relay_webhook_write(before, "17"))
    inbound_domains.forget(before)
    answered = service.host.messages[0].data.partition(b"Message-ID: ")[2].partition(b"\r\n")[0]
    head = b"From: ann@inbox.test\r\nIn-Reply-To: " + answered + b"\r\n\r\n"
    to = ("hook@in.test", "desk@in.test")
    acceptor = MailAcceptor()
    for size in (10, MOST_IN_QUEUE):
        data = head + b"x\r\n" * size
        envelope = SubmittedEnvelope("ann@inbox.test", to, data, "192.0.2.1", smtp_utf8=False)
        with service.observer.working_as(RELAY):
            places = tuple(map(acceptor.place_of, to))
            opening = acceptor.begun(replace(envelope, places=places))
            acceptor.accept(replace(opening, data=opening.trace + data))
        service.work_off_queues()


def ingest_events(service: Service, client: Client) -> None:
    """Ingest two valid events and an invalid one, and read the file of the invalid one."""
    seconds = int(clock.now()) - 60
    data = batch_body(*(outside_event(n, timestamp=str(seconds)) for n in (0, 1)), "{}")
    headers = {"Authorization": client.key, "Content-Encoding": "gzip"}
    request = event(app.app, "POST", "/api/v1/ingest/events", headers=headers, body=data)
    assert app.app(request, None)["statusCode"] == 200
    service.work_off_queues()
    results = results_of(client.get("/api/v1/events/ingest"))
    files = [each["href"] for each in results if each.get("href")]
    assert files
    for url in files:
        assert visit("GET", urlsplit(url).path) == 200


def redeliver(client: Client) -> None:
    """Redeliver a batch of each webhook."""
    for webhook in results_of(client.get("/api/v1/webhooks")):
        path = f"/api/v1/webhooks/{webhook['id']}"
        batches = results_of(client.get(f"{path}/batch-status"))
        results_of(client.post(f"{path}/batches/{batches[0]['batch_id']}/redeliver", {}))


def run_schedules(service: Service, patch: pytest.MonkeyPatch) -> None:
    """Give each schedule work that is due, and call it."""
    patch.setattr(recheck, "_THREADS", 1)
    for zone in served_zone(patch):
        record = ("TXT", txt_record(PAIR.public_b64))
        zone.set("s1._domainkey.kept1.test", record)
        reports = ("TXT", "v=TLSRPTv1; rua=mailto:reports@inbox.test")
        zone.set("_smtp._tls.reported1.test", reports)
        zone.set("example.test", ("A", "192.0.2.7"))
        time = Clock(schedules.NOON / 1000)
        with clock.use(time):
            make_account()
            make_account(0)
            assert domains.create(domain(settings().system_domain, account=0))
            for name in SCHEDULES:
                if name != "clean_up":  # of files, where there are any
                    schedules.WORK[name].arrange(1, time.now_ms)
            time.now_ms += HOUR
            for name in SCHEDULES:
                service.call(name)


def manage_identities(service: Service, patch: pytest.MonkeyPatch) -> None:
    """Let the schedule make, change and delete the identity of a domain in SES."""
    patch.setattr(recheck, "_THREADS", 1)
    schedule = "reverify_domains"
    name = "identity.test"
    for zone in served_zone(patch):
        zone.set(f"s1._domainkey.{name}", ("TXT", txt_record(PAIR.public_b64)))
        with ses_stand_in() as stand_in, clock.use(Clock(schedules.NOON / 1000)):
            settle_ses(patch, stand_in.url)
            key = sealed_key(PAIR, "s1", name)
            assert domains.create(domain(name, dkim=key, check_ms=1))
            service.call(schedule)
            assert not stand_in.identities[name].forwards_bounces
            before = domains.get(name)
            assert before
            after = replace(before, dkim=sealed_key(PAIR, "s2", name), check_ms=1)
            domains.save(before, after)
            service.call(schedule)
            assert stand_in.identities[name].selector == "s2"
            last = domains.get(name)
            assert last
            domains.delete(last)
            service.call(schedule)
            assert stand_in.identities == {}


def settle_ses(patch: pytest.MonkeyPatch, url: str) -> None:
    """Let mail leave by the SES at this address."""
    values = {
        "TRANSPORT": "ses",
        "SES_REGION": "us-east-1",
        "SES_ACCESS_KEY_ID": "x",
        "SES_SECRET_ACCESS_KEY": "x",  # pragma: allowlist secret
        "SES_ENDPOINT": url,
        "SES_CONFIGURATION_SET": "postfinch-test",
    }
    for each, value in values.items():
        patch.setenv(each, value)


@pytest.fixture(scope="module")
def observed() -> Iterator[dict[str, set[Permission]]]:
    """The permissions that each function and the relay have needed."""
    permissions: dict[str, set[Permission]] = {}
    for scenario in (call_every_route, send_messages, run_schedules, manage_identities):
        with pytest.MonkeyPatch.context() as patch, mock_aws():
            for name, value in SETTINGS.items():
                patch.setenv(name, value)
            patch.setenv("KMS_KEY_ID", aws.kms().create_key()["KeyMetadata"]["KeyId"])
            service = Service(patch)
            clear_caches()
            create_resources()
            make_targets()
            scenario(service, patch)
            for name, seen in service.observer.seen.items():
                permissions.setdefault(name, set()).update(seen)
    yield permissions
    clear_all_caches()


@pytest.mark.parametrize("name", [*FUNCTIONS, RELAY])
def test_every_observed_aws_request_is_allowed_by_the_policy(
    name: str, observed: dict[str, set[Permission]]
) -> None:
    policy = allowed(POLICIES[name], RESOURCES)
    permissions = observed.get(name, set())
    assert permissions or name == "clean_up"
    assert [each for each in sorted(permissions) if not covers(policy, each)] == []


def tables(permissions: set[Permission]) -> set[str]:
    """Return the short names of the tables that permissions name."""
    prefix = f"table/{settings().table('')}"
    names = (each.resource for each in permissions if each.resource.startswith(prefix))
    return {name.removeprefix(prefix).partition("/")[0] for name in names}


@pytest.mark.parametrize("name", [*FUNCTIONS, RELAY])
def test_every_table_that_a_policy_allows_is_used(
    name: str, observed: dict[str, set[Permission]]
) -> None:
    may_use = tables(allowed(POLICIES[name], RESOURCES))
    assert may_use - tables(observed.get(name, set())) == set()


def test_covers_denies_what_the_policy_does_not_allow() -> None:
    policy = allowed(POLICIES["delivery"], RESOURCES)
    delivery = settings().queue("delivery")
    assert covers(policy, Permission("sqs:SendMessage", f"queue/{delivery}"))
    assert not covers(policy, Permission("sqs:SendMessage", f"queue/{delivery}-dead"))
    assert covers(policy, Permission("dynamodb:Query", f"table/{settings().table('messages')}"))
    assert not covers(policy, Permission("dynamodb:Scan", f"table/{settings().table('messages')}"))
    assert not covers(policy, Permission("dynamodb:Query", f"table/{settings().table('metrics')}"))
    assert not covers(policy, Permission("kms:Decrypt", "key/SealingKey"))
