"""Try to hold up the mail of others: poison messages, slow hosts and targets, large metadata."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.session import get_session

from chalicelib.core import compression
from infrastructure.local.supervisor.cloud_access import ACCESS_KEY_ID, REGION, read_secret
from infrastructure.local.supervisor.ports import InternalPorts
from tests.http_target import Reply, Target, serving
from tests.journey.service import KEY, Service, eventually

QUEUES = (
    *("generation", "small-sends", "delivery", "events", "ingest"),
    *("webhook-events", "webhook-batches", "event-exports", "inbound-mail"),
)
CHUNK = {"kind": "chunk", "transmission": "1", "chunk": 0, "first_index": 0, "created_ms": 1}
BODIES = (
    "no JSON",
    '{"head": []}',
    '{"head": {"kind": {"a": 1}, "transmission": "\\ud800", "not_before": 1e999}}',
    '{"head": ' + '{"a": ' * 20_000 + "1" + "}" * 20_001,
    json.dumps({"head": {"kind": "chunk"}, "payload": "x" * 250_000}),
    json.dumps({"head": CHUNK, "blob": "queue/none"}),
    json.dumps({"head": CHUNK, "payload": "AAAA"}),
    json.dumps(
        {
            "head": CHUNK,
            "payload": base64.b64encode(compression.compress(bytes(20_000_000))).decode(),
        }
    ),
)
OTHER = "other-tenant.test"
SLOW = 16
WEBHOOKS = "/api/v1/webhooks"


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose webhook targets have time, so that a silent one blocks what waits for it."""
    service = Service(tmp_path_factory.mktemp("apart"))
    service.start(WEBHOOK_TIMEOUT="100")
    yield service
    service.stop()


@pytest.fixture(scope="module")
def poisoned(apart: Service) -> Service:
    """The service with hostile messages on every queue."""
    sqs: Any = get_session().create_client(
        "sqs",
        region_name=REGION,
        endpoint_url=InternalPorts.read(apart.data_dir).cloud_url,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=read_secret(apart.data_dir),
    )
    for url in sqs.list_queues()["QueueUrls"]:
        if not url.endswith("-dead"):
            for body in BODIES:
                sqs.send_message(QueueUrl=url, MessageBody=body)
    return apart


@pytest.fixture(scope="module")
def other_key(apart: Service) -> str:
    """The key of another account, which has a sending domain."""
    lines = apart.operate("create-account", "Other Ltd").splitlines()
    key = dict(line.rsplit(" ", 1) for line in lines)["key"]
    path = "/api/v1/sending-domains"
    for each, body in (
        (path, {"domain": OTHER}),
        (f"{path}/{OTHER}/verify", {"dkim_verify": True}),
    ):
        response = apart.request("POST", each, body, key=key)
        assert response.status == 200, response.body
    return key


def send(service: Service, key: str, recipient: str, **fields: Any) -> None:
    body = {
        "recipients": [{"address": recipient, **fields}],
        "content": {
            "from": f"hello@{'example.test' if key == KEY else OTHER}",
            "subject": "Hello",
            "text": "Hello",
        },
    }
    response = service.request("POST", "/api/v1/transmissions", body, key=key)
    assert response.status == 200, response.body


def make_webhook(service: Service, key: str, target: Target) -> str:
    body = {"name": "Ours", "target": target.url, "events": ["delivery"]}
    response = service.request("POST", WEBHOOKS, body, key=key)
    assert response.status == 200, response.body
    return response.json["results"]["id"]


def posted(target: Target, recipient: str) -> list[dict[str, Any]]:
    events = [event for post in target.batches() for event in post.events()]
    return [event for event in events if event["rcpt_to"] == recipient]


def test_mail_beside_poison_messages_arrives_before_those_have_failed_for_good(
    poisoned: Service,
) -> None:
    with serving() as target:
        webhook = make_webhook(poisoned, KEY, target)
        poisoned.send("beside-poison@inbox.test")
        poisoned.arrived("beside-poison@inbox.test")
        assert poisoned.dead_letters() < len(QUEUES) * len(BODIES)
        eventually(lambda: "delivery" in poisoned.event_types("beside-poison@inbox.test"))
        eventually(lambda: posted(target, "beside-poison@inbox.test"))
        assert poisoned.request("DELETE", f"{WEBHOOKS}/{webhook}").status == 204


def test_large_metadata_passes_through_events_webhooks_and_search(apart: Service) -> None:
    metadata = {"text": "ü" * 2_000, "deep": {"a" * 900: [{"b": n} for n in range(400)]}}
    recipients = [f"large-metadata-{n}@inbox.test" for n in range(5)]
    with serving() as target:
        webhook = make_webhook(apart, KEY, target)
        for recipient in recipients:
            send(apart, KEY, recipient, metadata=metadata)
        for recipient in recipients:
            eventually(lambda each=recipient: "delivery" in apart.event_types(each))
            (event,) = apart.events(recipients=recipient, events="delivery")
            assert event["rcpt_meta"] == metadata
            eventually(lambda each=recipient: posted(target, each))
            assert posted(target, recipient)[0]["rcpt_meta"] == metadata
        assert apart.request("DELETE", f"{WEBHOOKS}/{webhook}").status == 204


def test_a_silent_webhook_target_holds_up_no_other_account(apart: Service, other_key: str) -> None:
    with serving() as silent, serving() as target:
        webhook = make_webhook(apart, KEY, silent)
        silent.answer = lambda _: Reply(never_sent=True)
        make_webhook(apart, other_key, target)
        recipients = [f"other-{n}@inbox.test" for n in range(SLOW)]
        for number, recipient in enumerate(recipients):
            apart.send(f"silent-{number}@inbox.test")
            send(apart, other_key, recipient)
        eventually(lambda: all(posted(target, recipient) for recipient in recipients))
        statuses = apart.request("GET", f"{WEBHOOKS}/{webhook}/batch-status").json["results"]
        assert silent.batches()
        assert statuses == [], "no post to the silent target had come to its end"
        assert apart.request("DELETE", f"{WEBHOOKS}/{webhook}").status == 204


def test_slow_mail_hosts_of_one_account_hold_up_no_other(apart: Service, other_key: str) -> None:
    for number in range(SLOW):
        apart.send(f"slow+{number}@inbox.test")
    for number in range(4):
        send(apart, other_key, f"beside-slow-{number}@inbox.test")
    for number in range(4):
        apart.arrived(f"beside-slow-{number}@inbox.test")
    assert len(apart.mailbox(to="slow+*", limit="100")) < SLOW


def test_poison_messages_end_in_the_dead_letter_queues_and_are_listed(poisoned: Service) -> None:
    counts = {queue: len(BODIES) for queue in QUEUES}
    listing = "".join(f"{queue}\t{count}\n" for queue, count in sorted(counts.items()))
    assert eventually(lambda: poisoned.operate("list-dead-letters") == listing)
