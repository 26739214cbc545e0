"""Post batches to targets that accept them, refuse them, hang or do not listen."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from chalicelib.core import clock, queues, shutdown
from chalicelib.core.concurrency import PerKeyLimit
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.webhook_dispatch import batch_poster, worker
from chalicelib.webhook_dispatch.kinds import EVENTS
from chalicelib.webhook_dispatch.redelivery import redeliver
from chalicelib.webhooks.circuit_breaker import CircuitBreaker
from chalicelib.webhooks.credentials import Credentials, SigningSecret
from chalicelib.webhooks.model import WebhookBatch
from chalicelib.webhooks.store import batches, circuit_breakers
from chalicelib.webhooks.store import webhooks as webhook_store
from chalicelib.webhooks.view import batch_view
from tests.fake_cloud import aws_requests, sqs_event, stored_objects
from tests.http_target import Post, Reply, Target, serving
from tests.unit.events.examples import event_at
from tests.unit.webhook_dispatch.simulation import NINE, Simulation, make_webhook, operations

NOW = int(NINE * 1000)
EIGHT_HOURS = 8 * 3600


def record(world: Simulation, *numbers: int) -> set[str]:
    """Record events; return their ids."""
    events = [event_at(NOW + n, n) for n in numbers]
    world.record(events)
    return {event["event_id"] for event in events}


def statuses(webhook_id: str = "w") -> list[dict[str, Any]]:
    return [batch_view(batch) for batch in batches.newest(webhook_id, 1000)]


def state_of(webhook_id: str = "w") -> CircuitBreaker:
    return circuit_breakers.of_all([webhook_id])[webhook_id]


def failing(times: int, status: int = 500) -> Any:
    """Return an answer that refuses the first ``times`` posts."""
    seen: list[Post] = []

    def answer(post: Post) -> Reply:
        seen.append(post)
        return Reply(status if len(seen) <= times else 200)

    return answer


@pytest.mark.spec("6-r1")
@pytest.mark.spec("6-r2")
@pytest.mark.spec("3-t17")
def test_a_batch_that_is_accepted_is_posted_once(world: Simulation, target: Target) -> None:
    make_webhook(target.url)
    happened = record(world, 1, 2, 3)
    world.run()
    (post,) = target.posts
    assert {event["event_id"] for event in post.events()} == happened
    assert post.headers["content-type"] == "application/json"
    (status,) = statuses()
    assert status["batch_id"] == post.batch_id
    assert (status["batch_size"], status["attempts"], status["response_code"]) == (3, 0, "200")
    assert status["failure_code"] is None
    assert status["latency"] >= 0
    assert state_of() == CircuitBreaker(success_ms=NOW)


@pytest.mark.spec("6-r3")
@pytest.mark.spec("3-t17")
@pytest.mark.spec("3-t18")
@pytest.mark.parametrize("status", [500, 404, 201, 302])
def test_a_batch_that_is_not_answered_with_200_is_posted_again_unchanged(
    world: Simulation, target: Target, status: int
) -> None:
    make_webhook(target.url)
    record(world, 1, 2)
    target.answer = failing(3, status)
    world.run()
    assert len(target.posts) == 4
    assert len({(post.body, post.batch_id) for post in target.posts}) == 1
    (batch_status,) = statuses()
    assert (batch_status["attempts"], batch_status["response_code"]) == (3, "200")
    assert state_of().failure_ms == NOW
    assert state_of().success_ms > NOW


@pytest.mark.spec("6-r3")
@pytest.mark.spec("8-t11")
@pytest.mark.spec("3-t18")
def test_a_batch_is_tried_twelve_times_in_eight_hours_and_discarded(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    record(world, 1)
    times: list[float] = []

    def answer(_: Post) -> Reply:
        times.append(world.now - NINE)
        return Reply(503)

    target.answer = answer
    world.run()
    assert len(times) == 12
    assert times[0] == 0
    assert 12 < times[1] < 17
    assert times[-1] == pytest.approx(EIGHT_HOURS, abs=2)
    (batch_status,) = statuses()
    assert (batch_status["attempts"], batch_status["response_code"]) == (12, "503")


def test_a_long_delay_is_split_into_several_queue_delays(world: Simulation, target: Target) -> None:
    make_webhook(target.url)
    record(world, 1)
    target.answer = failing(1_000)
    world.run()
    gaps = [after - before for (before, _), (after, _) in pairwise(world.handled)]
    assert max(gaps) <= 900
    assert len(world.handled) > 25


@pytest.mark.parametrize("after", ["600", "Sat, 31 Jan 2026 09:10:00 GMT"])
def test_the_retry_after_of_a_target_is_respected(
    world: Simulation, target: Target, after: str
) -> None:
    make_webhook(target.url)
    record(world, 1)
    times: list[float] = []

    def answer(_: Post) -> Reply:
        times.append(world.now)
        return Reply(200) if len(times) > 1 else Reply(429, headers={"Retry-After": after})

    target.answer = answer
    world.run()
    assert times[1] - times[0] == pytest.approx(600, abs=1)


def test_no_event_is_lost_to_a_target_that_fails_half_the_time(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    chance = random.Random(7)
    target.answer = lambda _: Reply(chance.choice((200, 200, 500, 503)))
    delivered_ids: set[str] = set()
    real = target.answer

    def answer(post: Post) -> Reply:
        reply = real(post)
        if reply.status == 200:
            delivered_ids.update(event["event_id"] for event in post.events())
        return reply

    target.answer = answer
    happened: set[str] = set()
    for n in range(40):
        happened |= record(world, *range(n * 10, n * 10 + 10))
        world.run(until=world.now + 1)
    world.run()
    assert delivered_ids == happened
    batch_statuses = statuses()
    assert {each["response_code"] for each in batch_statuses} == {"200"}
    assert sum(each["attempts"] for each in batch_statuses) == len(target.posts) - len(
        batch_statuses
    )


def test_the_status_is_right_when_queue_messages_are_received_twice(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    happened = record(world, 1, 2)
    world.repeat = 2
    target.answer = failing(5)
    world.run()
    assert target.event_ids() == happened
    (batch_status,) = statuses()
    assert batch_status["response_code"] == "200"
    assert len(target.posts) <= 8


@pytest.mark.parametrize("fails", [0, 2, 11])
def test_a_crash_before_the_record_repeats_an_attempt_and_loses_nothing(
    world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    make_webhook(target.url)
    happened = record(world, 1)
    target.answer = failing(fails)
    real, calls = batches.record, Counter[str]()

    def die_once(batch: WebhookBatch, body: bytes | None, *, retention: int) -> bool:
        calls[f"{batch.attempts}"] += 1
        if calls[f"{batch.attempts}"] == 1:
            raise RuntimeError("killed")
        return real(batch, body, retention=retention)

    monkeypatch.setattr(batches, "record", die_once)
    world.run()
    assert target.event_ids() == happened
    (batch_status,) = statuses()
    assert batch_status["response_code"] == "200"


def test_a_crash_before_the_next_attempt_is_queued_loses_nothing(
    world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_webhook(target.url)
    happened = record(world, 1)
    target.answer = failing(4)
    real, calls = queues.send_again, Counter[bool]()

    def die_every_other_time(*arguments: Any) -> None:
        calls[True] += 1
        if calls[True] % 2:
            raise RuntimeError("killed")
        real(*arguments)

    monkeypatch.setattr(queues, "send_again", die_every_other_time)
    world.run()
    assert target.event_ids() == happened
    (batch_status,) = statuses()
    assert batch_status["response_code"] == "200"


@pytest.mark.spec("4.9-t5")
@pytest.mark.spec("3-t15")
@pytest.mark.parametrize("how", ["delete", "deactivate"])
def test_queued_batches_go_out_after_their_webhook_is_deleted_or_inactive(
    world: Simulation, target: Target, how: str
) -> None:
    credentials = Credentials(username="u", password="p")
    make_webhook(target.url, auth_type="basic", credentials=credentials)
    happened = record(world, 1)
    target.answer = failing(4)
    world.run(until=NINE + 1)
    if how == "delete":
        assert webhook_store.delete(Scope(1, None), "w")
    else:
        webhook_store.change(Scope(1, None), "w", lambda before: replace(before, active=False))
    world.now += 6  # longer than the webhook is cached
    assert record(world, 2)
    world.run()
    assert target.event_ids() == happened
    assert len(target.posts) == 5
    assert target.posts[-1].headers["authorization"] == "Basic dTpw"


def test_a_batch_whose_webhook_no_longer_exists_is_dropped(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    record(world, 1)
    webhook_store._config.delete(*webhook_store.key_of(1, "w"))
    world.run()
    assert target.posts == []


def test_a_target_whose_address_became_private_is_not_posted_to(
    world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_webhook(target.url)
    record(world, 1)
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "false")
    settings.cache_clear()
    world.run(until=NINE + 1)
    assert target.posts == []
    (batch_status,) = statuses()
    assert (batch_status["response_code"], batch_status["failure_code"]) == (None, "EACCES")


def test_the_status_says_that_a_target_refused_the_connection(world: Simulation) -> None:
    make_webhook("http://127.0.0.1:9/")
    record(world, 1)
    world.run(until=NINE + 1)
    (batch_status,) = statuses()
    assert (batch_status["attempts"], batch_status["failure_code"]) == (1, "ECONNREFUSED")


def test_a_batch_without_a_token_is_a_failed_attempt(world: Simulation, target: Target) -> None:
    url = target.url.replace("/hook", "/token")
    make_webhook(target.url, auth_type="oauth2", credentials=Credentials(token_url=url))
    record(world, 1)
    target.answer = lambda post: Reply(403)
    world.run(until=NINE + 1)
    (batch_status,) = statuses()
    assert (batch_status["response_code"], batch_status["failure_code"]) == (None, "ETOKEN")


def test_each_attempt_is_signed_anew_for_the_same_batch(world: Simulation, target: Target) -> None:
    secret = SigningSecret("whsec_" + "QUJD" * 8)
    make_webhook(target.url, credentials=Credentials(signing=(secret,)))
    record(world, 1)
    target.answer = failing(1)
    world.run()
    first, second = target.posts
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == first.batch_id
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


@pytest.mark.cost
def test_a_success_costs_three_requests_and_soon_two(world: Simulation, target: Target) -> None:
    make_webhook(target.url)
    record(world, 1)
    world.run_together()
    with aws_requests() as requests:
        record(world, 2)
        world.run_together()
    assert operations(requests) == [
        "SendMessage",  # collects the event
        "SendMessage",  # merges it into a batch
        "BatchGetItem",  # the webhook and its breaker
        "UpdateItem",  # the batch; the breaker's last success is recent
    ]


def test_large_batches_are_kept_in_the_bucket(world: Simulation, target: Target) -> None:
    noise = random.Random(1)
    make_webhook(target.url)
    world.record([event_at(NOW, n, subject=noise.randbytes(400).hex()) for n in range(50)])
    world.run()
    (batch_status,) = statuses()
    assert stored_objects("webhooks/") == [f"webhooks/w/{batch_status['batch_id']}"]


def test_a_process_that_is_to_end_begins_no_post_and_queues_its_batches_again(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    happened: set[str] = set()
    for n in range(7):
        happened |= record(world, n)
    world.merge_each()

    def answer(_: Post) -> Reply:
        shutdown.request()
        return Reply(200)

    target.answer = answer
    world.run_together()
    first = len(target.posts)
    assert 1 <= first <= batch_poster.ABREAST
    world.run_together()
    assert len(target.posts) == first
    target.answer = lambda _: Reply(200)
    shutdown.withdraw()
    world.run(until=NINE + 60)
    assert target.event_ids() == happened
    assert len(target.posts) == 7
    assert all(each["attempts"] == 0 for each in statuses())


def test_a_process_that_is_to_end_does_not_try_a_target_again(
    world: Simulation, target: Target
) -> None:
    make_webhook(target.url)
    circuit_breakers.open_until("w", CircuitBreaker(), NOW, NOW - 1)
    happened = record(world, 1)
    world.merge_each()
    shutdown.request()
    world.run_together()
    assert target.posts == []
    assert state_of().open_until_ms == NOW - 1
    shutdown.withdraw()
    world.run(until=NINE + 60)
    assert target.event_ids() == happened


def test_unreadable_messages_fail(world: Simulation, target: Target) -> None:
    make_webhook(target.url)
    record(world, 1)
    bodies = ["nonsense", '{"head":{"x":1}}']
    failed = worker.post_batches(sqs_event(bodies))["batchItemFailures"]
    assert [each["itemIdentifier"] for each in failed] == ["m-0", "m-1"]


def test_a_failure_of_one_webhook_does_not_repeat_the_posts_of_others(
    world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_webhook(target.url, "good")
    make_webhook(target.url, "bad")
    place = PerKeyLimit.place

    def break_for_bad(limit: PerKeyLimit, key: str, timeout: float = 0.0) -> Any:
        if key == "bad":
            raise RuntimeError("broken")
        return place(limit, key, timeout)

    monkeypatch.setattr(PerKeyLimit, "place", break_for_bad)
    record(world, 1)
    world.run_together()
    world.now += 60
    world.run_together()
    assert len(target.posts) == 1


def test_a_post_is_not_repeated_when_its_breaker_cannot_be_written(
    world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_webhook(target.url)
    record(world, 1)

    def fail(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(circuit_breakers, "record_success", fail)
    world.run()
    assert len(target.posts) == 1
    assert statuses()[0]["response_code"] == "200"


class TestSlowTargets:
    @pytest.fixture(autouse=True)
    def _hurry(self, world: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WEBHOOK_TIMEOUT", "0.2")
        settings.cache_clear()
        monkeypatch.setattr(batch_poster, "_SLOW", 0.15)

    def test_a_target_that_hangs_delays_nobody_else(
        self, world: Simulation, target: Target
    ) -> None:
        times: list[float] = []
        with serving() as hanging:
            hanging.answer = lambda _: Reply(never_sent=True)
            make_webhook(hanging.url, "hanging")
            make_webhook(target.url, "other")
            for n in range(5):
                record(world, n)

            def answer(_: Post) -> Reply:
                times.append(world.now)
                return Reply(200)

            target.answer = answer
            world.run(until=NINE + 0.5)
        assert len(times) == 5
        assert max(times) == NINE
        assert len(hanging.posts) == 1
        (batch_status,) = statuses("hanging")
        assert batch_status["failure_code"] == "ETIMEDOUT"
        assert batch_status["latency"] >= 150

    def test_a_dead_target_gets_one_batch_at_a_time(
        self, world: Simulation, target: Target
    ) -> None:
        make_webhook(target.url)
        target.answer = lambda _: Reply(never_sent=True)
        for n in range(12):
            record(world, n)
        world.run(until=NINE + 60)
        assert state_of().timeouts >= 3
        assert len(target.posts) < 12
        assert sum(each["attempts"] for each in statuses()) == len(target.posts)

    def test_all_batches_are_posted_when_the_target_answers_again(
        self, world: Simulation, target: Target
    ) -> None:
        make_webhook(target.url)
        target.answer = lambda _: Reply(never_sent=True)
        happened: set[str] = set()
        for n in range(8):
            happened |= record(world, n)
        world.run(until=NINE + 100)
        delivered_ids: set[str] = set()

        def answer(post: Post) -> Reply:
            delivered_ids.update(event["event_id"] for event in post.events())
            return Reply(200)

        target.answer = answer
        world.run(until=NINE + 2000)
        assert delivered_ids == happened
        assert (state_of().timeouts, state_of().open_until_ms) == (0, 0)

    def test_a_quick_refusal_closes_the_breaker(self, world: Simulation, target: Target) -> None:
        make_webhook(target.url)
        target.answer = lambda _: Reply(never_sent=True)
        record(world, 1)
        world.run(until=NINE + 1)
        assert state_of().timeouts == 1
        target.answer = lambda _: Reply(500)
        world.run(until=NINE + 60)
        assert (state_of().timeouts, state_of().open_until_ms) == (0, 0)

    def test_a_batch_that_expires_behind_an_open_breaker_is_discarded(
        self, world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WEBHOOK_RETRY_EXPIRY", "60")
        settings.cache_clear()
        make_webhook(target.url)
        target.answer = lambda _: Reply(never_sent=True)
        for n in range(3):
            record(world, n)
        world.run()
        batch_statuses = statuses()
        assert len(batch_statuses) == 3
        assert {each["failure_code"] for each in batch_statuses} == {"ETIMEDOUT"}
        assert 60 <= world.handled[-1][0] - NINE < 300

    def test_a_clock_that_is_set_back_does_not_keep_the_breaker_open(
        self, world: Simulation, target: Target
    ) -> None:
        make_webhook(target.url)
        target.answer = lambda _: Reply(never_sent=True)
        happened = record(world, 1)
        world.run(until=NINE + 0.5)
        assert state_of().timeouts == 1
        target.answer = lambda _: Reply(200)
        world.run(until=NINE + 0.5)
        world.set_back(3_600)
        world.run(until=world.now + 300)
        assert target.event_ids() == happened
        assert (state_of().timeouts, state_of().open_until_ms) == (0, 0)

    def test_a_batch_that_was_never_tried_is_posted_when_the_breaker_lets_it(
        self, world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WEBHOOK_PAUSE", str(EIGHT_HOURS + 100))
        settings.cache_clear()
        make_webhook(target.url)
        until = NINE + EIGHT_HOURS + 100
        circuit_breakers.open_until("w", CircuitBreaker(), NOW, int(until * 1000))
        happened = record(world, 1)
        world.run(until=until - 1)
        assert target.posts == []
        world.run()
        assert target.event_ids() == happened
        assert world.now < until + 5

    def test_batches_are_delayed_while_their_webhook_is_at_its_concurrency_limit(
        self, world: Simulation, target: Target
    ) -> None:
        make_webhook(target.url)
        happened = record(world, 1)
        place = batch_poster._calls.place
        with place("w") as first, place("w") as second, place("w") as third:
            assert (first, second, third) == (True, True, False)
            world.run(until=NINE + 0.5)
            assert target.posts == []
        world.run(until=NINE + 5)
        assert target.event_ids() == happened

    def test_a_call_starts_no_post_after_its_time_limit(
        self, world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_webhook(target.url)
        patience = batch_poster.PATIENCE
        monkeypatch.setattr(batch_poster, "PATIENCE", -1.0)
        happened = record(world, 1)
        world.run(until=NINE + 0.5)
        assert target.posts == []
        monkeypatch.setattr(batch_poster, "PATIENCE", patience)
        world.run(until=NINE + 5)
        assert target.event_ids() == happened

    def test_the_batches_of_one_call_are_posted_concurrently(
        self, world: Simulation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WEBHOOK_TIMEOUT", "10")
        settings.cache_clear()
        together = threading.Barrier(3, timeout=120)

        def answer(_: Post) -> Reply:
            together.wait()  # fails unless all three posts are in progress
            return Reply(200)

        with serving() as one, serving() as two, serving() as three:
            for name, each in (("a", one), ("b", two), ("c", three)):
                make_webhook(each.url, name)
                each.answer = answer
            record(world, 1)
            world.run_together()
        assert [statuses(name)[0]["response_code"] for name in "abc"] == ["200"] * 3


class TestRedelivery:
    def test_a_batch_is_posted_again_with_its_id_and_bytes(
        self, world: Simulation, target: Target
    ) -> None:
        webhook = make_webhook(target.url)
        record(world, 1, 2)
        target.answer = lambda _: Reply(500)
        world.run()
        tried = len(target.posts)
        (batch_status,) = statuses()
        target.answer = failing(1)
        with world.watched():
            assert redeliver(EVENTS, webhook, batch_status["batch_id"])
        world.run(until=world.now + 100)
        assert len(target.posts) == tried + 2
        assert len({(post.body, post.batch_id) for post in target.posts}) == 1
        (again,) = statuses()
        assert (again["attempts"], again["response_code"]) == (tried + 1, "200")

    def test_a_batch_in_the_bucket_is_posted_again_too(
        self, world: Simulation, target: Target
    ) -> None:
        webhook = make_webhook(target.url)
        noise = random.Random(1)
        world.record([event_at(NOW, n, subject=noise.randbytes(400).hex()) for n in range(50)])
        world.run()
        with world.watched():
            assert redeliver(EVENTS, webhook, target.posts[0].batch_id)
        world.run(until=world.now + 1)
        assert target.posts[0].body == target.posts[1].body

    def test_it_replaces_the_remaining_attempts(self, world: Simulation, target: Target) -> None:
        webhook = make_webhook(target.url)
        record(world, 1)
        target.answer = failing(2)
        world.run(until=NINE + 1)
        (batch_status,) = statuses()
        with world.watched():
            assert redeliver(EVENTS, webhook, batch_status["batch_id"])
        world.run()
        assert len(target.posts) == 3
        (again,) = statuses()
        assert (again["attempts"], again["response_code"]) == (2, "200")

    def test_a_batch_cannot_be_posted_again_after_a_day(
        self, world: Simulation, target: Target
    ) -> None:
        webhook = make_webhook(target.url)
        record(world, 1)
        world.run(until=NINE + 1)
        (batch_status,) = statuses()
        world.now += 86_400 + 2
        assert clock.now() > NINE + 86_400
        assert not redeliver(EVENTS, webhook, batch_status["batch_id"])
        assert not redeliver(EVENTS, webhook, "nothing")
