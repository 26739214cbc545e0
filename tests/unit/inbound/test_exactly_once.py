"""What got its 250 arrives with one id, though a process may die anytime on the way.

A message to three recipients is received; one gets it by a relay webhook, one by forwarding, and
for one it is stored. The process is killed after each of its requests, from the acceptance to the
record of the post: when the request took effect and its response was not read. SQS then shows its
message again. Every queue message is handled twice as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events import service as events
from chalicelib.events.positions import EventWindow
from chalicelib.generation.worker import read_chunk
from chalicelib.inbound import receive
from chalicelib.inbound.loops import Hop
from chalicelib.inbound.receive import InboundMessage
from chalicelib.inbound.worker import receive_batch
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import Action
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.recording.worker import record_batch
from chalicelib.relay_webhooks import store as relay_webhooks
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.sending_domains import store as domains
from chalicelib.webhook_dispatch.worker import post_batches
from chalicelib.webhooks.credentials import Credentials, seal
from tests.client_calls import after_each_call
from tests.fake_cloud import queued, queued_work, sqs_event
from tests.http_target import Post, Target, serving
from tests.unit.inbound.received import AT_MS, raw, received, route
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud", "time")

MOST_STEPS = 100
RECIPIENTS = ("hook@in.test", "desk@in.test", "kept@in.test")
EVER = EventWindow(0, 10**14)

_HANDLERS = {
    "inbound-mail": receive_batch,
    "webhook-batches": post_batches,
    "events": record_batch,
}


class Killed(BaseException):
    """The process dies here. No code of ours may catch it."""


class Process:
    """A process that is killed after its ``kill_at``-th request."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.steps = 0

    def step(self, _: str) -> None:
        """End a step."""
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed

    def accept(self, message: InboundMessage) -> bool:
        """Accept a message as the relay does; tell whether it gets its 250."""
        try:
            with after_each_call(self.step):
                receive.store(message, message.trace + raw())
        except Killed:
            return False
        return True

    def handle(self, queue: str, body: str) -> bool:
        """Handle a queue message; tell whether it can be deleted."""
        try:
            with after_each_call(self.step):
                return _HANDLERS[queue](sqs_event([body])) == {"batchItemFailures": []}
        except Killed:
            return False


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """A target on this machine that takes every post."""
    for name in ("ALLOW_PRIVATE_ADDRESSES", "WEBHOOK_ANY_PORT"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("VERDICT_TIMEOUT", "0.01")
    settings.cache_clear()
    with serving() as running:
        yield running


def inbound_message(number: int) -> InboundMessage:
    message_id = f"{AT_MS:012x}{number:012x}"
    hop = Hop(message_id, AT_MS, "mx.inbox.test", "192.0.2.1", "", False, RECIPIENTS)
    places = tuple(map(receive.place_of, RECIPIENTS))
    message = InboundMessage(hop, "ann@inbox.test", places)
    return replace(message, trace=receive.trace_of(message))


def work_off(process: Process) -> None:
    """Handle each message of each queue twice, until none is left."""
    while sum(handle_all(process, queue) for queue in _HANDLERS):
        pass


def handle_all(process: Process, queue: str) -> bool:
    bodies = queued(queue)
    for body in bodies:
        for _ in range(2):
            tries = 0
            while not process.handle(queue, body):
                tries += 1
                assert tries < 5
    return bool(bodies)


def rounds() -> Iterator[tuple[int, Process]]:
    """Yield processes that die one step later each, until one does its work to the end."""
    for kill_at in range(1, MOST_STEPS):
        yield kill_at, (process := Process(kill_at))
        if process.steps < kill_at:
            return
    raise AssertionError("the work has too many steps")


def set_up(target: Target) -> None:
    make_account()
    domains.create(domain("in.test"))
    store_inbound_domain(
        routes=(
            route("desk", Action.FORWARD, "desk@inbox.test"),
            route("kept", Action.STORE),
        )
    )
    before = inbound_domains.get("in.test")
    assert before
    sealed = seal(Credentials(), "17")
    webhook = RelayWebhook("17", 1, "Ours", target.url, "in.test", 0, sealed=sealed)
    relay_webhooks.create(webhook, inbound_domains.relay_webhook_write(before, "17"))
    inbound_domains.forget(before)


def of_message(items: Any, message: InboundMessage) -> list[Any]:
    """Return the records or events of one message."""
    return [each for each in items if message.hop.id in str(each)]


def all_events() -> list[Event]:
    return [event for _, event in events.newest_first(1, EVER)]


def forwarded_ids() -> set[tuple[str, str]]:
    """Take the forwarded messages off their queues; return their work units."""
    units = [read_chunk(queues.read(body)).unit for body in queued_work()]
    return {(unit.transmission_id, unit.name) for unit in units}


def check(message: InboundMessage, posts: list[Post]) -> None:
    """Check that a message that got its 250 was recorded, posted, forwarded and told about."""
    records: list[ReceivedMessage] = of_message(received(), message)
    assert [each.rcpt_to for each in records] == list(RECIPIENTS)
    assert [each.action for each in records] == ["webhook", "forward", "store"]
    assert {post.batch_id for post in posts} == {records[0].id}
    assert len({post.body for post in posts}) == 1
    assert 1 <= len(posts) <= 2
    assert Counter(each["type"] for each in of_message(all_events(), message)) == {
        "relay_injection": 3,
        "relay_delivery": 1,
    }
    assert len(forwarded_ids()) == 1


def test_a_message_arrives_after_whichever_request_a_process_dies(target: Target) -> None:
    set_up(target)
    accepted = 0
    for number, process in rounds():
        message = inbound_message(number)
        target.posts.clear()
        has_reply = process.accept(message)
        work_off(process)
        if has_reply or target.posts:
            check(message, target.posts)
        accepted += has_reply
    assert accepted >= 15
    assert len(target.posts) == 1  # of the process that was not killed
