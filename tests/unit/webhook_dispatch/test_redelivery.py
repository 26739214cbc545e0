from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import pytest

from chalicelib.core import audit
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor
from chalicelib.core.settings import settings
from chalicelib.webhook_dispatch import redelivery
from chalicelib.webhook_dispatch.kinds import EVENTS
from chalicelib.webhooks.attempts import MOST_ATTEMPTS, history
from chalicelib.webhooks.store import batches
from tests.http_target import Reply, Target
from tests.unit.audit_lines import only_line
from tests.unit.events.examples import event_at
from tests.unit.webhook_dispatch.simulation import NINE, Simulation, make_webhook

AUTHOR = Author(1, Actor("key", "k1", "Website"), "POST", "/api/v1/webhooks", "webhooks")


def failed_once(world: Simulation, target: Target) -> None:
    """Let the target refuse one batch, and accept every later post."""
    target.answer = lambda _: Reply(500)
    world.record([event_at(int(NINE * 1000), 1)])
    world.run(NINE + 5)
    target.answer = lambda _: Reply(200)


def test_a_redelivery_replaces_the_remaining_attempts(world: Simulation, target: Target) -> None:
    webhook = make_webhook(target.url)
    failed_once(world, target)
    (batch,) = batches.newest("w", 10)
    with world.watched():
        assert redelivery.redeliver(EVENTS, webhook, batch.batch_id)
    world.run()
    assert [post.batch_id for post in target.posts] == [batch.batch_id] * 2
    (after,) = batches.newest("w", 10)
    assert (after.delivered, after.attempts) == (True, 1)


@pytest.mark.spec("3-t17")
def test_failures_go_on_counting_and_a_redelivery_has_its_full_number_of_attempts(
    world: Simulation, target: Target
) -> None:
    webhook = make_webhook(target.url)
    failed_once(world, target)
    target.answer = lambda _: Reply(500)
    world.run()
    (batch,) = batches.newest("w", 10)
    assert batch.attempts == settings().webhook_attempts
    with world.watched():
        assert redelivery.redeliver(EVENTS, webhook, batch.batch_id)
    (queued_batch,) = batches.newest("w", 10)
    assert queued_batch.attempts == settings().webhook_attempts
    world.run()
    (after,) = batches.newest("w", 10)
    assert (after.delivered, after.attempts) == (False, 2 * settings().webhook_attempts)
    assert len(target.posts) == 2 * settings().webhook_attempts


def test_a_crash_before_the_redelivery_is_queued_leaves_the_remaining_attempts(
    world: Simulation, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> NoReturn:
        raise RuntimeError

    webhook = make_webhook(target.url)
    failed_once(world, target)
    (batch,) = batches.newest("w", 10)
    with monkeypatch.context() as broken:
        broken.setattr("chalicelib.core.queues.send", crash)
        with pytest.raises(RuntimeError):
            redelivery.redeliver(EVENTS, webhook, batch.batch_id)
    world.run()
    assert len(target.posts) == 2
    (after,) = batches.newest("w", 10)
    assert after.delivered


def test_an_unknown_batch_is_not_posted_again(world: Simulation, target: Target) -> None:
    assert not redelivery.redeliver(EVENTS, make_webhook(target.url), "none")


def test_the_history_of_a_batch_goes_on_with_its_redeliveries(
    world: Simulation, target: Target
) -> None:
    webhook = make_webhook(target.url)
    target.answer = lambda _: Reply(500, b"out of order")
    world.record([event_at(int(NINE * 1000), 1)])
    world.run(NINE + 30)
    target.answer = lambda _: Reply(200, b"ok")
    (batch,) = batches.newest("w", 10)
    failures = history(batch)
    assert [(each.response_code, each.answer) for each in failures] == [(500, "out of order")] * 2
    assert [each.at_ms for each in failures] == sorted({each.at_ms for each in failures})
    with world.watched():
        assert redelivery.redeliver(EVENTS, webhook, batch.batch_id)
    (queued_batch,) = batches.newest("w", 10)
    assert history(queued_batch) == failures
    world.run()
    (after,) = batches.newest("w", 10)
    assert history(after)[:-1] == failures
    assert (history(after)[-1].response_code, history(after)[-1].answer) == (200, "ok")


def test_requesting_a_redelivery_twice_posts_once(world: Simulation, target: Target) -> None:
    webhook = make_webhook(target.url)
    failed_once(world, target)
    (batch,) = batches.newest("w", 10)
    with world.watched():
        assert redelivery.redeliver(EVENTS, webhook, batch.batch_id)
        assert redelivery.redeliver(EVENTS, webhook, batch.batch_id)
    world.run()
    assert len(target.posts) == 2


def test_the_history_is_bounded_however_often_a_batch_is_redelivered(
    world: Simulation, target: Target
) -> None:
    webhook = make_webhook(target.url)
    failed_once(world, target)
    (batch,) = batches.newest("w", 10)
    for _ in range(MOST_ATTEMPTS + 5):
        with world.watched():
            assert redelivery.redeliver(EVENTS, webhook, batch.batch_id)
        world.run()
    (after,) = batches.newest("w", 10)
    assert len(target.posts) == MOST_ATTEMPTS + 6
    assert [each.response_code for each in history(after)] == [200] * (MOST_ATTEMPTS + 1)


@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_redelivery_is_a_line_in_the_audit_log(
    world: Simulation, target: Target, is_overtaken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a worker has recorded its attempt before the request could."""
    webhook = make_webhook(target.url)
    failed_once(world, target)
    (batch,) = batches.newest("w", 10)
    with world.watched(), audit.bound(AUTHOR), monkeypatch.context() as patch:
        assert not redelivery.redeliver(EVENTS, webhook, "none")
        if is_overtaken:
            round_one = replace(batches.next_round(batch), delivered=True)
            patch.setattr("chalicelib.core.queues.send", lambda *_: batches.record(round_one, None))
        assert redelivery.redeliver(EVENTS, webhook, batch.batch_id)
        line = only_line()
    assert (line["resource"], line["resource_id"]) == ("webhooks", "w")
    assert line["changes"] == {"redelivered_batch": {"from": None, "to": batch.batch_id}}
