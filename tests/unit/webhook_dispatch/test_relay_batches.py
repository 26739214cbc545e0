"""Post received messages to relay webhooks that accept them, refuse them, or are gone."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.core.json_types import Json
from chalicelib.core.queues import Work
from chalicelib.core.settings import local_values, settings
from chalicelib.received_mail import parsing
from chalicelib.received_mail import store as received_mail
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.relay_webhooks import store as relay_webhooks
from chalicelib.webhook_dispatch import kinds, relay_batches
from chalicelib.webhook_dispatch.batch import QUEUE, read_head
from chalicelib.webhook_dispatch.redelivery import redeliver
from chalicelib.webhook_dispatch.worker import post_batches
from chalicelib.webhooks.attempts import history
from chalicelib.webhooks.credentials import Credentials, SigningSecret
from chalicelib.webhooks.model import OAUTH2
from chalicelib.webhooks.signatures import draw_secret, is_valid
from chalicelib.webhooks.store import batches
from tests.client_calls import after_each_call
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.http_target import Post, Reply, Target
from tests.unit.received_mail.examples import stored
from tests.unit.relay_webhooks.examples import DOMAIN, make_relay_webhook
from tests.unit.webhook_dispatch.simulation import NINE, Simulation, make_webhook, operations

ID = "100000000000000001"
TEN_DAYS = 10 * 86_400
MOST_STEPS = 50
LARGE = b"Large: yes\r\n\r\n" + b"a line that is longer than nothing \x01\r\n" * 40_000


def message_of(raw: bytes = b"", number: int = 0, **fields: Any) -> ReceivedMessage:
    usual = {"webhook_id": ID, "action": "webhook", "rcpt_to": f"help@{DOMAIN}"}
    return stored(number, raw, **usual | fields)


def work_of(message: ReceivedMessage) -> Work[Json]:
    with received_mail.raw(message) as raw:
        octets = raw.octets()
        return relay_batches.work_of(message, parsing.read(octets), octets)


def send(world: Simulation, *messages: ReceivedMessage) -> None:
    with world.watched():
        queues.send(QUEUE, [work_of(message) for message in messages])


def seen(world: Simulation) -> list[tuple[str, str]]:
    return [(event["type"], event["num_retries"]) for event in world.events]


def test_a_message_is_posted_once_with_its_id_and_makes_the_event_of_its_delivery(
    world: Simulation, target: Target
) -> None:
    make_relay_webhook(target.url)
    message = message_of()
    send(world, message)
    world.run()
    (post,) = target.posts
    assert post.headers["x-svc-batch-id"] == message.id
    assert post.headers["content-type"] == "application/json"
    (element,) = post.json
    assert element["svc"]["relay_message"]["relay_id"] == message.id
    assert seen(world) == [("relay_delivery", "0")]
    (batch,) = batches.newest(ID, 10)
    assert (batch.batch_id, batch.delivered, batch.response_code) == (message.id, True, 200)


def test_a_failed_post_is_repeated_after_five_minutes_then_with_growing_pauses(
    world: Simulation, target: Target
) -> None:
    make_relay_webhook(target.url)
    times: list[float] = []

    def answer(_: Post) -> Reply:
        times.append(world.now)
        return Reply(500)

    target.answer = answer
    send(world, message_of())
    world.run()
    delays = [later - earlier for earlier, later in pairwise(times)]
    assert len(delays) == 8  # the first repetition, and seven more
    assert 270 <= delays[0] <= 330
    assert all(later > earlier for earlier, later in pairwise(delays))
    assert len({(post.body, post.batch_id) for post in target.posts}) == 1
    failures = [("relay_tempfail", str(number)) for number in range(8)]
    assert seen(world) == [*failures, ("relay_permfail", "8")]
    assert world.events[0]["reason"] == "500 was the answer of the target"
    assert len({event["event_id"] for event in world.events}) == 9


def test_locally_the_first_repetition_comes_after_a_second_and_the_last_within_two_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("RELAY_WEBHOOK_RETRY_BASE", "RELAY_WEBHOOK_RETRY_EXPIRY"):
        monkeypatch.setenv(name, local_values()[name])
    settings.cache_clear()
    try:
        schedule, delays = kinds.relays().schedule(), list[float]()
        while (wait := schedule.next_wait(len(delays) + 1, sum(delays), "a")) is not None:
            delays.append(wait)
    finally:
        settings.cache_clear()
    assert delays[0] == 1
    assert len(delays) == 8
    assert sum(delays) < 120


def test_a_target_that_recovers_gets_the_message_and_the_attempts_are_told(
    world: Simulation, target: Target
) -> None:
    make_relay_webhook(target.url)
    target.answer = lambda _: Reply(500 if len(target.posts) < 2 else 200)
    send(world, message_of())
    world.run()
    assert [kind for kind, _ in seen(world)] == [
        "relay_tempfail",
        "relay_tempfail",
        "relay_delivery",
    ]
    (batch,) = batches.newest(ID, 10)
    assert [attempt.response_code for attempt in history(batch)] == [500, 500, 200]


def test_a_message_that_waited_to_be_read_is_repeated_as_often_as_any(
    world: Simulation, target: Target
) -> None:
    make_relay_webhook(target.url)
    target.answer = lambda _: Reply(500 if len(target.posts) < 2 else 200)
    send(world, message_of(received_ms=int((NINE - 86_400) * 1000)))
    world.run()
    assert [kind for kind, _ in seen(world)] == [
        "relay_tempfail",
        "relay_tempfail",
        "relay_delivery",
    ]


def test_a_large_message_is_made_again_for_each_post(world: Simulation, target: Target) -> None:
    make_relay_webhook(target.url)
    target.answer = lambda _: Reply(500 if not target.posts else 200)
    message = message_of(LARGE)
    work = work_of(message)
    assert not work.payload
    send(world, message)
    world.run()
    first, second = target.posts
    assert first.body == second.body
    assert first.json[0]["svc"]["relay_message"]["content"]["email_rfc822"] == LARGE.decode()


def test_a_message_that_was_deleted_before_its_post_is_given_up(
    world: Simulation, target: Target
) -> None:
    make_relay_webhook(target.url)
    message = message_of(LARGE)
    send(world, message)
    received_mail.delete(message)
    world.run()
    assert target.posts == []
    assert seen(world) == [("relay_permfail", "0")]


def test_a_message_that_is_deleted_after_its_first_post_is_not_posted_again(
    world: Simulation, target: Target
) -> None:
    make_relay_webhook(target.url)
    message = message_of()

    def refuse(_: Post) -> Reply:
        received_mail.delete(message)
        return Reply(500)

    target.answer = refuse
    send(world, message)
    world.run()
    assert len(target.posts) == 1
    assert seen(world) == [("relay_tempfail", "0"), ("relay_permfail", "1")]
    assert [event["msg_from"] for event in world.events] == [message.mail_from, ""]


def test_messages_that_are_queued_go_to_a_relay_webhook_that_was_deleted(
    world: Simulation, target: Target
) -> None:
    webhook = make_relay_webhook(target.url)
    send(world, message_of())
    item = replace(webhook, deleted_ms=int(NINE * 1000))
    relay_webhooks._config.put(relay_webhooks._to_item(item))
    world.run()
    assert len(target.posts) == 1


def test_a_message_is_redelivered_within_ten_days_with_the_same_bytes(
    world: Simulation, target: Target
) -> None:
    webhook = make_relay_webhook(target.url)
    message = message_of()
    send(world, message)
    world.run(NINE + TEN_DAYS - 3600)
    with world.watched():
        assert redeliver(kinds.relays(), webhook, message.id)
    world.run()
    first, second = target.posts
    assert (first.body, first.batch_id) == (second.body, second.batch_id)
    assert seen(world) == [("relay_delivery", "0"), ("relay_delivery", "1")]
    (batch,) = batches.newest(ID, 10)
    assert [attempt.response_code for attempt in history(batch)] == [200, 200]
    world.run(NINE + TEN_DAYS + 60)
    assert not redeliver(kinds.relays(), webhook, message.id)


def test_a_message_is_signed_in_pieces_and_carries_token_and_custom_headers(
    world: Simulation, target: Target
) -> None:
    secret = draw_secret()
    make_relay_webhook(
        target.url,
        credentials=Credentials(
            auth_token="t", headers={"X-Own": "1"}, signing=(SigningSecret(secret),)
        ),
    )
    send(world, message_of(LARGE))
    world.run()
    (post,) = target.posts
    assert is_valid(secret, post.headers, post.body)
    assert (post.headers["x-svc-webhook-token"], post.headers["x-own"]) == ("t", "1")


def test_a_target_with_oauth_gets_a_token(world: Simulation, target: Target) -> None:
    def answer(post: Post) -> Reply:
        if post.path == "/hook/token":
            return Reply(200, json.dumps({"access_token": "abc", "expires_in": 60}).encode())
        return Reply(200 if post.headers.get("authorization") == "Bearer abc" else 401)

    target.answer = answer
    credentials = Credentials(token_url=f"{target.url}/token", token_body={"a": "b"})
    make_relay_webhook(target.url, auth_type=OAUTH2, credentials=credentials)
    send(world, message_of())
    world.run()
    assert seen(world) == [("relay_delivery", "0")]


def test_a_queue_message_that_is_received_twice_is_posted_once(
    world: Simulation, target: Target
) -> None:
    make_relay_webhook(target.url)
    send(world, message_of())
    world.repeat = 2
    world.run()
    assert len(target.posts) == 1
    assert seen(world) == [("relay_delivery", "0")]


@pytest.mark.cost
def test_many_messages_cost_one_request_for_each_step(world: Simulation, target: Target) -> None:
    make_relay_webhook(target.url)
    messages = [message_of(number=number) for number in range(10)]
    send(world, *messages)
    with aws_requests() as requests:
        world.run_together()
    assert len(target.posts) == 10
    assert operations(requests) == [
        "BatchGetItem",
        "GetItem",  # the relay webhook, which is cached from then on
        "UpdateItem",  # when the target last took something: about once a minute
        "SendMessage",
        "BatchWriteItem",
    ]


def test_a_head_of_an_earlier_version_is_a_batch_of_events(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    head = {
        **{"account_id": 1, "webhook_id": "w", "batch_id": "b", "size": 1},
        "begun_ms": int(NINE * 1000),
    }
    assert kinds.kind_of(read_head(head)) is kinds.EVENTS
    assert "relay" not in read_head(head).as_json()
    with world.watched():
        queues.send(QUEUE, [Work(head, b"[]")])
    world.run()
    assert len(target.posts) == 1


class Killed(BaseException):
    """The process dies here. No code of ours may catch it."""


def post_and_die(world: Simulation, body: str, kill_at: int) -> bool:
    """Handle a queue message in a process that dies after a request; tell whether it died."""
    steps = 0

    def after(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps == kill_at:
            raise Killed

    with world.watched():
        try:
            with after_each_call(after):
                post_batches(sqs_event([body]))
        except Killed:
            return True
    return False


@pytest.mark.parametrize("failures", [0, 1])
def test_a_message_is_posted_after_whichever_request_a_process_dies(
    world: Simulation, target: Target, failures: int
) -> None:
    """It has one id and one body, and each event has one id for each attempt."""
    make_relay_webhook(target.url)
    ids: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    target.answer = lambda _: Reply(500 if len(target.posts) < failures else 200)
    for kill_at in range(1, MOST_STEPS):
        target.posts.clear()
        message = message_of(number=kill_at)
        queues.send(QUEUE, [work_of(message)])
        (body,) = queued(QUEUE)
        if has_died := post_and_die(world, body, kill_at):
            world.show(QUEUE, body)
        world.run()
        assert {post.batch_id for post in target.posts} == {message.id}, kill_at
        assert len({post.body for post in target.posts}) == 1
        own = [event for event in world.events if event["relay_id"] == message.id]
        assert "relay_delivery" in [event["type"] for event in own]
        for event in own:
            ids[message.id, event["type"], event["num_retries"]].add(event["event_id"])
        (batch,) = [each for each in batches.newest(ID, 100) if each.batch_id == message.id]
        assert batch.delivered
        if not has_died:
            break
    assert 4 <= kill_at < MOST_STEPS - 1
    assert all(len(event_ids) == 1 for event_ids in ids.values())
    assert len(target.posts) == failures + 1  # of the process that was not killed
