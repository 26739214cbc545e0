from __future__ import annotations

from typing import NoReturn

import pytest

from chalicelib.webhook_dispatch import redelivery
from chalicelib.webhooks.store import batches
from tests.http_target import Reply, Target
from tests.unit.events.examples import event_at
from tests.unit.webhook_dispatch.simulation import NINE, Simulation, make_webhook


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
        assert redelivery.redeliver(webhook, batch.batch_id)
    world.run()
    assert [post.batch_id for post in target.posts] == [batch.batch_id] * 2
    (after,) = batches.newest("w", 10)
    assert (after.delivered, after.attempts) == (True, 0)


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
            redelivery.redeliver(webhook, batch.batch_id)
    world.run()
    assert len(target.posts) == 2
    (after,) = batches.newest("w", 10)
    assert after.delivered


def test_an_unknown_batch_is_not_posted_again(world: Simulation, target: Target) -> None:
    assert not redelivery.redeliver(make_webhook(target.url), "none")
