"""Deliver through the transports, alone or under the real worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from chalicelib.core import clock, queues
from chalicelib.core.message_event import Event
from chalicelib.delivery import attempts, delivery_batch, delivery_queues, worker
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.mta_sts.policy import Policy
from chalicelib.delivery.outcome import Outcome
from chalicelib.delivery.transports import OutboundMessage, Transport, commit_at_once
from chalicelib.delivery.transports.mx import MxTransport, Observe, ignore
from chalicelib.delivery.transports.smarthost import SmarthostTransport
from chalicelib.delivery.transports.smtp_opening import SessionOptions
from chalicelib.delivery.transports.smtp_wire import Timeouts
from chalicelib.events import stream
from tests.fake_cloud import queued
from tests.unit.delivery.examples import UNIT
from tests.unit.delivery.transports.test_mx_hosts import FakeResolver

TIMEOUTS = Timeouts(5, 10, 10, 10, 1)
OPTIONS = SessionOptions(timeouts=TIMEOUTS)
_DNS = {("inbox.test", "MX"): ["10 localhost."], ("localhost", "A"): ["127.0.0.1"]}


@contextmanager
def mx(port: int, policy: Policy | None = None, observe: Observe = ignore) -> Iterator[MxTransport]:
    """Open the `mx` transport; the mail host of inbox.test is localhost at `port`.

    All domains have the MTA-STS policy.
    """
    transport = MxTransport(
        FakeResolver(_DNS),
        OPTIONS,
        ehlo_name="client.test",
        port=port,
        allow_private=True,
        policy_of=lambda _: policy,
        observe=observe,
    )
    try:
        yield transport
    finally:
        transport.close()


@contextmanager
def smarthost(port: int, options: SessionOptions = OPTIONS) -> Iterator[SmarthostTransport]:
    """Open the `smtp` transport to 127.0.0.1 at `port`."""
    transport = SmarthostTransport("127.0.0.1", port, options, ehlo_name="client.test")
    try:
        yield transport
    finally:
        transport.close()


@dataclass(slots=True)
class CommitCount:
    """A commit that counts how often a final dot was about to be sent."""

    count: int = field(default=0)

    def __call__(self, finish: Callable[[], Outcome]) -> Outcome:
        self.count += 1
        return commit_at_once(finish)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Deliveries of the worker by one transport: one message a batch."""

    monkeypatch: pytest.MonkeyPatch
    transport: Transport

    def first_attempt(self, message: OutboundMessage) -> Event:
        """Attempt a message; return the event of the attempt."""
        about = {"message_id": "m-1", "rcpt_to": message.recipient}
        finished = FinishedMessage(0, message.sender, message.recipient, about, message.data)
        shared = {"customer_id": "1", "transmission_id": UNIT.transmission_id, "ip_pool": "default"}
        now_ms = int(clock.now() * 1000)
        batch = DeliveryBatch(UNIT, 1, now_ms, shared, [finished])
        delivery_queues.send([delivery_batch.to_work(batch)])
        return self.next_attempt()

    def next_attempt(self) -> Event:
        """Attempt the message of the queue; return the event of the attempt."""
        (text,) = queued(delivery_queues.QUEUE)
        self.monkeypatch.setattr(attempts, "transport", lambda _: self.transport)
        worker.deliver_unit(queues.read(text))
        bodies = queued("events")
        events = [event for body in bodies for event in stream.decode(queues.read(body))]
        (attempt,) = [event for event in events if event["type"] != "injection"]
        return attempt
