"""Pack the finished messages of a work unit into a message of the ``delivery`` queue, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from chalicelib.core import packing
from chalicelib.core.message_event import EventFields
from chalicelib.core.queues import Received, Work
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.delivery import delivery_queues
from chalicelib.delivery.delivery_queues import DeliveryHead
from chalicelib.delivery.store.work_units import Counts, WorkUnit


@dataclass(frozen=True, slots=True)
class FinishedMessage:
    """One message, ready to be sent.

    ``index`` is the recipient's place in the transmission, ``sender`` the envelope sender,
    ``event`` the fields of this message's events besides those of its batch. ``sending_ip`` is the
    sending IP that was chosen for it before it had to wait (empty: not chosen yet).
    """

    index: int
    sender: str
    recipient: str
    event: EventFields
    data: bytes
    sending_ip: str = ""


class _Content(TypedDict):
    """The head of a payload, whose bodies are the messages' data in the same order.

    A message is its index, sender, recipient and event fields, and its sending IP if it has one.
    """

    event: EventFields
    messages: list[list[Any]]


@dataclass(frozen=True, slots=True)
class DeliveryBatch:
    """The messages of one unit, at one attempt (counted from 1).

    ``injected_ms`` is when they were generated; ``event`` holds the fields that all their events
    share; ``failed`` counts the recipients of the chunk for whom no message could be generated,
    ``suppressed`` those whose message is not sent because they are on the suppression list.
    Unless it ``counts_at_acceptance``, the recipients' first events count in the account's usage;
    ``is_small`` says that they are all recipients of their transmission. A batch that is held back
    has the ``paths`` for which it waits (:mod:`shaping`): its events have said that the messages
    were generated, and why they wait.
    """

    unit: WorkUnit
    attempt: int
    injected_ms: int
    event: EventFields
    messages: Sequence[FinishedMessage]
    failed: int = 0
    counts_at_acceptance: bool = True
    is_small: bool = False
    paths: tuple[str, ...] = ()
    suppressed: int = 0

    @property
    def account_id(self) -> int:
        """Return the account whose mail this is."""
        return int(self.event["customer_id"])

    @property
    def counts(self) -> Counts:
        """Return how many messages were generated, and how many recipients are without one."""
        return len(self.messages) + self.suppressed, self.failed

    def event_base(self, message: FinishedMessage) -> EventFields:
        """Return the fields that every event of ``message`` carries."""
        return self.event | message.event


def with_sending_ips(
    messages: Sequence[FinishedMessage], sending_ips: Mapping[int, str]
) -> list[FinishedMessage]:
    """Return messages with the sending IPs that were chosen for them, by recipient index."""
    return [
        replace(message, sending_ip=sending_ips.get(message.index, message.sending_ip))
        for message in messages
    ]


def queue(
    batch: DeliveryBatch, container: str = "", *, delay: float = 0.0, is_held: bool = False
) -> None:
    """Queue a batch for a delivery container, to be seen after ``delay`` seconds.

    ``is_held`` says that it waits for the limits of a provider.
    """
    work = to_work(batch, delay=delay)
    delivery_queues.send([work], container, small=batch.is_small, is_held=is_held)


def to_work(batch: DeliveryBatch, *, delay: float = 0.0) -> Work[DeliveryHead]:
    """Return the queue message of ``batch``, to be seen after ``delay`` seconds."""
    head: DeliveryHead = {
        "transmission": batch.unit.transmission_id,
        "unit": batch.unit.name,
        "attempt": batch.attempt,
        "injected_ms": batch.injected_ms,
        "generated": list(batch.counts),
    }
    if not batch.counts_at_acceptance:
        head["counts_in_usage"] = True
    if batch.is_small:
        head["small"] = True
    if batch.paths:
        head["paths"] = list(batch.paths)
    envelopes = [_envelope(message) for message in batch.messages]
    content: _Content = {"event": batch.event, "messages": envelopes}
    payload = packing.pieces(content, [[message.data] for message in batch.messages])
    return Work(head, payload, delay, tenant=batch.account_id)


def runs_of(
    messages: Sequence[FinishedMessage], sending_ips: Mapping[int, str]
) -> list[tuple[int, str]]:
    """Return the sending IPs of all messages as the head of a queue message has them.

    They are runs of messages with the same IP: their number, and the IP.
    """
    ips = (message.sending_ip for message in with_sending_ips(messages, sending_ips))
    return [(len(list(run)), ip) for ip, run in groupby(ips)]


def _envelope(message: FinishedMessage) -> list[Any]:
    fields: list[Any] = [message.index, message.sender, message.recipient, message.event]
    return [*fields, message.sending_ip] if message.sending_ip else fields


def unit_of(message: Received[DeliveryHead]) -> WorkUnit:
    """Return the unit of a queue message, without fetching the payload."""
    return WorkUnit(message.head["transmission"], message.head["unit"])


def counts_of(message: Received[DeliveryHead]) -> Counts:
    """Return the counts of a queue message's unit, without fetching the payload."""
    messages, failed = message.head["generated"]
    return messages, failed


def from_received(message: Received[DeliveryHead]) -> DeliveryBatch:
    """Return the batch of a queue message."""
    content: _Content
    content, bodies = packing.unpack(message.payload())
    messages = [
        FinishedMessage(index, sender, recipient, event, data, *sending_ip)
        for (index, sender, recipient, event, *sending_ip), data in zip(
            content["messages"], bodies, strict=True
        )
    ]
    if runs := message.head.get("sending_ips"):
        ips = [ip for number, ip in runs for _ in range(number)]
        messages = [replace(each, sending_ip=ip) for each, ip in zip(messages, ips, strict=True)]
    generated, failed = counts_of(message)
    return DeliveryBatch(
        unit_of(message),
        message.head["attempt"],
        message.head["injected_ms"],
        content["event"],
        messages,
        failed,
        not message.head.get("counts_in_usage", False),
        message.head.get("small", False),
        tuple(message.head.get("paths", ())),
        suppressed=generated - len(messages),
    )
