"""Make delivery batches and journal entries for tests."""

from __future__ import annotations

from chalicelib.core import ids
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry, to_dict
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.delivery.store.work_units import WorkUnit

TRANSMISSION = "191930000000000001"
UNIT = WorkUnit(TRANSMISSION, "0")
INJECTED = 1_769_850_000_000

DELIVERED = Delivered(250, "2.0.0 OK", "192.0.2.1", "TLSv1.3")
DEFERRED = Retry(451, "4.3.0 try later", 20, "192.0.2.1")
UNREACHED = Retry(421, "4.4.1 [internal] connection refused", 20)
REFUSED = Failed(550, "5.1.1 no such user", 10, "192.0.2.1", "TLSv1.2")


def message(index: int, data: bytes = b"From: a@b.c\r\n\r\nhi\r\n") -> FinishedMessage:
    """Return the finished message of recipient ``index``."""
    name = ids.message_id(TRANSMISSION, index)
    about = {"message_id": name, "rcpt_to": f"r{index}@example.test", "subject": "Hi"}
    return FinishedMessage(index, f"b.{name}@b.test", f"R{index}@example.test", about, data)


def batch_of(count: int, attempt: int = 1, unit: WorkUnit = UNIT) -> DeliveryBatch:
    """Return a batch of ``count`` messages."""
    shared = {"customer_id": "1", "transmission_id": TRANSMISSION}
    return DeliveryBatch(
        unit, attempt, INJECTED, shared, [message(index) for index in range(count)]
    )


def entry(outcome: Outcome, seconds: float = 2.0) -> Entry:
    """Return the journal entry of an attempt ``seconds`` after injection."""
    return {"at": INJECTED + int(seconds * 1000), "outcome": to_dict(outcome)}
