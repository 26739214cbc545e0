"""A parcel: the finished messages of a unit on their way through the ``delivery`` queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.core import packing
from chalicelib.core.queues import Received, Work
from chalicelib.delivery.work_units import WorkUnit

Json = dict[str, Any]

QUEUE = "delivery"


@dataclass(frozen=True, slots=True)
class FinishedMessage:
    """One message, ready to be sent.

    ``index`` is the recipient's place in the transmission, ``sender`` the envelope sender,
    ``event`` the fields that every event of this message carries besides the parcel's own.
    """

    index: int
    sender: str
    recipient: str
    event: Json
    data: bytes


@dataclass(frozen=True, slots=True)
class DeliveryBatch:
    """The messages of one unit, at one attempt (counted from 1).

    ``injected_ms`` is when they were generated; ``event`` holds the fields that all their events
    share; ``failed`` counts the recipients of the chunk for whom no message could be generated.
    """

    unit: WorkUnit
    attempt: int
    injected_ms: int
    event: Json
    messages: Sequence[FinishedMessage]
    failed: int = 0

    @property
    def generated(self) -> tuple[int, int]:
        """Return how many messages there are, and how many recipients without one."""
        return len(self.messages), self.failed

    def event_base(self, message: FinishedMessage) -> Json:
        """Return the fields that every event of ``message`` carries."""
        return self.event | message.event


def to_work(parcel: DeliveryBatch, *, not_before: float = 0.0, delay: float = 0.0) -> Work:
    """Return the queue message of ``parcel``, to be seen after ``delay`` seconds."""
    head: Json = {
        "transmission": parcel.unit.transmission_id,
        "unit": parcel.unit.name,
        "attempt": parcel.attempt,
        "injected_ms": parcel.injected_ms,
        "generated": list(parcel.generated),
    }
    if not_before:
        head["not_before"] = not_before
    about = [[m.index, m.sender, m.recipient, m.event] for m in parcel.messages]
    payload = packing.pack(
        {"event": parcel.event, "messages": about}, [message.data for message in parcel.messages]
    )
    return Work(head, payload, delay)


def unit_of(message: Received) -> WorkUnit:
    """Return the unit that a queue message is about (without fetching its payload)."""
    return WorkUnit(message.head["transmission"], message.head["unit"])


def generated_of(message: Received) -> tuple[int, int]:
    """Return how many messages the unit has, and for how many recipients it has none."""
    messages, failed = message.head["generated"]
    return messages, failed


def from_received(message: Received) -> DeliveryBatch:
    """Return the parcel of a queue message."""
    about, bodies = packing.unpack(message.payload())
    messages = [
        FinishedMessage(index, sender, recipient, event, data)
        for (index, sender, recipient, event), data in zip(about["messages"], bodies, strict=True)
    ]
    return DeliveryBatch(
        unit_of(message),
        message.head["attempt"],
        message.head["injected_ms"],
        about["event"],
        messages,
        generated_of(message)[1],
    )
