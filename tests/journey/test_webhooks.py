"""Post events to the webhooks of a customer, who runs an HTTP server as target."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook as Receiver

from tests.http_target import Post, Reply, Target, serving
from tests.journey.service import PATIENCE, Service, eventually

PATH = "/api/v1/webhooks"


@pytest.fixture
def target() -> Iterator[Target]:
    """A target that accepts every post unless the test changes its reply."""
    with serving() as running:
        yield running


def make(service: Service, target: Target, *events: str, **fields: Any) -> str:
    body = {"name": "Ours", "target": target.url, "events": events, **fields}
    response = service.request("POST", PATH, body)
    assert response.status == 200, response.body
    return response.json["results"]["id"]


def delete(service: Service, webhook: str) -> None:
    assert service.request("DELETE", f"{PATH}/{webhook}").status == 204


def of_recipient(target: Target, recipient: str) -> list[dict[str, Any]]:
    events = [event for post in target.batches() for event in post.events()]
    return [event for event in events if event["rcpt_to"] == recipient]


@pytest.mark.spec("6-r1")
@pytest.mark.spec("6-r2")
@pytest.mark.spec("4.9-t7")
def test_events_of_a_message_are_posted_within_seconds(service: Service, target: Target) -> None:
    webhook = make(service, target, "injection", "delivery")
    began = time.monotonic()
    recipient = "webhook-reader@inbox.test"
    service.send(recipient, html="<p>Hello</p>")
    eventually(lambda: len(of_recipient(target, recipient)) == 2)
    seconds = time.monotonic() - began
    posted = {event["type"]: event for event in of_recipient(target, recipient)}
    for searched in service.events(recipients=recipient):
        event = posted[searched["type"]]
        assert event["event_id"] == searched["event_id"]
        assert event["timestamp"].isdigit()
        extra = {"display_name", "event_description"}
        assert set(event) == set(searched) - extra, "search and webhooks show the same fields"
    (record,) = eventually(
        lambda: [
            each
            for each in service.request("GET", PATH).json["results"]
            if each["id"] == webhook and each["last_successful"]
        ]
    )
    assert len(record["last_successful"]) == len("2026-01-31 09:05:00")
    status = service.request("GET", f"{PATH}/{webhook}/batch-status").json["results"]
    assert {each["batch_id"] for each in status} == {post.batch_id for post in target.batches()}
    assert {each["response_code"] for each in status} == {"200"}
    delete(service, webhook)
    assert seconds < 10  # about two seconds on an idle machine


def test_webhooks_and_search_show_the_same_fields_of_every_type_of_event(
    service: Service, target: Target
) -> None:
    samples = service.request("GET", f"{PATH}/events/samples", key=None).json["results"]
    documented = {event["type"]: set(event) for each in samples for event in each["svc"].values()}
    webhook = make(service, target, *documented)
    recipients = [
        f"{kind}+webhook@inbox.test" for kind in ("bounce-hard", "defer", "oob", "complain")
    ]
    service.send(*recipients)
    service.send("unrendered+webhook@inbox.test", text="{{ render_snippet('none') }}")
    recipients.append("unrendered+webhook@inbox.test")
    expected = {
        "injection",
        "delivery",
        "delay",
        "bounce",
        "out_of_band",
        "spam_complaint",
        "generation_failure",
    }

    def posted_events() -> dict[str, dict[str, Any]]:
        events = service.events(recipients=",".join(recipients))
        ids = {each["event_id"] for each in events}
        arrived = {each["type"] for each in events} >= expected and ids <= target.event_ids()
        return {each["event_id"]: each for each in events} if arrived else {}

    events = eventually(posted_events)
    posted = {event["event_id"]: event for post in target.batches() for event in post.events()}
    for event_id, event in events.items():
        fields = {k: v for k, v in event.items() if k not in ("display_name", "event_description")}
        assert posted[event_id] | {"timestamp": ""} == fields | {"timestamp": ""}
        assert set(fields) <= documented[event["type"]], event["type"]
    delete(service, webhook)


@pytest.mark.spec("6-r3")
def test_a_target_that_fails_half_the_time_gets_every_event(
    service: Service, target: Target
) -> None:
    chance = random.Random(3)
    delivered: set[str] = set()

    def reply(post: Post) -> Reply:
        if post.json == [{"svc": {}}]:
            return Reply(200)
        if chance.random() < 0.5:
            return Reply(503)
        delivered.update(event["event_id"] for event in post.events())
        return Reply(200)

    target.answer = reply
    webhook = make(service, target, "injection", "delivery", "bounce")
    recipients = [f"hook-{n}@inbox.test" for n in range(30)] + ["bounce-hard+hook@inbox.test"]
    for start in range(0, len(recipients), 5):
        service.send(*recipients[start : start + 5])

    def recorded_ids() -> set[str]:
        recipient_filter = ",".join(recipients)
        types = "injection,delivery,bounce"
        return {
            each["event_id"] for each in service.events(recipients=recipient_filter, events=types)
        }

    eventually(lambda: len(recorded_ids()) == 2 * len(recipients))
    eventually(lambda: recorded_ids() <= delivered)
    eventually(
        lambda: all(
            each["response_code"] == "200"
            for each in service.request("GET", f"{PATH}/{webhook}/batch-status").json["results"]
        )
    )
    delete(service, webhook)


def test_a_target_that_hangs_does_not_delay_the_others(
    own_service: Service, target: Target
) -> None:
    own_service.start(WEBHOOK_TIMEOUT=str(2 * PATIENCE))
    with serving() as hanging:
        hanging.answer = lambda post: Reply(never_sent=post.json != [{"svc": {}}])
        make(own_service, hanging, "delivery")
        make(own_service, target, "delivery")
        for n in range(6):
            recipient = f"beside-{n}@inbox.test"
            own_service.send(recipient)
            eventually(lambda: of_recipient(target, recipient))  # noqa: B023
        assert hanging.batches()


def test_a_receiver_can_verify_signatures_and_have_a_batch_redelivered(
    service: Service, target: Target
) -> None:
    webhook = make(service, target, "delivery")
    path = f"{PATH}/{webhook}"
    secret = service.request("POST", f"{path}/signing-secret").json["results"]["signing_secret"]
    service.send("signed@inbox.test")
    eventually(target.batches)
    post = eventually(lambda: _signed(service, path, target))
    Receiver(secret).verify(post.body, dict(post.headers))
    before = len(target.posts)
    redeliver = f"{path}/batches/{post.batch_id}/redeliver"
    # The batch is stored with the outcome of its attempt, which the target sees first
    eventually(lambda: service.request("POST", redeliver).status == 200)
    eventually(lambda: len(target.posts) > before)
    assert (target.posts[-1].body, target.posts[-1].batch_id) == (post.body, post.batch_id)
    delete(service, webhook)


def _signed(service: Service, path: str, target: Target) -> Post | None:
    """Return the first batch, redelivered if it was posted before its secret was known."""
    first = target.batches()[0]
    signed_posts = [post for post in target.batches() if "webhook-signature" in post.headers]
    if not signed_posts:
        service.request("POST", f"{path}/batches/{first.batch_id}/redeliver")
    return signed_posts[0] if signed_posts else None
